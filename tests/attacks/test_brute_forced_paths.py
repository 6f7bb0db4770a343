"""Whole paths by brute force: what is released moves no further than is charged.

A recorder stands in for the accountant: it keeps every question, exactly as it reaches the noise,
and answers from a fixed stream. Each path runs on one data set and on its neighbours (one row
replaced, one owner replaced), and the movement between the questions of two runs is compared with
what the mechanisms charge for. Counts are compared as fractions, without rounding.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, publish_proportions
from secretballot.ensemble import PrivateChoice, PublicData
from secretballot.linear import PrivateLogisticRegression
from secretballot.measures import (
    confusion_private,
    private_top_k,
    regression_score_private,
    score_private,
)
from secretballot.mechanisms import (
    BestOfCounts,
    BinaryVoting,
    GaussianProportions,
    GNMax,
    NoisyCounts,
    StableTopK,
    VectorSum,
)
from secretballot.tables._people import People

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:Noise drawn with random_state"),
]


class Recorder(PrivacyAccountant):
    """An accountant that keeps what is asked, charges it, and answers alike whatever it was."""

    asked: list

    def release(self, mechanism, counts, **settings):
        """Keep the question; charge it, and answer as if all counts were the same."""
        checked = mechanism.check_counts(counts)
        self.asked.append((mechanism, checked))
        super().release(mechanism, counts, **settings)
        stream = np.random.default_rng(len(self.asked))
        if isinstance(mechanism, VectorSum):
            return stream.normal(scale=mechanism.sigma, size=checked.shape)
        return mechanism.sample(np.zeros_like(checked) + checked.mean().round(), stream)


def most(values):
    """Return the largest of a mechanism's number, or of its levels' numbers."""
    return max(values.values()) if isinstance(values, dict) else values


def movement(mechanism, one, other):
    """Return how far two rows of counts are apart, as a part of what is charged, squared."""
    weight, ballots = most(getattr(mechanism, "weight", 1.0)), getattr(mechanism, "ballots", 1)
    unit = Fraction(weight) * most(ballots)
    differences = [
        Fraction(a) - Fraction(b)
        for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    ]
    if isinstance(mechanism, VectorSum):
        allowed = Fraction(mechanism.sensitivity) ** 2
    elif isinstance(mechanism, NoisyCounts):
        allowed = Fraction(1 if len(differences) == 1 else 2)
    elif isinstance(mechanism, BestOfCounts):
        return (max(map(abs, differences)) / unit) ** 2
    elif isinstance(mechanism, GNMax):
        # One ballot goes, another comes.
        allowed = Fraction(2)
    elif isinstance(mechanism, BinaryVoting | StableTopK):
        return (max(map(abs, differences)) / unit) ** 2
    elif isinstance(mechanism, GaussianProportions):
        allowed = Fraction(2)
    else:
        raise TypeError(f"nothing is known of {mechanism!r}")
    return sum(d**2 for d in differences) / (allowed * unit**2)


def furthest(runs):
    """Return the largest movement between the first run and the others, and how many rows."""
    first, *others = runs
    worst, compared = Fraction(0), 0
    for other in others:
        assert len(first) == len(other)
        for (mechanism, counts), (again, moved) in zip(first, other, strict=True):
            assert mechanism == again, "the noise tells of the data"
            assert counts.shape == moved.shape
            for row, neighbour in zip(counts, moved, strict=True):
                worst, compared = max(worst, movement(mechanism, row, neighbour)), compared + 1
    return worst, compared


N, N_POOL = 120, 12
RNG = np.random.default_rng(5)
POOL = RNG.normal(size=(N_POOL, 3))
EXTREME = (1e300, -1e300, 0.0, 5e-324)


def rows(n_classes):
    """Return private rows and classes."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] > 0).astype(int) + (n_classes > 2) * (X[:, 1] > 0.5).astype(int)


def row_neighbours(X, y, n_classes, n=8):
    """Yield the data, and neighbours with one row replaced: near, far, and of another class."""
    rng = np.random.default_rng(3)
    yield X, y
    for pair in range(n):
        Z, z = X.copy(), y.copy()
        place = int(rng.integers(len(X)))
        Z[place] = rng.choice([*EXTREME, *rng.normal(size=3)], size=3)
        z[place] = (y[place] + pair % n_classes) % n_classes
        yield Z, z


def owner_neighbours(X, y, n_classes, n=8):
    """Yield the data with owners, and neighbours with other rows, or more, of one owner."""
    rng = np.random.default_rng(4)
    owners = np.arange(len(X)) % 30
    yield X, y, owners
    for pair in range(n):
        staying = owners != int(rng.integers(30))
        gone = int(owners[~staying][0])
        more = (1, 2, 5, 40)[pair % 4]
        new = rng.choice([*EXTREME, *rng.normal(size=3)], size=(more, 3))
        label = np.full(more, pair % n_classes)
        yield (
            np.concatenate([new, X[staying]]),
            np.concatenate([label, y[staying]]),
            np.concatenate([np.full(more, gone), owners[staying]]),
        )


def recorder(unit, epsilon=8.0):
    """Return an accountant that keeps what is asked."""
    accountant = Recorder(epsilon, 1e-5, unit=unit, allow_seeded=True)
    accountant.asked = []
    return accountant


def teachers(accountant, X, y, owners, n_classes, **settings):
    """Return an ensemble of trees, fitted, which labels the pool."""
    ensemble = PrivateTeacherEnsemble(
        DecisionTreeClassifier(max_depth=2, random_state=0),
        n_teachers=10,
        classes=range(n_classes),
        accountant=accountant,
        random_state=0,
        **{"student": LogisticRegression(), **settings},
    )
    return ensemble.fit(X, y, X_public=PublicData(POOL), owners=owners)


def fitted_teachers(accountant, X, y, owners, n_classes):
    """Ask for labels of the pool, and of more rows."""
    mechanism = GNMax(sigma=40.0)
    ensemble = teachers(accountant, X, y, owners, n_classes, mechanism=mechanism, student=None)
    ensemble.predict_private(POOL[:4])


def chosen_student(accountant, X, y, owners, n_classes):
    """Choose between two students by right answers."""
    choice = PrivateChoice([LogisticRegression(), DecisionTreeClassifier(max_depth=1)])
    mechanism = GNMax(sigma=40.0)
    teachers(accountant, X, y, owners, n_classes, mechanism=mechanism, student=choice)


def scored(accountant, X, y, owners, n_classes):
    """Score a public student, and its confusion matrix."""
    predictions = (np.nan_to_num(X[:, 0]) > 0).astype(int)
    settings = {"owners": owners, "sigma": 2.0, "random_state": 0}
    score_private(accountant, y, predictions, **settings)
    confusion_private(accountant, y, predictions, classes=range(n_classes), **settings)


def scored_numbers(accountant, X, y, owners, n_classes):
    """Score public predictions of numbers."""
    settings = {"target_bounds": (0.0, n_classes - 1.0), "owners": owners, "sigma": 0.3}
    regression_score_private(accountant, y, X[:, 0], **settings, random_state=0)
    regression_score_private(accountant, y, X[:, 0], **settings, largest_error=0.2, random_state=0)


def linear(accountant, X, y, owners, n_classes, **settings):
    """Fit a linear model, with a pool or without."""
    pool = None if "bounds" in settings else PublicData(np.repeat(POOL, 5, axis=0))
    model = PrivateLogisticRegression(
        classes=range(n_classes), accountant=accountant, rounds=2, random_state=0, **settings
    )
    model.fit(X, y, X_public=pool, owners=owners)


def linear_bins(accountant, X, y, owners, n_classes):
    """Fit bins of public rows."""
    linear(accountant, X, y, owners, n_classes, n_bins=4)


def linear_numbers(accountant, X, y, owners, n_classes):
    """Fit scaled numbers."""
    linear(accountant, X, y, owners, n_classes, features="linear")


def linear_declared(accountant, X, y, owners, n_classes):
    """Fit declared bins, without public rows."""
    linear(accountant, X, y, owners, n_classes, n_bins=4, bounds=(-2.0, 2.0))


PATHS = [
    fitted_teachers,
    chosen_student,
    scored,
    scored_numbers,
    linear_bins,
    linear_numbers,
    linear_declared,
]


def path_runs(path, unit, n_classes, n=8):
    """Return what each of the neighbouring data sets asks."""
    X, y = rows(n_classes)
    data = row_neighbours if unit == "row" else owner_neighbours
    asked = []
    for each in data(X, y, n_classes, n):
        # So few numbers are scored with little noise, or not at all.
        accountant = recorder(unit, 100.0 if path is scored_numbers else 8.0)
        Z, z, *owners = each
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path(accountant, Z, z, owners[0] if owners else None, n_classes)
        assert accountant.asked
        assert vectors_of(accountant.asked) <= charged(accountant) * (1 + 1e-9)
        asked.append(accountant.asked)
    return asked


def vectors_of(asked):
    """Return the mu^2 of all noisy vectors that were asked for, in closed form."""
    total = 0.0
    for mechanism, counts in asked:
        if isinstance(mechanism, VectorSum):
            total += (
                len(counts)
                * (mechanism.sensitivity * most(mechanism.weight) / mechanism.sigma) ** 2
            )
        elif isinstance(mechanism, NoisyCounts):
            total += len(counts) * (1 if counts.shape[1] == 1 else 2) / mechanism.sigma**2
    return total


def charged(accountant):
    """Return the mu^2 that is charged."""
    return float(accountant.spent().cost.mu2)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("unit", ["row", "owner"])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_path(path, unit, n_classes, counts):
    worst, compared = furthest(path_runs(path, unit, n_classes))
    counts("rows of counts compared", compared)
    counts("largest movement, of what is charged", f"{math.sqrt(worst):.6f}")
    assert worst <= 1


def label_runs(mechanism, n=8):
    """Return what sets of labels ask, of neighbours in one row."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 4))
    Y = (X > 0.3).astype(int)
    asked = []
    for at in range(n + 1):
        Z, W = X.copy(), Y.copy()
        if at:
            Z[at], W[at] = rng.choice([*EXTREME, 1.0], size=4), 1 - Y[at]
        accountant = recorder("row")
        PrivateTeacherEnsemble(
            MultiOutputClassifier(DecisionTreeClassifier(max_depth=2, random_state=0)),
            n_teachers=10,
            mechanism=mechanism,
            student=None,
            accountant=accountant,
            random_state=0,
        ).fit(Z, W, X_public=PublicData(X[:6]))
        asked.append(accountant.asked)
    return asked


@pytest.mark.parametrize(
    "mechanism",
    [
        BinaryVoting(sigma=40.0, n_votes=10),
        StableTopK(rho=0.01, delta_t=1e-8, n_votes=10),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_sets_of_labels(mechanism, counts):
    worst, compared = furthest(label_runs(mechanism))
    counts("rows of counts compared", compared)
    assert 0 < worst <= 1


def test_top_k_and_proportions(counts):
    rng = np.random.default_rng(9)
    people = rng.integers(2, size=(60, 7))
    labels = rng.integers(3, size=40)
    runs = []
    for at in range(20):
        mine, theirs = people.copy(), labels.copy()
        if at:
            mine[at], theirs[at] = 1 - people[at], (labels[at] + 1) % 3
        accountant = Recorder(100.0, 1e-5, unit="voter", approximation_delta=5e-6)
        accountant.asked = []
        private_top_k(mine, 3, accountant=accountant, epsilon=1.0)
        of_labels = Recorder(8.0, 1e-5, unit="label")
        of_labels.asked = []
        publish_proportions(
            [theirs],
            classes=range(3),
            epsilon=1.0,
            delta=1e-6,
            accountant=of_labels,
            mechanism=GaussianProportions(sigma=9.0),
        )
        runs.append([*accountant.asked, *of_labels.asked])
    worst, compared = furthest(runs)
    counts("rows of counts compared", compared)
    assert 0 < worst <= 1


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_a_recorder_sees_half_the_noise(path, monkeypatch):
    # A mechanism that moves twice as far as it says is what half the noise is.
    for kind in (VectorSum, NoisyCounts, BestOfCounts, GNMax):
        check = kind.check_counts
        monkeypatch.setattr(kind, "check_counts", lambda self, c, check=check: 2 * check(self, c))
    worst, _ = furthest(path_runs(path, "row", 2, n=8))
    assert worst > 1


@pytest.mark.parametrize(
    "path", [linear_bins, linear_numbers, linear_declared, scored, scored_numbers]
)
def test_a_recorder_sees_owners_that_are_not_averaged(path, monkeypatch):
    def each_row(accountant, owners, n_rows):
        return People(30, "owner", np.ones(n_rows))

    monkeypatch.setattr(People, "from_owners", each_row)
    worst, _ = furthest(path_runs(path, "owner", 2))
    assert worst > 1


@pytest.mark.parametrize(
    "path", [linear_bins, scored, scored_numbers], ids=lambda path: path.__name__
)
def test_a_recorder_sees_a_dropped_cost(path, monkeypatch):
    # What is charged is half of what was drawn with.
    for kind in (VectorSum, NoisyCounts):
        laws = kind.laws

        def cheap(self, n_columns=None, laws=laws):
            return laws(replace(self, sigma=math.sqrt(2) * self.sigma), n_columns)

        monkeypatch.setattr(kind, "laws", cheap)
    with pytest.raises(AssertionError):
        path_runs(path, "row", 2, n=0)
