"""One row, or one owner, moves one ballot: on data sets built twice."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble._votes import collect_votes

from secretballot.ensemble import PrivateTeacherEnsemble

QUERIES = np.random.default_rng(5).normal(size=(40, 2), scale=3)


def votes_on(X, y, estimator, **data):
    ensemble = PrivateTeacherEnsemble(estimator, n_teachers=12, classes=[0, 1, 2], random_state=0)
    ensemble.fit(X, y, **data)
    return collect_votes(ensemble._teachers, QUERIES, ensemble.classes_, None)["*"]


def data(n_rows=60):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, 2), scale=3), rng.integers(3, size=n_rows)


@pytest.mark.parametrize(
    "estimator",
    [
        # These draw from their random state while they are fitted.
        RandomForestClassifier(n_estimators=3),
        DecisionTreeClassifier(splitter="random"),
        LogisticRegression(),
    ],
    ids=["forest", "tree", "logistic"],
)
def test_a_replaced_row_moves_one_ballot(estimator):
    X, y = data()
    before = votes_on(X, y, estimator)
    moved = 0
    for row in range(0, 60, 6):
        neighbour, labels = X.copy(), y.copy()
        neighbour[row], labels[row] = [50.0, -50.0], (y[row] + 1) % 3
        change = np.abs(votes_on(neighbour, labels, estimator) - before).sum(axis=1)
        assert change.max() <= 2
        moved += change.sum()
    # Else the test would not have tested anything.
    assert moved > 0


def test_a_label_that_empties_a_class_moves_one_ballot():
    X, y = data()
    y[y == 2] = 0
    before = votes_on(X, y, LogisticRegression())
    y[17] = 2
    assert np.abs(votes_on(X, y, LogisticRegression()) - before).sum(axis=1).max() <= 2


@pytest.mark.parametrize("kind", [str, int])
def test_the_replaced_rows_of_an_owner_move_one_ballot(kind):
    X, y = data()
    owners = np.array([kind(1000 + number % 25) for number in range(60)])
    forest = RandomForestClassifier(n_estimators=3)
    before = votes_on(X, y, forest, owners=owners)
    moved = 0
    for owner in np.unique(owners)[::4]:
        own = owners == owner
        neighbour, labels = X.copy(), y.copy()
        neighbour[own], labels[own] = -20.0, 2
        change = np.abs(votes_on(neighbour, labels, forest, owners=owners) - before).sum(axis=1)
        assert change.max() <= 2
        moved += change.sum()
    assert moved > 0


def test_an_owner_with_other_rows_than_before_moves_one_ballot():
    X, y = data()
    owners = np.arange(60) // 2
    before = votes_on(X, y, LogisticRegression(), owners=owners)
    # Owner 4 comes with three rows in place of two: all later rows stand elsewhere.
    X = np.insert(X, 9, [9.0, 9.0], axis=0)
    y, owners = np.insert(y, 9, 2), np.insert(owners, 9, 4)
    after = votes_on(X, y, LogisticRegression(), owners=owners)
    assert np.abs(after - before).sum(axis=1).max() <= 2
