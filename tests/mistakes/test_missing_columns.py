"""Rows for a fitted model that lack columns, or have others."""

import pytest
from tests.mistakes._mistake import (
    ALL,
    LABELS,
    LINEAR,
    PUBLIC_TABLE,
    ROWS,
    TABLE,
    TARGETS,
    X,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData


def fit(make, rows, pool, **settings):
    y = TARGETS if make is numbers else LABELS
    model = make(PrivacyAccountant(10.0, 1e-5), epsilon=4.0, **settings)
    return model.fit(rows, y, X_public=PublicData(pool)), y


def refuse(ask, message, rows):
    with pytest.raises(ValueError, match=message) as caught:
        ask(rows)
    assert "X_public" not in str(caught.value)


@pytest.mark.parametrize("make", ALL)
def test_scores_and_answers(make):
    model, y = fit(make, TABLE, PUBLIC_TABLE)
    n_entries = len(model.accountant.entries())
    asks = [lambda rows: model.score_private(rows, y, share=0.1)]
    if make is teachers:
        asks.append(model.predict_private)
    for ask in asks:
        refuse(ask, r"X lacks the columns \['visits'\] of the fit", TABLE.drop(columns="visits"))
        refuse(
            ask,
            r"X lacks the columns \['pay'\] of the fit.*X.drop\(columns=\['PAY'\]\)",
            TABLE.rename(columns={"pay": "PAY"}),
        )
        message = (
            r"X has the columns \['label'\], which the fit had not.*X.drop\(columns=\['label'\]\)"
        )
        refuse(ask, message, TABLE.assign(label=1))
        refuse(ask, "X has 3 columns, and the fit had 4", X[:, :3])
    assert len(model.accountant.entries()) == n_entries


@pytest.mark.parametrize("make", ALL)
def test_arrays(make):
    model, y = fit(make, X, ROWS)
    refuse(
        lambda rows: model.score_private(rows, y, share=0.1), "X has 3 .*the fit had 4", X[:, :3]
    )


@pytest.mark.parametrize("make", LINEAR)
def test_chosen_columns(make):
    model, y = fit(make, X, ROWS, columns=[0, 1])
    refuse(lambda rows: model.score_private(rows, y, share=0.1), "X has 3 columns.* 4", X[:, :3])
