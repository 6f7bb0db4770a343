"""The ensemble's parameters, checked before any data is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble._parties import check_parties, is_parties


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= least


def check_parameters(ensemble: Any) -> None:
    """Check all parameters of a `PrivateTeacherEnsemble`; errors name the parameter."""
    _check_estimators(ensemble)
    _check_privacy(ensemble)
    if not _is_whole(ensemble.n_teachers, 1):
        raise ValueError(f"n_teachers={ensemble.n_teachers!r} must be an integer of at least 1.")
    if ensemble.unanswered not in ("drop", "mark"):
        raise ValueError(f"unanswered={ensemble.unanswered!r} must be 'drop' or 'mark'.")
    if ensemble.n_jobs is not None and (
        not isinstance(ensemble.n_jobs, Integral) or ensemble.n_jobs == 0
    ):
        raise ValueError(f"n_jobs={ensemble.n_jobs!r} must be None or an integer other than 0.")
    if not isinstance(ensemble.verbose, Integral) or ensemble.verbose < 0:
        raise ValueError(f"verbose={ensemble.verbose!r} must be an integer of at least 0.")
    check_random_state_parameter(ensemble.random_state)


def check_random_state_parameter(random_state: Any) -> None:
    """Check that ``random_state`` is None, an integer or a `numpy.random.RandomState`."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return
    if not _is_whole(random_state, 0):
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer of at least 0 or a "
            "numpy.random.RandomState."
        )


def _check_estimators(ensemble: Any) -> None:
    if is_parties(ensemble.estimator):
        check_parties(ensemble.estimator)
    else:
        _check_interface("estimator", ensemble.estimator, ("fit", "predict", "get_params"))
        if isinstance(ensemble.estimator, FrozenEstimator):
            raise ValueError(
                "estimator is one FrozenEstimator, so all teachers would be the same model. Give "
                "a list of FrozenEstimators, one for each party, or an estimator to be trained."
            )
    if ensemble.student is not None:
        _check_interface("student", ensemble.student, ("fit", "predict", "get_params"))


def _check_interface(name: str, value: Any, methods: tuple[str, ...]) -> None:
    if isinstance(value, type):
        raise ValueError(f"{name}={value.__name__} is a class; give an instance of it.")
    for method in methods:
        if not callable(getattr(value, method, None)):
            raise ValueError(f"{name}={value!r} has no method {method}.")


def _check_privacy(ensemble: Any) -> None:
    accountant = ensemble.accountant
    if accountant is not None and not isinstance(accountant, PrivacyAccountant):
        raise ValueError(
            f"accountant={accountant!r} must be a PrivacyAccountant: accountant="
            "PrivacyAccountant(epsilon, delta)."
        )
    if ensemble.mechanism is not None:
        _check_interface("mechanism", ensemble.mechanism, ("max_cost", "cost"))
        weight = getattr(ensemble.mechanism, "weight", 1.0)
        weights = weight.values() if isinstance(weight, Mapping) else [weight]
        if min(weights) < 1:
            # It would be charged for less than a ballot moves.
            raise ValueError(
                f"mechanism={ensemble.mechanism!r} has a weight below 1, but every teacher's "
                "ballot counts 1; use weight=1."
            )
    if ensemble.individualization is not None:
        raise ValueError(
            f"individualization={ensemble.individualization!r} is not available in this version; "
            "use individualization=None: one budget for everyone."
        )


def check_unit(accountant: Any, *, owners: bool) -> None:
    """Check that the budget protects what the partition separates."""
    if owners and accountant.unit != "owner":
        raise ValueError(
            f"owners was given, but the accountant's unit={accountant.unit!r}: all rows of an "
            "owner go to one teacher, so that owners are protected. Use "
            "PrivacyAccountant(..., unit='owner'), or leave owners out."
        )
    if not owners and accountant.unit not in ("row", "label"):
        remedy = {
            "owner": "Pass owners= to fit, one owner id per row",
            "voter": "Give a list of FrozenEstimators, one for each voter",
        }.get(accountant.unit, "Use another unit")
        raise ValueError(
            f"the accountant's unit={accountant.unit!r}, but rows are split one by one. {remedy}, "
            "or use PrivacyAccountant(..., unit='row')."
        )
    if accountant.relation != "replace":
        raise ValueError(
            f"the accountant's relation={accountant.relation!r}: removing a row or an owner is "
            "not what one ballot of this partition bounds. Use "
            "PrivacyAccountant(..., relation='replace')."
        )
