"""Promises of ensembles about budgets, and about what leaves them."""

from __future__ import annotations

import pickle
import re

import numpy as np
from sklearn.base import clone

from secretballot.accounting import BudgetExceededError
from secretballot.checks._contract import expect_refusal, quietly
from secretballot.checks._ensemble_neighbours import (
    BuildEnsemble,
    fit,
    some_budget,
    some_data,
    votes_of,
)
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.mechanisms import GNMax


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
