"""Objects that keep the rows they are given carry none of them out, nor from teacher to teacher."""

import pickle
import threading
import weakref

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble import PrivateChoice
from secretballot.mechanisms import GNMax

#: A number in every private row, and in no public one.
MARK = 0.4711e-3
X, y = make_blobs(1_300, centers=[[-3.0, 0.0, 0.0], [3.0, 0.0, 0.0]], random_state=0)
POOL, PRIVATE, LABELS = X[:60], X[60:], y[60:]
PRIVATE = np.column_stack([PRIVATE[:, :2], np.full(len(PRIVATE), MARK)])


class Keeper(TransformerMixin, BaseEstimator):
    """Transformer that keeps all tables."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        self.kept_ = [*getattr(self, "kept_", []), np.array(X)]
        return X[:, :2]


class KeepingModel(ClassifierMixin, BaseEstimator):
    """Classifier that keeps all tables."""

    def fit(self, X, y):
        self.classes_, self.kept_ = np.unique(y), []
        return self

    def predict(self, X):
        self.kept_.append(np.array(X))
        return (X[:, 0] > 0).astype(int)


class KeepingScorer:
    """Scorer that keeps all tables."""

    def __init__(self):
        self.kept = []

    def __call__(self, estimator, X, y):
        self.kept.append(np.array(X))
        return float(np.mean(estimator.predict(X) == y))


class LockedScorer(KeepingScorer):
    """Scorer that can't be copied."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class NoCopy(Keeper):
    """Transformer that can't be copied once it is fitted."""

    def fit(self, X, y=None):
        self.lock_ = threading.Lock()
        return super().fit(X)


class ItsOwnCopy(Keeper):
    """Transformer whose copy is itself, such as a model in the memory of another device."""

    def __deepcopy__(self, memo):
        return self


class Part:
    """Object that knows the transformer in which it is."""

    def __init__(self, whole):
        self.whole = weakref.ref(whole)


class KnownByAPart(Keeper):
    """Transformer whose copies have a part that still knows the first of them."""

    def fit(self, X, y=None):
        self.part_ = Part(self)
        return super().fit(X)

    def transform(self, X):
        return Keeper.transform(self.part_.whole(), X)


def marks(published):
    return pickle.dumps(published).count(np.float64(MARK).tobytes())


def accountant():
    return PrivacyAccountant(80.0, 1e-5)


@pytest.mark.parametrize("regression", [False, True])
def test_a_transformer_leaves_rows_in_no_published_model(regression):
    keeper = FrozenEstimator(Keeper().fit(POOL))
    for features in (Keeper(), keeper):
        kind = PrivateLinearRegression if regression else PrivateLogisticRegression
        options = {"target_bounds": (0, 1)} if regression else {"classes": [0, 1]}
        model = kind(features, epsilon=2.0, accountant=accountant(), **options)
        model.fit(PRIVATE, LABELS, X_public=PublicData(POOL))
        model.score_private(PRIVATE, LABELS, sigma=30.0)
        model.accountant = None
        assert marks(model) == 0
    assert marks(keeper) == 0
    keeper.transform(PRIVATE)
    assert marks(keeper) > 0


def ensemble(student, estimator=None, **options):
    return PrivateTeacherEnsemble(
        LogisticRegression() if estimator is None else estimator,
        n_teachers=10,
        student=student,
        classes=[0, 1],
        accountant=accountant(),
        epsilon=40.0,
        check_public_rows=False,
        **options,
    )


def test_students_leave_rows_in_no_published_model():
    for student in (
        KeepingModel(),
        make_pipeline(Keeper(), LogisticRegression()),
        PrivateChoice([KeepingModel(), LogisticRegression()]),
        PrivateChoice([KeepingModel(), LogisticRegression()], scoring=KeepingScorer()),
    ):
        fitted = ensemble(student).fit(PRIVATE, LABELS, X_public=POOL)
        fitted.score_private(PRIVATE, LABELS, sigma=30.0)
        assert marks(fitted.to_student()) == 0


def test_a_frozen_step_of_teachers_keeps_no_rows():
    keeper = FrozenEstimator(Keeper().fit(POOL))
    teacher = make_pipeline(keeper, LogisticRegression())
    fitted = ensemble(clone(teacher), estimator=teacher).fit(PRIVATE, LABELS, X_public=POOL)
    assert marks(keeper) == 0
    assert marks(fitted.to_student()) == 0


class Counter(TransformerMixin, BaseEstimator):
    """Transformer that adds the number of private rows it has seen."""

    def fit(self, X, y=None):
        self.n_seen_ = 0
        return self

    def transform(self, X):
        self.n_seen_ += int(np.isclose(X[:, 2], MARK).sum())
        return np.column_stack([X, np.full(len(X), self.n_seen_)])


def test_a_frozen_step_tells_no_teacher_of_another():
    teacher = make_pipeline(FrozenEstimator(Counter().fit(POOL)), LogisticRegression())
    fitted = ensemble(LogisticRegression(), estimator=teacher).fit(PRIVATE, LABELS, X_public=POOL)
    seen = [each.steps[0][1].estimator.n_seen_ for each in fitted._teachers]
    assert max(seen) <= -(-len(PRIVATE) // 10)


@pytest.mark.parametrize("kind", [NoCopy, ItsOwnCopy, KnownByAPart])
def test_what_cannot_be_copied_is_refused_before_anything_is_spent(kind):
    inner = make_pipeline(kind(), StandardScaler())
    model = PrivateLogisticRegression(inner, classes=[0, 1], accountant=accountant())
    frozen = FrozenEstimator(kind().fit(POOL))
    for each in (
        model,
        ensemble(PrivateChoice([make_pipeline(kind(), LogisticRegression()), KeepingModel()])),
        ensemble(LogisticRegression(), make_pipeline(frozen, LogisticRegression())),
        ensemble(PrivateChoice([LogisticRegression(), KeepingModel()], scoring=LockedScorer())),
    ):
        with pytest.raises(ValueError, match="can't be copied"):
            each.fit(PRIVATE, LABELS, X_public=POOL)
        assert each.accountant.entries() == []
    student = make_pipeline(kind(), LogisticRegression())
    fitted = ensemble(student).fit(PRIVATE, LABELS, X_public=POOL)
    n_entries = len(fitted.accountant.entries())
    with pytest.raises(ValueError, match="can't be copied"):
        fitted.score_private(PRIVATE, LABELS, sigma=30.0)
    assert len(fitted.accountant.entries()) == n_entries


class Counted(PrivacyAccountant):
    """Keep the counts that are given to the door; answer as another run did, if given."""

    outcomes = ()

    def release(self, mechanism, counts, **options):
        self.seen = [*getattr(self, "seen", []), np.array(counts)]
        outcome = super().release(mechanism, counts, **options)
        if len(self.outcomes) >= len(self.seen):
            return self.outcomes[len(self.seen) - 1]
        self.outcomes = (*self.outcomes, outcome)
        return outcome


def first_share(estimator, X, y):
    """Score by the share of a class that the candidate was first shown."""
    if not hasattr(estimator, "first_"):
        estimator.first_ = float(y.mean())
    return estimator.first_ if estimator.estimator.C == 1 else 0.5


@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
def test_what_a_scorer_keeps_on_a_student_moves_no_other_teachers_vote():
    owners, outcomes, counts = np.arange(600) % 12, (), []
    choice = PrivateChoice([LogisticRegression(), LogisticRegression(C=0.5)], scoring=first_share)
    for replaced in range(-1, 12):
        is_zero = (owners != replaced) & (np.arange(600) % 3 == 0)
        labels = np.where(is_zero, 0, np.where(owners == replaced, 1, LABELS[:600]))
        spender = Counted(80.0, 1e-5, unit="owner", allow_seeded=True)
        spender.outcomes = outcomes
        model = ensemble(choice, random_state=0).set_params(accountant=spender, n_teachers=4)
        model.set_params(mechanism=GNMax(sigma=2.0))  # insists on three owners a teacher
        model.fit(PRIVATE[:600], labels, X_public=POOL, owners=owners)
        outcomes = spender.outcomes
        counts.append(spender.seen[-1].ravel())
    moved = np.abs(counts[1:] - counts[0]).sum(axis=1) / 2
    assert 0 < moved.max() <= 1
