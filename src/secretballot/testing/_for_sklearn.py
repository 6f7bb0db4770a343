"""Estimators that scikit-learn's own checks can fit with rows and labels alone."""

from __future__ import annotations

from typing import Any, TypeVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.mechanisms._noisy_max import GNMax
from secretballot.tables._public_data import PublicData
from secretballot.testing._mechanism_checks import quietly

E = TypeVar("E", bound=BaseEstimator)

#: Epsilon of the whole budget, and of one fit: almost no noise, for thousands of fits.
_BUDGET, _FIT = 1e12, 1e5
#: Bounds of all targets of scikit-learn's checks.
_TARGETS = (-300.0, 300.0)


def for_sklearn(estimator: E) -> E:
    """Return a copy that scikit-learn's `check_estimator` can fit with ``fit(X, y)``.

    scikit-learn's checks know neither budgets nor public rows. The copy has a budget of its own
    with almost no noise, and a seed, so that no check is left out because of random results. What
    `fit` needs besides is given to it: private rows take the place of public ones, unless `bounds`
    are declared, or an ensemble has no student. Other parameters that are set already are kept; the
    accountant is not, and nothing is spent of it.

    Parameters
    ----------
    estimator : estimator
        `PrivateLogisticRegression`, `PrivateLinearRegression` or `PrivateTeacherEnsemble`, or an
        estimator of yours that is derived from one.

    Returns
    -------
    estimator
        Unfitted, of a class derived from that of `estimator`. It is for checks alone.

    Examples
    --------
    >>> from sklearn.utils.estimator_checks import estimator_checks_generator
    >>> from secretballot import PrivateLogisticRegression
    >>> from secretballot.testing import for_sklearn
    >>> model = for_sklearn(PrivateLogisticRegression())
    >>> checks = list(estimator_checks_generator(model))
    >>> len(checks) > 40
    True
    >>> estimator, check = checks[0]
    >>> check(estimator)

    All of them at once are ``check_estimator(model)``, and a test for each
    ``parametrize_with_checks([model])``. Leave `classes` out: the checks have labels of many kinds,
    and other ones are refused. Without them fits warn, as they should.
    """
    copy = clone(estimator)
    parameters = copy.get_params(deep=False)
    noise = {"mechanism": GNMax(sigma=0.1)} if "mechanism" in parameters else {"epsilon": _FIT}
    defaults = {"target_bounds": _TARGETS, "random_state": 0, **noise}
    missing = {name for name in defaults.keys() & parameters if parameters[name] is None}
    budget = quietly(PrivacyAccountant, epsilon=_BUDGET, delta=1e-5)
    payment = {"accountant": budget, "reservation": None}
    copy.set_params(
        **{name: defaults[name] for name in missing},
        **{name: payment[name] for name in payment.keys() & parameters},
    )
    checked: E = _class_of(type(copy))(**copy.get_params(deep=False))
    return checked


#: Classes that were made, by the kind of estimator.
_classes: dict[type[BaseEstimator], Any] = {}


class _OnItself:
    """Mixin that takes private rows for public ones, where `fit` needs some."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        bounded = getattr(self, "bounds", None) is not None
        silent = hasattr(self, "student") and self.student is None
        none = X is None or bounded or silent
        pool = None if none else PublicData(X, may_be_private=True)
        return super().fit(X, y, X_public=pool)  # type: ignore[misc]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self).__mro__[2],), self.__getstate__()


def _class_of(kind: type[E]) -> type[E]:
    if kind not in _classes:
        _classes[kind] = type(kind.__name__, (_OnItself, kind), {"__doc__": kind.__doc__})
    subclass: type[E] = _classes[kind]
    return subclass


def _unpickled(kind: type[E]) -> E:
    return object.__new__(_class_of(kind))
