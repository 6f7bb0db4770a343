"""Promises of ensembles: what one row or owner can change, budgets, and what leaves them."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from tests._quietly import quietly
from tests.checks._ensemble_draws import ensemble_draws
from tests.checks._promises import expect_refusal
from tests.ensemble._votes import collect_votes

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.mechanisms import GNMax
from secretballot.testing import Audit, Neighbours, audit_epsilon
from secretballot.testing._audit import claimed_cost
from secretballot.testing._mechanism_checks import AUDIT_DELTA, CI_DRAWS
from secretballot.testing._outcome_laws import exact_epsilon, outcome_law

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


def check_clone_shares_the_budget(build: BuildEnsemble) -> None:
    accountant, (X, y, pool) = some_budget(), some_data()
    for count in range(3):
        fit(clone(_with_more_noise(build(accountant))), X, y, pool)
        assert len(accountant.entries()) == count + 1, "a clone's fit spends from the same budget"


def check_refusal_returns_nothing_and_changes_nothing(build: BuildEnsemble) -> None:
    X, y, pool = some_data()
    accountant = some_budget()
    ensemble = fit(build(accountant), X, y, pool)
    ensemble.set_params(epsilon=None)
    while True:  # spend the whole budget, beyond the ensemble's own cap
        try:
            quietly(accountant.release, ensemble.mechanism_, np.ones((1000, 2)))
        except BudgetExceededError:
            break
    before = [entry.digest for entry in accountant.entries()]
    promise = "labels beyond the budget are refused"
    expect_refusal(BudgetExceededError, promise, ensemble.predict_private, pool)
    assert [entry.digest for entry in accountant.entries()] == before, "a refusal records nothing"


def check_batches_draw_afresh(build: BuildEnsemble) -> None:
    X, y, pool = some_data()
    for seed in (0, None):
        ensemble = _drown(build(some_budget())).set_params(random_state=seed)
        fit(ensemble, X, y, np.concatenate([pool] * 5))
        batches = [quietly(ensemble.predict_private, pool).labels for _ in range(2)]
        promise = "no batch of labels repeats the noise of another"
        assert np.any(batches[0] != batches[1]), promise
        assert np.any(batches[0] != ensemble.pool_labels_.labels[: len(pool)]), promise


def check_no_budget_no_release(build: BuildEnsemble) -> None:
    X, y, pool = some_data()
    ensemble = build(None)
    message = expect_refusal(
        ValueError, "no label without a budget", ensemble.fit, X, y, X_public=pool
    )
    assert "accountant" in message, "the error names the remedy"
    quietly(ensemble.fit, X, y)  # teachers alone need none


def check_free_methods_are_free(build: BuildEnsemble) -> None:
    accountant, (X, y, pool) = some_budget(), some_data()
    ensemble = fit(_with_more_noise(build(accountant)), X, y, pool)
    spent = len(accountant.entries())
    ensemble.predict(X)
    ensemble.predict_proba(X)
    ensemble.score(X, y)
    ensemble.to_student().predict(X)
    repr(ensemble)
    ensemble._repr_html_()
    assert len(accountant.entries()) == spent, "prediction by the student costs nothing"
    released = quietly(ensemble.predict_private, pool[:2])
    assert len(accountant.entries()) == spent + 1, "a private prediction is recorded"
    assert len(released.labels) == len(released.answered) == 2


def check_public_attributes_are_public(build: BuildEnsemble) -> None:
    # Permuted private labels change the votes, but not the released labels (the noise drowns the
    # votes). So a public attribute that changes would be private.
    X, y, pool = some_data()
    first, second = (fit(_drown(build(some_budget())), X, labels, pool) for labels in (y, 1 - y))
    votes = [votes_of(ensemble, pool) for ensemble in (first, second)]
    assert np.any(votes[0] != votes[1]), "the check needs votes that differ"
    for name in sorted(name for name in vars(first) if not name.startswith("_")):
        if name == "accountant":
            continue
        same = pickle.dumps(getattr(first, name)) == pickle.dumps(getattr(second, name))
        assert same, f"the public attribute {name} depends on private data that was not released"


def check_student_carries_no_private_state(build: BuildEnsemble) -> None:
    X, y, pool = some_data()
    ensemble = fit(build(some_budget()), X, y, pool)
    deployed = pickle.dumps(ensemble.to_student())
    for word in (rb"(?<!n)_teachers", b"PrivacyAccountant", b"_partition", b"TeacherEnsemble"):
        assert not re.search(word, deployed), f"the deployed student carries {word.decode()}"
    np.testing.assert_array_equal(pickle.loads(deployed).predict(X), ensemble.predict(X))


def _with_more_noise(ensemble: PrivateTeacherEnsemble) -> PrivateTeacherEnsemble:
    """Use enough noise to leave budget for a second fit."""
    return ensemble.set_params(mechanism=GNMax(sigma=3.0))


def _drown(ensemble: PrivateTeacherEnsemble) -> PrivateTeacherEnsemble:
    """Use noise so large that released labels say nothing about the votes."""
    return ensemble.set_params(mechanism=GNMax(sigma=1e9))


ENSEMBLE_CHECKS = (
    check_one_record_moves_one_ballot,
    check_one_owner_moves_one_ballot,
    check_every_row_is_seen_once,
    check_one_record_reaches_one_teacher,
    check_private_labels_survive_the_audit,
    check_clone_shares_the_budget,
    check_refusal_returns_nothing_and_changes_nothing,
    check_batches_draw_afresh,
    check_no_budget_no_release,
    check_free_methods_are_free,
    check_public_attributes_are_public,
    check_student_carries_no_private_state,
)
