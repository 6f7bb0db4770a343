"""Ctrl-C during a spend: held back from the commit until the answer is returned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from secretballot._errors import CompletedInterrupt

T = TypeVar("T")


class HeldInterrupts:
    """A block of code in which SIGINT is held back from `hold` to its end.

    Python calls signal handlers in the main thread alone, so nothing is held in other threads. A
    signal that came meanwhile is raised again at the end of the block, for the handler that was
    installed before: it is never lost. If that raises KeyboardInterrupt after the block has kept an
    answer, `CompletedInterrupt` carries the answer.
    """

    def __init__(self) -> None:
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._came = False
        self._answers: list[Any] = []

    def hold(self) -> None:
        """Hold SIGINT back from now on."""
        if self._handler or threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        # Where the system ends the process, or ignores the signal, there is nothing to hold back.
        if callable(handler):
            # In this order: an interrupt in between finds the handler as it was.
            self._handler = handler
            signal.signal(signal.SIGINT, self._notice)

    def keep(self, answer: T) -> T:
        """Return the answer of the block, which is not lost if a signal came."""
        self._answers.append(answer)
        return answer

    def _notice(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
