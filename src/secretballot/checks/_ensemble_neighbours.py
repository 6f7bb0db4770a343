"""Promises about what one row, or one owner, can change, and what outcomes tell of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

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
from secretballot.checks._ensemble_examples import Make, some_data, votes_after
from secretballot.checks._mechanism_noise import AUDIT_DELTA, CI_DRAWS
from secretballot.mechanisms import GNMax

_N_OWNERS = 30
_MECHANISM = GNMax(sigma=1.5)


def check_one_record_moves_one_ballot(make: Make) -> None:
    X, y, pool = some_data()
    votes = votes_after(make, X, y, pool)
    for row in np.random.default_rng(1).choice(len(X), size=12, replace=False):
        moved = np.abs(votes_after(make, *_replaced(X, y, row), pool) - votes).sum(axis=1)
        assert moved.max() <= 2, "one replaced row moves at most one ballot of a query"


def check_one_owner_moves_one_ballot(make: Make) -> None:
    X, y, pool = some_data()
    owners = np.arange(len(X)) % _N_OWNERS
    votes = votes_after(make, X, y, pool, owners=owners)
    for owner in range(0, _N_OWNERS, 5):
        other = _replaced(X, y, np.flatnonzero(owners == owner))
        moved = np.abs(votes_after(make, *other, pool, owners=owners) - votes).sum(axis=1)
        assert moved.max() <= 2, "one replaced owner moves at most one ballot of a query"


class _Witness(ClassifierMixin, BaseEstimator):
    """A teacher that remembers what it was trained on, and with which seed."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> _Witness:
        self.classes_ = np.unique(y)
        self.seen_ = np.column_stack([X, y, np.repeat(self.random_state, len(y))])
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        return np.repeat(self.classes_[:1], len(X))


def _seen(make: Make, X: Any, y: Any, owners: Any = None) -> list[NDArray[Any]]:
    """Return what each teacher was trained on."""
    witnesses = make(None).set_params(estimator=_Witness(), student=None)
    fitted = quietly(witnesses.fit, X, y, owners=owners)
    seen = [teacher.seen_ for teacher in fitted._teachers if hasattr(teacher, "seen_")]
    assert len(seen) == fitted.n_teachers_, "every teacher is trained on its own rows"
    return seen


def check_every_row_is_seen_once(make: Make) -> None:
    X, y = np.arange(90.0)[:, None], np.random.default_rng(0).integers(2, size=90)
    for owners in (None, np.arange(90) % _N_OWNERS):
        rows = np.concatenate(_seen(make, X, y, owners))[:, 0]
        promise = "every row is seen by one teacher, and once"
        assert np.array_equal(np.sort(rows), np.arange(90)), promise


def check_one_record_reaches_one_teacher(make: Make) -> None:
    # Stricter than ballots, which may happen not to move.
    X, y = some_data()[0], np.random.default_rng(0).integers(2, size=90)
    for owners in (None, np.arange(90) % _N_OWNERS):
        before = _seen(make, X, y, owners)
        for unit in range(0, _N_OWNERS, 5):
            rows = unit if owners is None else np.flatnonzero(owners == unit)
            after = _seen(make, *_replaced(X, y, rows), owners)
            changed = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
            assert sum(changed) == 1, "a replaced row or owner reaches one teacher, and no other"


def audit_ensemble(make: Make, *, owners: bool = False, n_draws: int) -> Audit:
    """Audit private labels, end to end, on the row, or owner, that tells most.

    The teachers are trained on two neighbouring data sets; what is drawn are labels of the public
    row on which the two tell each other apart best, through the accountant.
    """
    X, y, _ = some_data()
    pool = np.random.default_rng(2).normal(size=(400, X.shape[1]), scale=1.5)
    extra = {"owners": np.arange(len(X)) % _N_OWNERS} if owners else {}
    votes = votes_after(make, X, y, pool, **extra)
    data = dict(X=X, y=y, **extra)
    found: dict[bytes, tuple[float, int, Neighbours]] = {}
    for unit in range(0, _N_OWNERS, 2):
        other = _replaced(X, y, np.flatnonzero(extra["owners"] == unit) if owners else unit)
        moved = votes_after(make, *other, pool, **extra)
        for query in np.flatnonzero((moved != votes).any(axis=1)):
            here, there = votes[query : query + 1], moved[query : query + 1]
            laws = (outcome_law(_MECHANISM, each).log_probabilities[0] for each in (here, there))
            public = pool[query : query + 1]
            found[here.tobytes() + there.tobytes()] = (
                exact_epsilon(*laws, AUDIT_DELTA),
                -abs(int(here[0, 0] - here[0, 1])),
                Neighbours((data, public), (dict(data, X=other[0], y=other[1]), public)),
            )
    assert found, "the audit needs a replaced unit that moves a ballot"
    ensemble = make(None).set_params(mechanism=_MECHANISM)
    # The row that tells most if the noise is what it should be, and one that is nearly tied.
    family = [max(found.values(), key=lambda each: each[rank])[2] for rank in (0, 1)]
    return audit_epsilon(
        None,
        family,
        AUDIT_DELTA,
        claim=claimed_cost(_MECHANISM, n_columns=2).epsilon(AUDIT_DELTA),
        draw=lambda both, n, rng: ensemble_draws(ensemble, both[1])(both[0], n, rng),
        outcome_law=lambda both: outcome_law(
            _MECHANISM, votes_after(make, pool=both[1], **both[0])
        ),
        n_draws=n_draws,
        # The noise is not seeded here, as it is not for users: an error once in a billion audits.
        confidence=1 - 1e-9,
    )


def check_private_labels_survive_the_audit(make: Make) -> None:
    for owners in (False, True):
        audit_ensemble(make, owners=owners, n_draws=CI_DRAWS // 2).check()


def _replaced(X: NDArray[Any], y: NDArray[Any], rows: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return neighbouring data: other features, far away, and the other label."""
    other, labels = X.copy(), y.copy()
    other[rows] = np.random.default_rng(3).normal(size=X[rows].shape) * 50
    labels[rows] = 1 - y[rows]
    return other, labels
