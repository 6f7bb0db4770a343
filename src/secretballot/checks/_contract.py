"""How a contract is checked: promise by promise, each kept, broken or not applicable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from unittest import SkipTest

from secretballot.accounting import PrivacyLeakWarning

#: Raises AssertionError where a promise is broken, `NotApplicable` where it says nothing.
Check = Callable[[Any], None]


class NotApplicable(SkipTest):
    """Raised by a check that says nothing about what is checked, with the reason.

    Neither passed nor failed: pytest and unittest report such a check as skipped.
    """


def promise_of(check: Check) -> str:
    """Return the name of the promise that a check is for."""
    return check.__name__.removeprefix("check_")


def run(checks: Sequence[Check], subject: Any) -> dict[str, str]:
    """Run all checks; return why some say nothing, by promise."""
    reasons = {}
    for check in checks:
        try:
            check(subject)
        except NotApplicable as outcome:
            reasons[promise_of(check)] = str(outcome)
    return reasons


def named(
    checks: Sequence[Check], subjects: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every subject and promise."""
    for name, subject in subjects.items():
        for check in checks:
            yield f"{name}-{promise_of(check)}", partial(check, subject)


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
