"""Cells of private rows that can't be read, in columns of public numbers: no error shows them."""

import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import OneHotEncoder
from tests.mistakes._mistake import (
    COLUMNS,
    LABELS,
    LINEAR,
    POOL,
    PUBLIC_TABLE,
    TARGETS,
    N,
    X,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData
from secretballot.ensemble import PublicStudent

SECRET = "secret-77"
CELLS = X.astype(object)
CELLS[::9, 1] = SECRET
TABLES = {
    "array": CELLS,
    "list": CELLS.tolist(),
    "frame": pd.DataFrame(CELLS, columns=COLUMNS),
    "polars": pl.DataFrame({"age": X[:, 0], "pay": list(map(str, CELLS[:, 1]))}).with_columns(
        hours=X[:, 2], visits=X[:, 3]
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with")


def fitted(rows, make=teachers, **settings):
    pool = PublicData(PUBLIC_TABLE) if hasattr(rows, "columns") else POOL
    y = TARGETS if make is numbers else LABELS
    model = make(PrivacyAccountant(100.0, 1e-5), epsilon=40.0, random_state=0, **settings)
    return model.fit(rows, y, X_public=pool)


@pytest.mark.parametrize("kind", TABLES)
def test_an_ensemble_answers_the_rows_that_it_was_fitted_on(kind):
    """It reads them by the types of public rows, in predictions as in fits and scores."""
    rows = TABLES[kind]
    model = fitted(rows, learner=GaussianNB())
    assert model.predict_proba(rows).shape == (N, 2)
    score = model.score_private(rows, LABELS, epsilon=40.0)
    assert abs(model.score(rows, LABELS) - score.accuracy) < 0.05
    np.testing.assert_array_equal(
        model.predict(rows)[1:9],
        model.predict(X if kind in ("array", "list") else pd.DataFrame(X, columns=COLUMNS))[1:9],
    )


@pytest.mark.parametrize("ask", ["predict", "predict_proba"])
@pytest.mark.parametrize("kind", TABLES)
def test_a_student_shows_no_cell(kind, ask):
    model = fitted(TABLES[kind], learner=GaussianNB())
    with pytest.raises(ValueError, match="NOT FOR PUBLICATION") as error:
        getattr(model.to_student(), ask)(TABLES[kind])
    assert SECRET not in "".join(traceback.format_exception(error.value))


def test_errors_of_students_are_marked():
    """Encoders name unknown categories."""

    class Codes(GaussianNB):
        def predict(self, X):
            OneHotEncoder().fit([["a"]]).transform([[SECRET]])

    student = PublicStudent(Codes().fit(X, LABELS), np.array([0, 1]), {})
    with pytest.raises(ValueError, match=f"{SECRET}.*NOT FOR PUBLICATION"):
        student.predict(X)
    with pytest.raises(ValueError, match="X has 2 features, but GaussianNB") as error:
        PublicStudent(GaussianNB().fit(X, LABELS), np.array([0, 1]), {}).predict(X[:, :2])
    assert "PUBLICATION" not in str(error.value)


@pytest.mark.parametrize("make", [*LINEAR, teachers])
@pytest.mark.parametrize("with_names", [False, True])
def test_a_score_of_rows_that_cannot_be_read(make, with_names):
    rows = pd.DataFrame(X, columns=COLUMNS) if with_names else X
    model, y = fitted(rows, make), TARGETS if make is numbers else LABELS
    asked = ["score_private"] if make is numbers else ["score_private", "confusion_private"]
    few, most = np.where(X > 1.5, np.nan, X), np.where(np.arange(4) == 2, np.nan, X)
    name = "'hours'" if with_names else "2"
    for ask in asked:
        given = {"columns": COLUMNS} if with_names else {}
        few_rows, most_rows = (
            pd.DataFrame(each, **given) if with_names else each for each in (few, most)
        )
        with pytest.warns(UserWarning, match=f"most cells of X .*{name} .100.*If X is private"):
            getattr(model, ask)(most_rows, y, epsilon=20.0)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="most cells")
            getattr(model, ask)(few_rows, y, epsilon=20.0)
