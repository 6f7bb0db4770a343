"""This process and others: its lock, forks, the wait for others, and the delay of Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType
from typing import Any, Self, TypeVar

from secretballot._base._errors import CompletedInterrupt

T = TypeVar("T")

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


class HeldInterrupts:
    """Block of code that delays SIGINT from the call of `hold` to its end.

    Python calls signal handlers in the main thread alone, so other threads delay nothing. At the
    end of the block a delayed signal is raised for the handler that was installed before. If that
    raises KeyboardInterrupt after the block has kept an answer, `CompletedInterrupt` carries it.
    """

    def __init__(self) -> None:
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._came = False
        self._answers: list[Any] = []

    def hold(self) -> None:
        if self._handler or threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        # No function: the system ends the process, or ignores the signal.
        if callable(handler):
            # In this order: an interrupt in between finds the old handler.
            self._handler = handler
            signal.signal(signal.SIGINT, self._notice)

    def keep(self, answer: T) -> T:
        """Return the answer, and keep it for `CompletedInterrupt`."""
        self._answers.append(answer)
        return answer

    def _notice(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is None:
            return
        try:
            signal.signal(signal.SIGINT, self._handler)
            if self._came:
                signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if not self._answers:
                raise
            raise CompletedInterrupt(self._answers[0]) from None
