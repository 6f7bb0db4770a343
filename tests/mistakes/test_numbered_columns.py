"""Data frames whose columns are numbers: matched as names are."""

import numpy as np
import pandas as pd
import pytest
from tests.mistakes._mistake import (
    ALL,
    LABELS,
    LINEAR,
    ROWS,
    TARGETS,
    X,
    logistic,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData
from secretballot.mechanisms import GNMax

NUMBERED, POOL = pd.DataFrame(X), pd.DataFrame(ROWS)
ORDER = [1, 0, 3, 2]
pytestmark = pytest.mark.filterwarnings("ignore:Noise drawn with random_state")


def fit(make, rows, pool):
    accountant = PrivacyAccountant(100.0, 1e-5)
    y = TARGETS if make is numbers else LABELS
    model = make(accountant, epsilon=40.0, random_state=0)
    return model.fit(rows, y, X_public=PublicData(pool))


def test_of_predictions_and_scores():
    for make in ALL:
        model = fit(make, NUMBERED, POOL)
        expected = model.predict(POOL)
        np.testing.assert_array_equal(model.predict(POOL[ORDER]), expected)
        np.testing.assert_array_equal(model.predict(ROWS), expected)
        y = TARGETS if make is numbers else LABELS
        scores = [
            model.score_private(rows, y, epsilon=20.0) for rows in (NUMBERED, NUMBERED[ORDER])
        ]
        values = [getattr(score, "r2", getattr(score, "accuracy", None)) for score in scores]
        assert abs(values[0] - values[1]) < 0.05


def test_of_private_answers():
    model = teachers(PrivacyAccountant(1e12, 1e-5), mechanism=GNMax(sigma=1e-3))
    model.fit(NUMBERED, LABELS, X_public=PublicData(POOL))
    answers = [model.predict_private(rows) for rows in (POOL[:20], POOL[:20][ORDER])]
    np.testing.assert_array_equal(answers[0].labels, answers[1].labels)


@pytest.mark.parametrize("make", ALL)
def test_of_fits(make):
    for rows, pool in ((NUMBERED[ORDER], POOL), (NUMBERED, POOL[ORDER])):
        other = fit(make, rows, pool)
        same = fit(make, rows, pool[list(rows.columns)])
        np.testing.assert_array_equal(other.predict(POOL), same.predict(POOL))
        np.testing.assert_array_equal(other.predict(POOL), other.predict(POOL[ORDER]))


def test_chosen_columns():
    for make in LINEAR:
        accountant = PrivacyAccountant(100.0, 1e-5)
        y = TARGETS if make is numbers else LABELS
        model = make(accountant, epsilon=40.0, columns=[0, 1], random_state=0)
        model.fit(NUMBERED, y, X_public=PublicData(POOL))
        expected = model.predict(POOL)
        for rows in (POOL[ORDER], POOL[[1, 0]], ROWS):
            np.testing.assert_array_equal(model.predict(rows), expected)


def test_an_array_beside_numbered_columns_goes_by_position():
    for make in ALL:
        for rows, pool in ((X, POOL), (NUMBERED, ROWS)):
            fit(make, rows, pool)


def test_columns_of_labels():
    labels = pd.DataFrame({0: X[:, 0] > 0, 1: X[:, 1] > 0.7}).astype(int)
    for first, second in ((labels, labels[[1, 0]]), (labels[[1, 0]], labels)):
        accountant = PrivacyAccountant(200.0, 1e-5)
        model = logistic(accountant, classes=None, epsilon=40.0)
        model.fit(NUMBERED, first, X_public=PublicData(POOL))
        scores = [model.score_private(NUMBERED, y, epsilon=20.0) for y in (first, second)]
        assert abs(scores[0].accuracy - scores[1].accuracy) < 0.05
