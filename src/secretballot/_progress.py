"""How far long work is, told to whoever listens; where nobody does, it costs next to nothing.

Told are the names of tasks and counts, nothing else: never rows, votes or teachers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Protocol, TypeVar

T = TypeVar("T")


class Listener(Protocol):
    """Who is told. Tasks end in the reverse order of their beginnings, also where work fails."""

    def begin(self, task: Task) -> None:
        """Hear that a task begins."""

    def advance(self, task: Task) -> None:
        """Hear that more of it is done."""

    def end(self, task: Task) -> None:
        """Hear that it is over."""


_LISTENER: ContextVar[Listener | None] = ContextVar("secretballot_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener told of all work within, in this thread."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class Task:
    """Work in equal parts: a context manager that is told of each part that is done.

    Attributes
    ----------
    name : str
        What is counted: "rows of the game".
    total : int
        How many parts there are at most.
    done : int
        How many are done.
    """

    def __init__(self, name: str, total: int, *, silent: bool = False) -> None:
        self.name = name
        self.total = total
        self.done = 0
        # Of nothing no share is done: who divides by the total would fail.
        self._listener = None if silent or total < 1 else _LISTENER.get()

    def __enter__(self) -> Task:
        if self._listener is not None:
            self._listener.begin(self)
        return self

    def advance(self, n_parts: int = 1) -> bool:
        """Say that more parts are done; returns whether another tenth of the task is."""
        before, self.done = self.done, self.done + n_parts
        if self._listener is not None:
            self._listener.advance(self)
        total = max(self.total, 1)
        return self.done * 10 // total > before * 10 // total

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._listener is not None:
            self._listener.end(self)


def watched(parts: Iterable[T], name: str, total: int) -> Iterator[T]:
    """Yield parts of work; when the next is asked for, the one before is done."""
    with Task(name, total) as task:
        for part in parts:
            yield part
            task.advance()
