"""Ballots on labels: from any multi-label classifier, whatever its shard has shown it."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix, dok_array, lil_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble._votes import collect_votes
from tests.ensemble.multilabel._rows import (
    N_LABELS,
    PER_LABEL,
    POOL,
    TRUTH,
    X,
    Y,
    ensemble_of,
    make_rows,
)

from secretballot.ensemble._label_model import fit_labels, label_probabilities
from secretballot.ensemble._teachers import Shard, train_teacher
from secretballot.ensemble._votes import GroupTally, ask
from secretballot.mechanisms import BinaryVoting, PowersetVoting, TauVoting, clip_ballots
from secretballot.tables._randomness import Randomness

LOGISTIC = LogisticRegression()
LABELS = [np.array([0, 1])] * N_LABELS
LEARNERS = {
    "per label": PER_LABEL,
    "chain": ClassifierChain(LOGISTIC),
    "chain with an order": ClassifierChain(LOGISTIC, order=[2, 0, 1]),
    "one vs rest": OneVsRestClassifier(LOGISTIC),
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(5, random_state=0),
    "neighbours": KNeighborsClassifier(1),
    "pipeline": make_pipeline(StandardScaler(), PER_LABEL),
}


def train(X, y, estimator=PER_LABEL, index=0):
    shard = Shard(index, "*", X, y, Randomness.from_seed(0).teacher(index))
    return train_teacher(estimator, shard, LABELS)


@pytest.mark.parametrize("estimator", LEARNERS.values(), ids=LEARNERS)
def test_any_multilabel_classifier_teaches(estimator):
    ensemble = ensemble_of(estimator, student=estimator).fit(X, Y, X_public=POOL)
    assert [each.tolist() for each in ensemble.classes_] == [[0, 1]] * N_LABELS
    assert (ensemble.pool_labels_.labels == TRUTH).mean() > 0.9
    assert ensemble.pool_labels_.answered.all()
    assert ensemble.n_answered_ == 30
    X_new, Y_new = make_rows(50, seed=2)
    predicted = ensemble.predict(X_new)
    assert (predicted.dtype, predicted.shape) == (np.int64, Y_new.shape)
    assert (predicted == Y_new).mean() > 0.8
    assert ensemble.score(X_new, Y_new) == (predicted == Y_new).all(axis=1).mean()
    probable = ensemble.predict_proba(X_new)
    assert ((probable > 0.5) == predicted).all()
    assert (ensemble.to_student().predict_proba(X_new) == probable).all()


@cache
def teachers_of_an_array():
    return ensemble_of(student=None, random_state=0).fit(X, Y)._teachers


@pytest.mark.parametrize(
    "make",
    [
        csr_array,
        csr_matrix,
        lil_array,
        dok_array,
        list,
        np.ndarray.tolist,
        lambda Y: Y.astype(bool),
        pd.DataFrame,
        lambda Y: pd.DataFrame(Y).astype("Int64"),
    ],
)
def test_labels_in_any_container(make):
    expected = teachers_of_an_array()
    teachers = ensemble_of(student=None, random_state=0).fit(X, make(Y))._teachers
    for one, other in zip(expected, teachers, strict=True):
        assert (one.predict_proba(POOL)[0] == other.predict_proba(POOL)[0]).all()


@pytest.mark.parametrize("estimator", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("varying", [[0, 1, 2], [0, 2], [1]], ids=str)
def test_labels_that_all_rows_have_are_voted_for(estimator, varying):
    Y_some = np.zeros_like(Y)
    Y_some[:, 0] = 1
    Y_some[:, varying] = Y[:, varying]
    if "order" in str(estimator) and len(varying) < N_LABELS:
        # It fits all labels or none: here none, as its last step can't learn one class.
        assert train(X, Y_some, estimator).failure
        return
    teacher = train(X, Y_some, estimator)
    expected = np.where(np.isin(np.arange(N_LABELS), varying), TRUTH, [1, 0, 0])
    assert (teacher.predict(POOL) == expected).mean() > 0.9
    constant = np.setdiff1d(np.arange(N_LABELS), varying)
    assert (teacher.predict(POOL)[:, constant] == expected[:, constant]).all()
    probable = label_probabilities(teacher, POOL, N_LABELS)
    assert ((probable > 0.5) == teacher.predict(POOL)).all()


def test_a_shard_with_one_set_of_labels_votes_for_it():
    teacher = train(X, np.repeat([[1, 0, 1]], len(X), axis=0))
    assert (teacher.predict(POOL) == [1, 0, 1]).all()
    # No label, or all of them, by the teacher's number.
    for index in (0, 1):
        empty = train(X[:0], Y[:0], index=index)
        assert (empty.predict(POOL) == index).all()


def test_a_model_that_learns_constant_labels_may_have_them():
    order = [2, 0, 1]
    Y_some = np.column_stack([Y[:, :2], np.ones(len(Y), dtype=int)])
    chain = ClassifierChain(DecisionTreeClassifier(random_state=0), order=order)
    model = fit_labels(chain, X, Y_some, np.ones(Y.shape, dtype=bool))
    assert isinstance(model, ClassifierChain)
    assert (model.predict(POOL)[:, 2] == 1).all()


def mechanisms(**cut):
    return {
        "binary": BinaryVoting(sigma=0.1, n_votes=10, **cut),
        "tau": TauVoting(sigma=0.1, n_votes=10, tau=1.2, **cut),
        "short tau": TauVoting(sigma=0.1, n_votes=10, tau=1.2, max_positives=2, **cut),
        "powerset": PowersetVoting(sigma=0.1, n_labels=N_LABELS, max_positives=2, **cut),
    }


class Saying(ClassifierMixin, BaseEstimator):
    """Says what it was told to say of rows 0, 1, ..."""

    def __init__(self, probable):
        self.probable = np.asarray(probable, dtype=float)

    def predict(self, X):
        return (self.probable[X[:, 0].astype(int)] > 0.5).astype(float)

    def predict_proba(self, X):
        return self.probable[X[:, 0].astype(int)]


ROWS = np.arange(3.0)[:, None]
SAID = [
    [[0.9, 0.2, 0.6], [0.6, 0.7, 0.8], [0.1, 0.1, 0.1]],
    [[0.4, 0.2, 0.4], [0.6, 0.7, 0.8], [0.1, 0.3, 0.1]],
]
CAST = {None: [[[1, 0, 1], [1, 1, 1], [0, 0, 0]], [[0, 0, 0], [1, 1, 1], [0, 0, 0]]]}
CAST[(0.5, 0.3, 0.35)] = [[[1, 0, 1], [1, 1, 1], [0, 0, 0]], [[0, 0, 1], [1, 1, 1], [0, 1, 0]]]


@pytest.mark.parametrize("cut", CAST, ids=str)
def test_ballots_are_counted_as_the_mechanism_takes_them(cut):
    teachers, ballots = [Saying(said) for said in SAID], np.array(CAST[cut])

    def counts(kind):
        counting = mechanisms(ballot_threshold=cut)[kind].counting(N_LABELS)
        votes = collect_votes(teachers, ROWS, LABELS, None, counting=counting)
        return counting.total(votes, {"*": np.asarray(2.0)})

    assert (counts("binary") == 2 * ballots.sum(axis=0)).all()
    clipped = 2 * clip_ballots(ballots, 1.2).sum(axis=0)
    assert np.allclose(counts("tau"), clipped, rtol=1e-8, atol=0)
    assert (counts("tau") <= clipped).all()  # rounded down: no ballot is longer than it may be
    sets = counts("powerset")
    # Of three labels two are left: the most probable ones, or without probabilities the first.
    longest = [1, 1, 0] if cut is None else [0, 1, 1]
    short = np.where(ballots.sum(-1, keepdims=True) > 2, longest, ballots)
    clipped = 2 * clip_ballots(short, 1.2).sum(axis=0)
    assert np.allclose(counts("short tau"), clipped, rtol=1e-8, atol=0)
    for row, expected in enumerate(short.swapaxes(0, 1)):
        here = sets[row][sets[row]["count"] > 0]
        bits = np.unpackbits(here["ballot"], axis=1, count=3)
        ballots = np.repeat(bits, (here["count"] / 2).astype(int), axis=0)
        assert sorted(map(tuple, ballots)) == sorted(map(tuple, expected))


def test_invalid_probabilities_are_ballots_by_rule():
    said = np.array(SAID[0])
    said[1, 2] = np.nan
    counting = mechanisms(ballot_threshold=0.5)["binary"].counting(N_LABELS)
    one, other = Saying(SAID[0]), Saying(said)
    tally = GroupTally(counting).add_up(ask([one, other], ROWS, LABELS, counting, None))
    assert tally.votes["*"].tolist() == [[2, 0, 2], [2, 2, 2], [0, 0, 0]]
    assert (tally.failures.silent, tally.failures.by_rule) == (1, 1)
    # The second teacher's rule says all labels, the first one's none.
    tally = GroupTally(counting).add_up(ask([other, one], ROWS, LABELS, counting, None))
    assert tally.votes["*"].tolist() == [[2, 0, 2], [1, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_votes_do_not_depend_on_jobs(n_jobs):
    counting = mechanisms()["tau"].counting(N_LABELS)
    forest = RandomForestClassifier(2)
    ensemble = ensemble_of(forest, 21, student=None, n_jobs=n_jobs, random_state=0).fit(X, Y)
    votes = collect_votes(ensemble._teachers, POOL, LABELS, n_jobs, counting=counting)["*"]
    one_by_one = [counting.begin(each.predict(POOL), 1) for each in ensemble._teachers]
    assert (votes == sum(reversed(one_by_one))).all()


@pytest.mark.parametrize("estimator", [PER_LABEL, RandomForestClassifier(3)])
def test_a_replaced_row_moves_one_ballot(estimator):
    def votes_on(X, Y):
        ensemble = ensemble_of(estimator, 12, student=None, accountant=None, random_state=0)
        ensemble.fit(X, Y)
        asked = [np.asarray(each.predict(POOL)) for each in ensemble._teachers]
        assert (collect_votes(ensemble._teachers, POOL, LABELS, None)["*"] == sum(asked)).all()
        return np.array(asked)

    few, labels = X[:60], Y[:60]
    before, moved = votes_on(few, labels), 0
    for row in range(0, 60, 12):
        neighbour, changed = few.copy(), labels.copy()
        neighbour[row], changed[row] = [50.0, -50.0, 9.0], 1 - labels[row]
        differ = (votes_on(neighbour, changed) != before).any(axis=2)
        assert differ.sum(axis=0).max() <= 1
        moved += differ.sum()
    assert moved > 0
