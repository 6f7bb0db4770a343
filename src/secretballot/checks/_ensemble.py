"""What every estimator that spends a budget has to satisfy, on top of scikit-learn's own checks."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.checks._expect import quietly, refused
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.ensemble._votes import collect_votes
from secretballot.mechanisms import GNMax

Make = Callable[[PrivacyAccountant | None], Any]
_SIX = 6


def check_ensemble(make: Make) -> None:
    """Run all common checks on an ensemble.

    Parameters
    ----------
    make : callable
        Takes an accountant, or None, and returns an unfitted ensemble of six teachers with
        ``classes=[0, 1]``, a student and an integer ``random_state``.

    Raises
    ------
    AssertionError
        Naming the promise that is broken.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot import PrivateTeacherEnsemble
    >>> from secretballot.checks import check_ensemble
    >>> check_ensemble(
    ...     lambda accountant: PrivateTeacherEnsemble(
    ...         LogisticRegression(), n_teachers=6, student=LogisticRegression(),
    ...         classes=[0, 1], accountant=accountant, random_state=0,
    ...     )
    ... )
    """
    for check in _CHECKS:
        check(make)


def ensemble_checks() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every kind of ensemble and promise."""
    for name, estimator in _ESTIMATORS.items():
        make = partial(_make, estimator)
        for check in _CHECKS:
            yield f"{name}-{check.__name__.removeprefix('check_')}", partial(check, make)


def check_one_record_moves_one_ballot(make: Make) -> None:
    X, y, pool = _data()
    votes = _votes(make, X, y, pool)
    rng = np.random.default_rng(1)
    for row in rng.choice(len(X), size=12, replace=False):
        other, labels = X.copy(), y.copy()
        other[row], labels[row] = rng.normal(size=X.shape[1]) * 50, 1 - y[row]
        moved = np.abs(_votes(make, other, labels, pool) - votes).sum(axis=1)
        assert moved.max() <= 2, "one replaced row moves at most one ballot of a query"


def check_clone_shares_the_budget(make: Make) -> None:
    accountant, (X, y, pool) = _accountant(), _data()
    for fit in range(3):
        _fit(clone(_thrifty(make(accountant))), X, y, pool)
        assert len(accountant.entries()) == fit + 1, "a clone's fit spends from the same budget"


def check_refusal_returns_nothing_and_changes_nothing(make: Make) -> None:
    X, y, pool = _data()
    accountant = _accountant()
    ensemble = _fit(make(accountant), X, y, pool)
    ensemble.set_params(epsilon=None)
    while True:  # spend what is left, whatever the ensemble's own cap
        try:
            quietly(accountant.release, ensemble.mechanism_, np.ones((1000, 2)))
        except BudgetExceededError:
            break
    before = [entry.digest for entry in accountant.entries()]
    promise = "labels beyond the budget are refused"
    refused(BudgetExceededError, promise, ensemble.predict_private, pool)
    assert [entry.digest for entry in accountant.entries()] == before, "a refusal records nothing"


def check_no_budget_no_release(make: Make) -> None:
    X, y, pool = _data()
    ensemble = make(None)
    message = refused(ValueError, "no label without a budget", ensemble.fit, X, y, X_public=pool)
    assert "accountant" in message, "the error names the remedy"
    quietly(ensemble.fit, X, y)  # teachers alone need none


def check_free_methods_are_free(make: Make) -> None:
    accountant, (X, y, pool) = _accountant(), _data()
    ensemble = _fit(_thrifty(make(accountant)), X, y, pool)
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


def check_public_attributes_are_public(make: Make) -> None:
    # Private labels permuted: what the votes were changes, what was released does not (the noise
    # drowns the votes), so a public attribute that changes would be private.
    X, y, pool = _data()
    first, second = (_fit(_drowned(make(_accountant())), X, labels, pool) for labels in (y, 1 - y))
    votes = [collect_votes(e._teachers, pool, e.classes_, None) for e in (first, second)]
    assert np.any(votes[0] != votes[1]), "the check needs votes that differ"
    for name in sorted(name for name in vars(first) if not name.startswith("_")):
        if name == "accountant":
            continue
        same = _content(getattr(first, name)) == _content(getattr(second, name))
        assert same, f"the public attribute {name} depends on private data that was not released"


def check_student_carries_no_private_state(make: Make) -> None:
    X, y, pool = _data()
    ensemble = _fit(make(_accountant()), X, y, pool)
    deployed = pickle.dumps(ensemble.to_student())
    for word in (rb"(?<!n)_teachers", b"PrivacyAccountant", b"_partition", b"TeacherEnsemble"):
        assert not re.search(word, deployed), f"the deployed student carries {word.decode()}"
    np.testing.assert_array_equal(pickle.loads(deployed).predict(X), ensemble.predict(X))


_CHECKS = (
    check_one_record_moves_one_ballot,
    check_clone_shares_the_budget,
    check_refusal_returns_nothing_and_changes_nothing,
    check_no_budget_no_release,
    check_free_methods_are_free,
    check_public_attributes_are_public,
    check_student_carries_no_private_state,
)

_ESTIMATORS = {
    "logistic regression": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_depth=3),
}


def _make(estimator: Any, accountant: PrivacyAccountant | None) -> PrivateTeacherEnsemble:
    return PrivateTeacherEnsemble(
        estimator,
        n_teachers=_SIX,
        student=LogisticRegression(),
        classes=[0, 1],
        accountant=accountant,
        random_state=0,
    )


def _accountant() -> PrivacyAccountant:
    return PrivacyAccountant(epsilon=50.0, delta=1e-5)


def _data() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int)
    return X, y, rng.normal(size=(20, 3))


def _fit(ensemble: Any, X: Any, y: Any, pool: Any) -> Any:
    return quietly(ensemble.fit, X, y, X_public=pool)


def _votes(make: Make, X: Any, y: Any, pool: Any) -> NDArray[np.int64]:
    ensemble = quietly(make(None).fit, X, y)
    return collect_votes(ensemble._teachers, pool, ensemble.classes_, None)


def _thrifty(ensemble: Any) -> Any:
    """Leave budget for more than one fit."""
    return ensemble.set_params(mechanism=GNMax(sigma=3.0))


def _drowned(ensemble: Any) -> Any:
    """Hide every vote behind noise."""
    return ensemble.set_params(mechanism=GNMax(sigma=1e9))


def _content(value: Any) -> bytes:
    return pickle.dumps(value)
