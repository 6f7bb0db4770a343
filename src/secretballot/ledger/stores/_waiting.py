"""Lock of a process, and the wait for other processes that use a ledger."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

#: Seconds to wait for another process that is spending, and to wait for a display.
BUSY_TIMEOUT = 60.0
SHOWN_TIMEOUT = 2.0

_SHOWING: ContextVar[bool] = ContextVar("secretballot_showing", default=False)


@contextmanager
def showing() -> Iterator[None]:
    """Shorten the wait for locks within a block, so that a display does not hang."""
    token = _SHOWING.set(True)
    try:
        yield
    finally:
        _SHOWING.reset(token)


def busy_timeout() -> float:
    """Return the seconds to wait for another process."""
    return min(SHOWN_TIMEOUT, BUSY_TIMEOUT) if _SHOWING.get() else BUSY_TIMEOUT


# One transaction at a time in a process: threads queue here instead of polling the file, and a
# fork waits until no connection is open, because a child must not inherit locks.
PROCESS_LOCK = threading.RLock()


def _after_fork_in_parent() -> None:
    # Ctrl-C may have ended the wait for the lock; Python forks all the same.
    with suppress(RuntimeError):
        PROCESS_LOCK.release()


def _after_fork_in_child() -> None:
    try:
        PROCESS_LOCK.release()
    except RuntimeError:
        # A thread of the parent holds it, which the child does not have.
        PROCESS_LOCK._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=PROCESS_LOCK.acquire,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
