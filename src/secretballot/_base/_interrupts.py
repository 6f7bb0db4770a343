"""Ctrl-C around a spend: held back while it is recorded, and raised with the answer."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any, Self, TypeVar, cast

from secretballot._base._errors import CompletedInterrupt

T = TypeVar("T")
R = TypeVar("R")


class HeldInterrupts:
    """Block of code that delays SIGINT from the call of `hold` to its end.

    Python calls signal handlers in the main thread alone, so other threads delay nothing. At the
    end of the block a delayed signal is raised for the handler that was installed before. If that
    raises KeyboardInterrupt after the block has kept an answer, `CompletedInterrupt` carries it.
    """

    def __init__(self) -> None:
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._was_raised, self._is_open = False, False
        self._answers: list[Any] = []

    def hold(self) -> None:
        """Delay SIGINT from here on, in this block and in the block of `completed` around it."""
        enclosing = _ENCLOSING.get()
        if enclosing is not None and enclosing is not self:
            enclosing.hold()
        if (
            not self._is_open
            or self._handler
            or threading.current_thread() is not threading.main_thread()
        ):
            return
        handler = signal.getsignal(signal.SIGINT)
        # SIG_DFL and SIG_IGN are not callable: the system ends the process, or ignores the signal.
        if callable(handler):
            # In this order: an interrupt in between finds the old handler.
            self._handler = handler
            signal.signal(signal.SIGINT, self._notice)

    def keep(self, answer: T) -> T:
        """Return the answer, and keep it for `CompletedInterrupt`."""
        self._answers.append(answer)
        return answer

    def _notice(self, number: int, frame: FrameType | None) -> None:
        self._was_raised = True

    def __enter__(self) -> Self:
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        if self._handler is None:
            return
        try:
            signal.signal(signal.SIGINT, self._handler)
            if self._was_raised:
                signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if not self._answers:
                raise
            raise CompletedInterrupt(self._answers[0]) from None


#: Block of `completed` around a release: it delays SIGINT as soon as the release does.
_ENCLOSING: ContextVar[HeldInterrupts | None] = ContextVar("_ENCLOSING", default=None)


def completed(release: Callable[[], T], result: Callable[[T], R]) -> R:
    """Build an answer from a release; Ctrl-C between its commit and the answer waits."""
    with HeldInterrupts() as interrupts:
        before = _ENCLOSING.get()
        try:
            _ENCLOSING.set(interrupts)
            released = release()
        except CompletedInterrupt as interrupt:
            interrupts.hold()
            answer = interrupts.keep(result(cast("T", interrupt.answer)))
            raise CompletedInterrupt(answer) from None
        finally:
            _ENCLOSING.set(before)
        return interrupts.keep(result(released))
