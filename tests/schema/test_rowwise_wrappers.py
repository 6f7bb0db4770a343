"""Check of models of several models: the scores of those within are compared."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise_check import choose_calls

#: Integers, between which no row is at the border of two answers.
X = np.random.default_rng(0).integers(-9, 10, size=(300, 4))
LABELS = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)


class Rounds(TransformerMixin, BaseEstimator):
    """Transformer whose rounding depends on the place of a row."""

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        return np.asarray(X) + 1e-12 * np.arange(len(X))[:, None]


def rounding_svc():
    return make_pipeline(Rounds(), LinearSVC())


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MultiOutputClassifier(rounding_svc()), LABELS),
        (OneVsRestClassifier(rounding_svc()), LABELS[:, 0] + LABELS[:, 1]),
        (VotingClassifier([("a", rounding_svc()), ("b", rounding_svc())]), LABELS[:, 0]),
        (CalibratedClassifierCV(rounding_svc(), cv=2), LABELS[:, 0]),
        (BaggingClassifier(rounding_svc(), 2), LABELS[:, 0]),
    ],
)
def test_rounding_within_models_of_models_shows(model, y):
    model.fit(X, y)
    places = np.arange(256)
    alone = model.predict(X[places])
    assert all(
        np.array_equal(np.roll(model.predict(X[np.roll(places, -k)]), k, axis=0), alone)
        for k in (1, 7, 100)
    )
    assert choose_calls(model, "predict", RowSchema.of(X)).rows_per_call == 1


@pytest.mark.parametrize("model", [KNeighborsClassifier(), DecisionTreeClassifier()])
def test_labels_whose_probabilities_are_a_list_take_256_rows(model):
    numbers = X.astype(float)
    calls = choose_calls(model.fit(numbers, LABELS), "predict", RowSchema.of(numbers))
    assert calls.rows_per_call == 256
    assert np.array_equal(calls(numbers).values, model.predict(numbers))
