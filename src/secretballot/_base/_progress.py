"""Progress of long work, reported to a listener if there is one.

A report has the name of a task and counts; never rows, votes or teachers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class ProgressListener(Protocol):
    """Receiver of reports. Tasks end in the reverse order of their beginnings, also on failure."""

    def begin(self, task: ProgressTask) -> None:
        """Receive the beginning of a task."""

    def advance(self, task: ProgressTask) -> None:
        """Receive an advance of a task."""

    def end(self, task: ProgressTask) -> None:
        """Receive the end of a task."""


_LISTENER: ContextVar[ProgressListener | None] = ContextVar("secretballot_progress", default=None)


@contextmanager
def send_progress(listener: ProgressListener) -> Iterator[None]:
    """Report all work of a block, in this thread, to a listener."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class ProgressTask:
    """Context manager for work in equal parts, which reports each part.

    `name` is that of the parts, such as "rows of the game"; `total` is their largest number, `done`
    the number so far, and `start` the time of `time.monotonic` at which the task was made.
    """

    def __init__(self, name: str, total: int, *, silent: bool = False) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self.start = time.monotonic()
        # Listeners divide by the total: a task without parts is not reported.
        self._listener = None if silent or total < 1 else _LISTENER.get()

    def __enter__(self) -> ProgressTask:
        if self._listener is not None:
            self._listener.begin(self)
        return self

    def advance(self, n_parts: int = 1) -> bool:
        """Report more parts as done; return True if another tenth of the task is complete."""
        before, self.done = self.done, self.done + n_parts
        if self._listener is not None:
            self._listener.advance(self)
        total = max(self.total, 1)
        return self.done * 10 // total > before * 10 // total

    def __exit__(self, *_: object) -> None:
        if self._listener is not None:
            self._listener.end(self)


def tracked(parts: Iterable[T], name: str, total: int) -> Iterator[T]:
    """Yield parts of work, and report each as done when the next is requested."""
    with ProgressTask(name, total) as task:
        for part in parts:
            yield part
            task.advance()
