"""Data frames for models of arrays: the order of their columns is not known."""

import re

import numpy as np
import pytest
from tests.mistakes._mistake import (
    ALL,
    CLASSIFIERS,
    COLUMNS,
    LABELS,
    POOL,
    PUBLIC_TABLE,
    TABLE,
    TARGETS,
    X,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant

pytestmark = pytest.mark.filterwarnings("ignore:X has feature names", "ignore:Noise drawn with")
OTHER_ORDER = COLUMNS[::-1]


def fitted(make, rows, **settings):
    model = make(PrivacyAccountant(100.0, 1e-5), epsilon=40.0, random_state=0, **settings)
    return model.fit(rows, TARGETS if make is numbers else LABELS, X_public=POOL)


@pytest.mark.parametrize(
    ("make", "ask"),
    [
        *((make, "score_private") for make in ALL),
        *((make, "confusion_private") for make in CLASSIFIERS),
    ],
)
def test_scores_of_a_model_of_arrays(make, ask):
    model, y = fitted(make, X), TARGETS if make is numbers else LABELS
    before = len(model.accountant.entries())
    for rows in (TABLE, TABLE[OTHER_ORDER]):
        with pytest.raises(ValueError, match="without column names.*X.to_numpy") as error:
            getattr(model, ask)(rows, y, epsilon=20.0)
    assert len(model.accountant.entries()) == before
    remedy = re.search(r"pass (.*?),", str(error.value))[1]
    getattr(model, ask)(eval(remedy, {"X": TABLE}), y, epsilon=20.0)


def test_private_answers_of_a_model_of_arrays():
    model = fitted(teachers, X, reservation=50)
    with pytest.raises(ValueError, match="without column names.*X.to_numpy"):
        model.predict_private(PUBLIC_TABLE[:20])
    assert len(model.predict_private(PUBLIC_TABLE[:20].to_numpy()).labels) == 20


@pytest.mark.filterwarnings("ignore:X has names of columns")
@pytest.mark.parametrize("make", ALL)
def test_a_model_of_a_private_frame_knows_its_columns(make):
    """Public rows without names go by position, and later frames by the names of private rows."""
    model, y = fitted(make, TABLE), TARGETS if make is numbers else LABELS
    expected = model.predict(PUBLIC_TABLE)
    np.testing.assert_array_equal(model.predict(PUBLIC_TABLE[OTHER_ORDER]), expected)
    scores = [model.score_private(rows, y, epsilon=20.0) for rows in (TABLE, TABLE[OTHER_ORDER], X)]
    values = [getattr(score, "r2", getattr(score, "accuracy", None)) for score in scores]
    assert max(values) - min(values) < 0.05
