"""How the checks call what they check."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from secretballot.accounting import PrivacyLeakWarning


def quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call without warnings: checks are seeded, and their runs may end early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        warnings.simplefilter("ignore", UserWarning)
        return call(*args, **kwargs)


def refused(
    expected: type[Exception] | tuple[type[Exception], ...],
    promise: str,
    call: Callable[..., Any],
    *args: Any,
    **kwargs: Any,
) -> str:
    """Return what the refusal says; AssertionError if the call is not refused."""
    try:
        quietly(call, *args, **kwargs)
    except expected as error:
        return str(error)
    raise AssertionError(promise)
