"""Progress of long work, reported to a listener, and of estimators, to callbacks as well.

A report has the name of a task and counts; never rows, votes or teachers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from secretballot._base._errors import warn

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
    """Context manager for work in `total` equal parts, which reports each part.

    `name` is that of the parts; `start` is the time of `time.monotonic` when it was made.
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


class _Context(Protocol):
    """Callback context of scikit-learn."""

    def subcontext(self, *, task_name: str, max_subtasks: int | None = ...) -> _Context: ...
    def call_on_fit_task_begin(self, *, estimator: object) -> object: ...
    def call_on_fit_task_end(self, *, estimator: object, metadata: object = ...) -> object: ...


class _EstimatorWithCallbacks(Protocol):
    def _init_callback_context(self, *, task_name: str, max_subtasks: int) -> _Context: ...


class Progress:
    """Tasks of one method, such as "train teachers", then "label public rows" and "fit student".

    Callbacks get the names of tasks and, as metadata, counts. They never get rows, labels or
    teachers, and the estimator has no teacher while they are called. After a payment, an error of
    a callback does not end the fit: it becomes a warning at the end.
    """

    def __init__(
        self, estimator: _EstimatorWithCallbacks, name: str, n_tasks: int, verbose: int = 0
    ) -> None:
        self._estimator = estimator
        self._verbose = verbose
        # Callbacks draw their own bars.
        self.silent = bool(getattr(estimator, "_skl_callbacks", ()))
        self._paid = False
        self._failure: Exception | None = None
        self._root = estimator._init_callback_context(task_name=name, max_subtasks=n_tasks)
        self._root.call_on_fit_task_begin(estimator=estimator)

    def paid(self) -> None:
        """Continue from here despite errors of callbacks."""
        self._paid = True

    def end(self) -> None:
        with self._reporting():
            self._root.call_on_fit_task_end(estimator=self._estimator)
        if self._failure is not None:
            warn(
                "the fit went on, as it was paid for, but a report of its progress failed: "
                f"{type(self._failure).__name__}: {self._failure}"
            )

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # A warning is raised only where the user turned it into an error.
            if not self._paid or isinstance(error, Warning):
                raise
            self._failure = self._failure or error

    @contextmanager
    def task(self, name: str, n_parts: int = 0) -> Iterator[EstimatorTask]:
        """Report the beginning of a task, and its end unless it raises."""
        context = self._root.subcontext(task_name=name, max_subtasks=n_parts)
        with self._reporting():
            context.call_on_fit_task_begin(estimator=self._estimator)
        with ProgressTask(name, n_parts or 1, silent=self.silent or not n_parts) as work:
            task = EstimatorTask(self, context, work)
            yield task
        with self._reporting():
            context.call_on_fit_task_end(estimator=self._estimator, metadata=task.counts)

    def say(self, text: str) -> None:
        if self._verbose:
            print(f"[{type(self._estimator).__name__}] {text}", flush=True)


class EstimatorTask:
    """Task of a method, reported to callbacks and to a listener, with the number of parts done."""

    def __init__(self, progress: Progress, context: _Context, work: ProgressTask) -> None:
        self._progress, self._context, self._work = progress, context, work
        self.counts: dict[str, int] = {}

    def advance(self, part: str, n_parts: int = 1) -> None:
        """Report ``n_parts`` more parts as done, and print a line for every tenth."""
        estimator, work = self._progress._estimator, self._work
        with self._progress._reporting():
            for n_done in range(work.done + 1, work.done + n_parts + 1):
                context = self._context.subcontext(task_name=part)
                context.call_on_fit_task_begin(estimator=estimator)
                self.counts = {"n_done": n_done, "n_total": work.total}
                context.call_on_fit_task_end(estimator=estimator, metadata=self.counts)
            if work.advance(n_parts):
                self._progress.say(f"{part}s: {work.done} of {work.total}")
