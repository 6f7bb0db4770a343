"""Common checks of mechanisms, and of ensembles on top of scikit-learn's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from secretballot.checks import (
    _ensemble_neighbours,
    _ensemble_release,
    _mechanism_noise,
    _mechanism_release,
)
from secretballot.checks._contract import checks_of, name_checks, run_checks
from secretballot.checks._ensemble_neighbours import BuildEnsemble
from secretballot.checks._mechanism_example import MechanismExample

MECHANISM_CHECKS = (*checks_of(_mechanism_release), *checks_of(_mechanism_noise))
ENSEMBLE_CHECKS = (*checks_of(_ensemble_release), *checks_of(_ensemble_neighbours))


def check_mechanism(example: MechanismExample) -> dict[str, str]:
    """Run all common checks on one mechanism.

    Parameters
    ----------
    example : MechanismExample
        The mechanism, counts to run it on, and neighbouring rows.

    Returns
    -------
    dict of str to str
        Promises that do not apply to this mechanism, and the reasons.

    Raises
    ------
    AssertionError
        If a promise is broken, with its name.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import GNMax
    >>> from secretballot.checks import MechanismExample, check_mechanism
    >>> pair = np.array([[[3.0, 7.0]], [[2.0, 8.0]]])
    >>> check_mechanism(
    ...     MechanismExample(mechanism=GNMax(sigma=1.5), counts=pair[:, 0], neighbours=(pair,))
    ... )
    {}
    """
    return run_checks(MECHANISM_CHECKS, example)


def mechanism_checks(
    examples: Mapping[str, MechanismExample],
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every example and promise.

    A check that does not apply to a mechanism raises `NotApplicable`, which pytest and unittest
    report as a skip.

    Parameters
    ----------
    examples : mapping of str to MechanismExample
        By name.
    """
    return name_checks(MECHANISM_CHECKS, examples)


def check_ensemble(build: BuildEnsemble) -> dict[str, str]:
    """Run all common checks on an ensemble.

    Parameters
    ----------
    build : callable
        Takes an accountant, or None, and returns an unfitted ensemble of six teachers with
        ``classes=[0, 1]``, a student and an integer ``random_state``.

    Returns
    -------
    dict of str to str
        Promises that do not apply to this ensemble, and the reasons.

    Raises
    ------
    AssertionError
        If a promise is broken, with its name.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from secretballot import PrivateTeacherEnsemble
    >>> from secretballot.checks import check_ensemble
    >>> check_ensemble(
    ...     lambda accountant: PrivateTeacherEnsemble(
    ...         GaussianNB(), n_teachers=6, student=GaussianNB(),
    ...         classes=[0, 1], accountant=accountant, random_state=0,
    ...     )
    ... )
    {}
    """
    return run_checks(ENSEMBLE_CHECKS, build)


def ensemble_checks(
    builders: Mapping[str, BuildEnsemble],
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every ensemble and promise.

    Parameters
    ----------
    builders : mapping of str to callable
        By name, functions as `check_ensemble` takes them.
    """
    return name_checks(ENSEMBLE_CHECKS, builders)
