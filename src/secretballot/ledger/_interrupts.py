"""Delay of Ctrl-C during a spend, from the commit until the answer is returned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self, TypeVar

from secretballot._base._errors import CompletedInterrupt

T = TypeVar("T")


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
        """Delay SIGINT from now on."""
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
