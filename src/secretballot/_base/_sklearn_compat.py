"""Private names of scikit-learn, and differences between its versions."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TypeVar

from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)
from sklearn.utils.validation import _check_monotonic_cst, _num_samples

from secretballot._base._numbers import quoted

Method = TypeVar("Method", bound=Callable[..., object])

#: Constraint of the parameter `n_jobs`: joblib takes no 0.
N_JOBS: list[object] = [
    Interval(Integral, None, -1, closed="right"),
    Interval(Integral, 1, None, closed="left"),
    None,
]

try:
    # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        """Callback context without callbacks."""

        def subcontext(self, **kwargs: object) -> _NoContext:
            return self

        def call_on_fit_task_begin(self, **kwargs: object) -> _NoContext:
            return self

        def call_on_fit_task_end(self, **kwargs: object) -> bool:
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Mixin without `set_callbacks`, for versions without callbacks."""

        def _init_callback_context(self, **kwargs: object) -> _NoContext:
            return _NoContext()

    def with_callbacks(method: Method) -> Method:
        return method


def drop_callbacks(estimator: BaseEstimator) -> list[str]:
    """Remove the callbacks of an estimator and of its parameters; return their class names."""
    dropped = []
    for part in (estimator, *estimator.get_params(deep=True).values()):
        # Its own attributes only: a frozen estimator passes on those of another one.
        if not isinstance(part, type) and "_skl_callbacks" in getattr(part, "__dict__", ()):
            dropped += [type(callback).__name__ for callback in vars(part).pop("_skl_callbacks")]
    return dropped


class ShortParameterErrors:
    """Mixin: errors of parameters that quote no table."""

    def _validate_params(self) -> None:
        try:
            super()._validate_params()  # type: ignore[misc]
        except InvalidParameterError as error:
            text, end, _ = str(error).partition(" Got ")
            name = text.split("'")[1] if end else ""
            value = getattr(self, name, None)
            raise type(error)(f"{text} Got {quoted(value)} instead." if end else text) from None


def unfitted(estimator: BaseEstimator) -> BaseEstimator:
    """Copy an estimator with its parameters and callbacks, without fitted attributes."""
    alike = type(estimator)(**estimator.get_params(deep=False))
    if "_skl_callbacks" in vars(estimator):
        alike._skl_callbacks = estimator._skl_callbacks
    return alike


__all__ = [
    "N_JOBS",
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "ShortParameterErrors",
    "StrOptions",
    "_check_monotonic_cst",
    "_fit_context",
    "_num_samples",
    "_safe_indexing",
    "drop_callbacks",
    "unfitted",
    "with_callbacks",
]
