"""The one place for scikit-learn's private names and for what depends on its version."""

from __future__ import annotations

from typing import Any

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _num_samples

try:
    # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        """Stands in for a callback context: nobody listens."""

        def subcontext(self, **kwargs: Any) -> _NoContext:
            return self

        def call_on_fit_task_begin(self, **kwargs: Any) -> _NoContext:
            return self

        def call_on_fit_task_end(self, **kwargs: Any) -> bool:
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Without callbacks there is no `set_callbacks` either."""

        def _init_callback_context(self, **kwargs: Any) -> _NoContext:
            return _NoContext()

    def with_callbacks(method: Any) -> Any:
        return method


def drop_callbacks(estimator: Any) -> list[str]:
    """Take the callbacks off an estimator and the estimators in its parameters.

    Returns the names of the callbacks' classes.
    """
    dropped = []
    for part in (estimator, *estimator.get_params(deep=True).values()):
        # Its own attributes only: a frozen estimator passes on those of another one.
        if not isinstance(part, type) and "_skl_callbacks" in getattr(part, "__dict__", ()):
            dropped += [type(callback).__name__ for callback in vars(part).pop("_skl_callbacks")]
    return dropped


def unfitted(estimator: Any) -> Any:
    """Return an estimator with the same parameters and callbacks, and nothing that was fitted."""
    alike = type(estimator)(**estimator.get_params(deep=False))
    if "_skl_callbacks" in vars(estimator):
        alike._skl_callbacks = estimator._skl_callbacks
    return alike


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "_fit_context",
    "_num_samples",
    "_safe_indexing",
    "drop_callbacks",
    "unfitted",
    "with_callbacks",
]
