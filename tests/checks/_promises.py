"""Promises by their names, and refusals that a promise asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tests._quietly import quietly

from secretballot.testing._mechanism_checks import MECHANISM_CHECKS


def name_checks(
    checks: Sequence[Callable[[Any], None]], subjects: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a name and a check to call, for every subject and promise."""
    for name, subject in subjects.items():
        for check in checks:
            yield f"{name}-{check.__name__.removeprefix('check_')}", partial(check, subject)


def check_promise(promise, example):
    """Raise AssertionError if a mechanism breaks a promise, by the name of its check."""
    dict(name_checks(MECHANISM_CHECKS, {"example": example}))[f"example-{promise}"]()


def expect_refusal(expected, promise, call, *args, **kwargs):
    """Return the message of a refusal; AssertionError if the call is not refused."""
    try:
        quietly(call, *args, **kwargs)
    except expected as error:
        return str(error)
    raise AssertionError(promise)
