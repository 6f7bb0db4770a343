"""Running of checks: each promise is kept, broken or not applicable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, ParamSpec, TypeVar
from unittest import SkipTest

#: Raises AssertionError if a promise is broken, `NotApplicable` if it does not apply.
Check = Callable[[Any], None]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class NotApplicable(SkipTest):
    """Raised by a check that does not apply, with the reason; pytest reports it as skipped."""


def checks_of(module: ModuleType) -> tuple[Check, ...]:
    """List the checks that a module defines: its own functions named ``check_...``."""
    return tuple(
        value
        for name, value in vars(module).items()
        if name.startswith("check_") and value.__module__ == module.__name__
    )


def run_checks(checks: Sequence[Callable[[S], None]], subject: S) -> dict[str, str]:
    """Run all checks; return the reasons of those that do not apply, by promise."""
    reasons = {}
    for check in checks:
        try:
            check(subject)
        except NotApplicable as outcome:
            reasons[_promise(check)] = str(outcome)
    return reasons


def name_checks(
    checks: Sequence[Callable[[S], None]], subjects: Mapping[str, S]
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every subject and promise."""
    for name, subject in subjects.items():
        for check in checks:
            yield f"{name}-{_promise(check)}", partial(check, subject)


def quietly(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call without warnings: checks are seeded, and their runs may end early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PrivacyLeakWarning is one
        return call(*args, **kwargs)


def expect_refusal(
    expected: type[Exception] | tuple[type[Exception], ...],
    promise: str,
    call: Callable[P, Any],
    *args: P.args,
    **kwargs: P.kwargs,
) -> str:
    """Return the message of a refusal; AssertionError if the call is not refused."""
    try:
        quietly(call, *args, **kwargs)
    except expected as error:
        return str(error)
    raise AssertionError(promise)


def _promise(check: Check) -> str:
    return getattr(check, "__name__", "").removeprefix("check_")
