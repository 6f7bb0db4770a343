"""Data for the checks of ensembles, and promises about what one row, or one owner, can change."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from secretballot.accounting import PrivacyAccountant
from secretballot.audit import (
    Audit,
    Neighbours,
    audit_epsilon,
    claimed_cost,
    ensemble_draws,
    exact_epsilon,
    outcome_law,
)
from secretballot.checks._contract import quietly
from secretballot.checks._mechanism_noise import AUDIT_DELTA, CI_DRAWS
from secretballot.ensemble import PrivateTeacherEnsemble, collect_votes
from secretballot.mechanisms import GNMax

Array: TypeAlias = NDArray[Any]

#: Builds an unfitted ensemble of six teachers for an accountant, or None.
BuildEnsemble: TypeAlias = Callable[[PrivacyAccountant | None], PrivateTeacherEnsemble]

_N_OWNERS = 30
_MECHANISM = GNMax(sigma=1.5)


def some_budget() -> PrivacyAccountant:
    """Open a budget for a few fits."""
    return quietly(PrivacyAccountant, epsilon=50.0, delta=1e-5, order="renyi")


def some_data() -> tuple[Array, Array, Array]:
    """Draw private rows, their labels, and public rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int)
    return X, y, rng.normal(size=(20, 3))


def fit(
    ensemble: PrivateTeacherEnsemble, X: Array, y: Array, pool: Array
) -> PrivateTeacherEnsemble:
    """Fit with a public pool, without warnings of seeded noise."""
    # The cost of checking the pool is not part of these checks.
    ensemble.set_params(check_public_rows=False)
    return quietly(ensemble.fit, X, y, X_public=pool)


def votes_of(ensemble: PrivateTeacherEnsemble, X: Array) -> Array:
    """Collect the votes of a fitted ensemble's teachers."""
    assert isinstance(ensemble._teachers, list)
    return collect_votes(ensemble._teachers, X, ensemble.classes_, None)["*"]


def votes_after(build: BuildEnsemble, X: Array, y: Array, pool: Array, **data: Array) -> Array:
    """Collect the votes on `pool` of teachers trained on some data."""
    return votes_of(quietly(build(None).fit, X, y, **data), pool)


def check_one_record_moves_one_ballot(build: BuildEnsemble) -> None:
    X, y, pool = some_data()
    votes = votes_after(build, X, y, pool)
    for row in np.random.default_rng(1).choice(len(X), size=12, replace=False):
        moved = np.abs(votes_after(build, *_replace_rows(X, y, row), pool) - votes).sum(axis=1)
        assert moved.max() <= 2, "one replaced row moves at most one ballot of a query"


def check_one_owner_moves_one_ballot(build: BuildEnsemble) -> None:
    X, y, pool = some_data()
    owners = np.arange(len(X)) % _N_OWNERS
    votes = votes_after(build, X, y, pool, owners=owners)
    for owner in range(0, _N_OWNERS, 5):
        neighbour = _replace_rows(X, y, np.flatnonzero(owners == owner))
        moved = np.abs(votes_after(build, *neighbour, pool, owners=owners) - votes).sum(axis=1)
        assert moved.max() <= 2, "one replaced owner moves at most one ballot of a query"


class _Witness(ClassifierMixin, BaseEstimator):
    """A teacher that remembers what it was trained on, and with which seed."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> _Witness:
        self.classes_ = np.unique(y)
        self.seen_ = np.column_stack([X, y, np.full(len(y), self.random_state)])
        return self

    def predict(self, X: Array) -> Array:
        return np.repeat(self.classes_[:1], len(X))


def _training_rows(
    build: BuildEnsemble, X: Array, y: Array, owners: Array | None = None
) -> list[Array]:
    """Collect the training rows of each teacher."""
    witnesses = build(None).set_params(estimator=_Witness(), student=None)
    fitted = quietly(witnesses.fit, X, y, owners=owners)
    rows = [teacher.seen_ for teacher in fitted._teachers if hasattr(teacher, "seen_")]
    assert len(rows) == fitted.n_teachers_, "every teacher is trained on its own rows"
    return rows


def check_every_row_is_seen_once(build: BuildEnsemble) -> None:
    X, y = np.arange(90.0)[:, None], np.random.default_rng(0).integers(2, size=90)
    for owners in (None, np.arange(90) % _N_OWNERS):
        rows = np.concatenate(_training_rows(build, X, y, owners))[:, 0]
        promise = "every row is seen by one teacher, and once"
        assert np.array_equal(np.sort(rows), np.arange(90)), promise


def check_one_record_reaches_one_teacher(build: BuildEnsemble) -> None:
    # Stricter than ballots, which may happen not to move.
    X, y = some_data()[0], np.random.default_rng(0).integers(2, size=90)
    for owners in (None, np.arange(90) % _N_OWNERS):
        before = _training_rows(build, X, y, owners)
        for unit in range(0, _N_OWNERS, 5):
            rows = unit if owners is None else np.flatnonzero(owners == unit)
            after = _training_rows(build, *_replace_rows(X, y, rows), owners)
            changed = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
            assert sum(changed) == 1, "a replaced row or owner reaches one teacher, and no other"


def audit_ensemble(build: BuildEnsemble, *, owners: bool = False, n_draws: int) -> Audit:
    """Audit labels drawn through the accountant, on the row, or owner, that changes them most."""
    X, y, _ = some_data()
    pool = np.random.default_rng(2).normal(size=(400, X.shape[1]), scale=1.5)
    extra = {"owners": np.arange(len(X)) % _N_OWNERS} if owners else {}
    votes = votes_after(build, X, y, pool, **extra)
    data = dict(X=X, y=y, **extra)
    candidates: list[tuple[float, float, Neighbours]] = []
    for unit in range(0, _N_OWNERS, 2):
        rows = np.flatnonzero(extra["owners"] == unit) if owners else unit
        neighbour = dict(data, **dict(zip("Xy", _replace_rows(X, y, rows), strict=True)))
        moved = votes_after(build, pool=pool, **neighbour)
        for query in np.flatnonzero((moved != votes).any(axis=1)):
            laws = [outcome_law(_MECHANISM, counts[[query]]) for counts in (votes, moved)]
            public = pool[query : query + 1]
            pair = Neighbours((data, public), (neighbour, public))
            lead = abs(float(votes[query, 0]) - float(votes[query, 1]))
            log_p, log_q = (law.log_probabilities[0] for law in laws if law is not None)
            candidates.append((exact_epsilon(log_p, log_q, AUDIT_DELTA), -lead, pair))
    assert candidates, "the audit needs a replaced unit that moves a ballot"
    ensemble = build(None).set_params(mechanism=_MECHANISM)
    # The row with the largest exact epsilon, and one that is nearly tied.
    family = [max(candidates, key=itemgetter(rank))[2] for rank in (0, 1)]
    return audit_epsilon(
        None,
        family,
        AUDIT_DELTA,
        claim=float(claimed_cost(_MECHANISM, n_columns=2).epsilon(AUDIT_DELTA)),
        draw=lambda data, n, rng: ensemble_draws(ensemble, data[1])(data[0], n, rng),
        outcome_law=lambda data: outcome_law(
            _MECHANISM, votes_after(build, pool=data[1], **data[0])
        ),
        n_draws=n_draws,
        # The noise is not seeded here, nor for users: an error once in a billion audits.
        confidence=1 - 1e-9,
    )


def check_private_labels_survive_the_audit(build: BuildEnsemble) -> None:
    for owners in (False, True):
        audit_ensemble(build, owners=owners, n_draws=CI_DRAWS // 2).check()


def _replace_rows(X: Array, y: Array, rows: Array | int) -> tuple[Array, Array]:
    """Build neighbouring data: other features, far away, and the other label."""
    other, labels = X.copy(), y.copy()
    other[rows] = np.random.default_rng(3).normal(size=X[rows].shape) * 50
    labels[rows] = 1 - y[rows]
    return other, labels
