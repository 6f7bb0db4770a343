"""Columns of `columns=` in rows to predict and to score."""

import numpy as np
import pytest
from tests.linear.test_columns import POOL, X, Y, model

from secretballot import PublicData

pytestmark = pytest.mark.filterwarnings("ignore:.*dates are read as days")


def test_chosen_columns_are_found_by_name_without_the_others():
    fitted = model(columns=["since", "age"]).set_params(epsilon=2.0)
    fitted.fit(X.assign(label=Y), Y, X_public=PublicData(POOL.assign(label=0)))
    whole = fitted.predict_proba(X.assign(label=Y))
    for rows in (X, X[["since", "age"]], X.assign(other=1)[["other", "since", "age"]]):
        np.testing.assert_array_equal(fitted.predict_proba(rows), whole)
        assert fitted.score_private(rows, Y, share=0.05).accuracy > 0.5
    for ask in (fitted.predict, lambda rows: fitted.score_private(rows, Y, share=0.05)):
        with pytest.raises(ValueError, match=r"without names, .*'age', 'since'.*Give a data frame"):
            ask(X[["since", "age"]].to_numpy())
        with pytest.raises(ValueError, match="columns= names .'age'., which X does not have"):
            ask(X[["since"]])
    with pytest.raises(ValueError, match="0 sample"):
        fitted.predict(X.assign(label=Y)[:0])


def test_rows_and_labels_of_a_score_swapped():
    fitted = model(columns=["since", "age"]).set_params(epsilon=2.0)
    fitted.fit(X, Y, X_public=PublicData(POOL))
    n_entries = len(fitted.accountant.entries())
    with pytest.raises(ValueError, match="X: expected 2D array"):
        fitted.score_private(Y, X, share=0.05)
    assert len(fitted.accountant.entries()) == n_entries
