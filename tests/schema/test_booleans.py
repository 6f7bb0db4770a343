"""Columns of booleans that the public file and the private one write in other ways."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from secretballot import (
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.mechanisms import GNMax

pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")

FORMS = {
    "bool": lambda cells: cells,
    "integer": lambda cells: cells.astype(int),
    "float": lambda cells: cells.astype(float),
    "nullable": lambda cells: pd.array(cells, dtype="boolean"),
    "objects": lambda cells: cells.astype(object),
    "digits": lambda cells: np.where(cells, "1", "0"),
    "decimals": lambda cells: np.where(cells, "1.0", "0.0"),
    "words": lambda cells: np.where(cells, "True", "False"),
    "small words": lambda cells: np.where(cells, "true", "false"),
    "category": lambda cells: pd.Categorical(cells),
    "category of digits": lambda cells: pd.Categorical(np.where(cells, "1", "0")),
}
RNG = np.random.default_rng(0)
N, M = 700, 60
ROWS, POOL = RNG.random((N, len(FORMS))) < 0.5, RNG.random((M, len(FORMS))) < 0.5
Y = ROWS.mean(axis=1) > 0.5


def table(rows, form=None):
    """Return the columns in one form; without it, each in a form of its own."""
    return pd.DataFrame(
        {name: FORMS[form or name](column) for name, column in zip(FORMS, rows.T, strict=True)}
    )


def scores(private, features, **declared):
    model = PrivateLogisticRegression(
        features,
        classes=[False, True],
        accountant=PrivacyAccountant(2.0, 1e-5),
        random_state=0,
        **declared,
    ).fit(private, Y, X_public=PublicData(table(POOL)))
    assert model.public_rows_check_.count < N / 2
    return model.decision_function, model.decision_function(table(POOL))


def labels(private):
    teachers = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model = PrivateTeacherEnsemble(
        teachers,
        10,
        classes=[False, True],
        mechanism=GNMax(sigma=2.0),
        accountant=PrivacyAccountant(100.0, 1e-5),
        random_state=0,
    ).fit(private, Y, X_public=PublicData(table(POOL)))
    assert model.public_rows_check_.count < N / 2
    return None, model.pool_labels_.labels


FITS = {
    "bins": lambda private: scores(private, "additive"),
    "scaled columns": lambda private: scores(private, "linear"),
    "declared": lambda private: scores(
        private, "additive", categories={name: [1, 0] for name in FORMS}
    ),
    "teachers": labels,
}


@cache
def of_public_forms(fit):
    return FITS[fit](table(ROWS))


#: Fits that read columns as those of "bins" do: `make test` tries some forms.
ALIKE, SOME = ("scaled columns", "declared"), ("objects", "digits", "category")


@pytest.mark.parametrize(
    ("form", "fit"),
    [
        pytest.param(form, fit, marks=[pytest.mark.slow] * (fit in ALIKE and form not in SOME))
        for form in FORMS
        for fit in FITS
    ],
)
def test_private_booleans_are_read_in_the_form_of_the_public_ones(fit, form):
    predict, expected = of_public_forms(fit)
    assert len(np.unique(expected)) > 1
    assert np.array_equal(FITS[fit](table(ROWS, form))[1], expected)
    if predict is not None:
        assert np.array_equal(predict(table(POOL, form)), expected)
