"""What is no vote on labels: refused before anything is released or spent."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC
from tests.ensemble.multilabel._rows import POOL, X, Y, ensemble_of

from secretballot.mechanisms import BinaryVoting, GNMax, PowersetVoting, RoundRobin, TauVoting

BINARY = BinaryVoting(sigma=1.0, n_votes=10)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (GNMax(sigma=1.0), "releases one class a row, and rows have labels.*BinaryVoting"),
        (BinaryVoting(sigma=1.0, n_votes=50), "n_votes=50 ballots, and n_teachers=10 cast them"),
        (TauVoting(sigma=1.0, n_votes=9, tau=1.0), "n_votes=9 ballots"),
        (PowersetVoting(sigma=1.0, n_labels=4), "n_labels=4 of PowersetVoting, but there are 3"),
        (
            BinaryVoting(sigma=1.0, n_votes=10, ballot_threshold=[0.5, 0.5]),
            "ballot_threshold has 2 entries for 3 labels",
        ),
        (BinaryVoting(sigma=1.0, n_votes=10, weight=0.5), "less than a ballot that counts 1"),
        # Nine may do for the votes that are cast, or not: the error would tell which.
        (
            RoundRobin(mechanism=BinaryVoting(sigma=1.0, n_votes=9), turns={"everyone": (1, 1)}),
            "n_votes=9 ballots, and n_teachers=10",
        ),
    ],
    ids=repr,
)
def test_mechanisms(mechanism, message):
    ensemble = ensemble_of(mechanism=mechanism)
    with pytest.raises(ValueError, match=message):
        ensemble.fit(X, Y, X_public=POOL)
    assert ensemble.accountant.spent().n_releases == 0
    assert not hasattr(ensemble, "_teachers")


@pytest.mark.parametrize("value", [0, 1.5, -0.1, "high", [[0.5]], [], float("nan"), [0.5, 0]])
def test_ballot_thresholds(value):
    for make in (
        lambda: BinaryVoting(sigma=1.0, n_votes=10, ballot_threshold=value),
        lambda: TauVoting(sigma=1.0, n_votes=10, tau=1.0, ballot_threshold=value),
        lambda: PowersetVoting(sigma=1.0, n_labels=3, ballot_threshold=value),
    ):
        with pytest.raises(ValueError, match="ballot_threshold=.* must be"):
            make()


@pytest.mark.parametrize("classes", [[0, 1], [[0, 1]] * 4, ["a", "b", "c"]], ids=str)
def test_classes_that_differ_from_y(classes):
    with pytest.raises(ValueError, match=r"classes=.* is not what y has, 3 labels"):
        ensemble_of(classes=classes).fit(X, Y, X_public=POOL)


@pytest.mark.parametrize(
    "names",
    [
        [{"sea", "sun"}, {"sun"}, set()] * 100,
        [("sea", "sun"), ("sun",), ()] * 100,
        pd.Series([["sea", "sun"], ["sun"], []] * 100),
        [["sea", "sun"]] * 300,
    ],
    ids=["sets", "tuples", "series", "pairs"],
)
def test_sets_of_names(names):
    with pytest.raises(ValueError, match=r"MultiLabelBinarizer\(classes=\[...\]\) with all labels"):
        ensemble_of(accountant=None, student=None).fit(X, names)


def test_duplicate_entries_of_sparse_labels():
    twice = coo_array((np.ones(2, dtype=int), ([4, 4], [1, 1])), shape=Y.shape)
    with pytest.raises(ValueError, match="holds other values than 0 and 1"):
        ensemble_of(accountant=None, student=None).fit(X, twice)


def test_teachers_without_probabilities():
    """A shard of one set of labels has them: its teacher would decide alone, and be paid for."""
    mechanism, labels = BinaryVoting(sigma=1.0, n_votes=10, ballot_threshold=0.3), np.zeros_like(Y)
    labels[:3] = 1
    ensemble = ensemble_of(MultiOutputClassifier(LinearSVC()), mechanism=mechanism, student=None)
    with pytest.raises(ValueError, match=r"estimator=Multi.* has no predict_proba; use one that"):
        ensemble.fit(X, labels, X_public=POOL)
    assert ensemble.accountant.spent().n_releases == 0
    assert not hasattr(ensemble, "_teachers")


def test_teachers_that_cannot_learn_labels():
    ensemble = ensemble_of(LogisticRegression())
    with pytest.raises(ValueError, match=r"none of 10 .* trained.*MultiOutputClassifier\(est"):
        ensemble.fit(X, Y, X_public=POOL)
    assert ensemble.accountant.spent().n_releases == 0


def test_class_mechanisms_are_refused_for_labels():
    for mechanism in (BINARY, PowersetVoting(sigma=1.0, n_labels=2)):
        ensemble = ensemble_of(
            LogisticRegression(), mechanism=mechanism, student=None, classes=[0, 1]
        )
        with pytest.raises(ValueError, match="votes on sets of labels, and every row has one"):
            ensemble.fit(X, Y[:, 0], X_public=POOL)


def test_clipping_without_effect_warns():
    ensemble = ensemble_of(mechanism=TauVoting(sigma=1.0, n_votes=10, tau=1.8), student=None)
    with pytest.warns(UserWarning, match=r"tau=1.8 is no less than sqrt\(n_labels\)"):
        ensemble.fit(X, Y, X_public=POOL)


def test_no_label_is_ever_present():
    ensemble = ensemble_of()
    with pytest.warns(UserWarning, match="3 of 3 labels"):
        ensemble.fit(X, np.zeros_like(Y), X_public=POOL)
    assert (ensemble.predict(X) == 0).all()
