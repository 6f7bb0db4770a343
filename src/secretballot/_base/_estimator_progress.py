"""Progress of an estimator: printed, and sent to scikit-learn's callbacks and to a listener."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from secretballot._base._errors import warn
from secretballot._base._progress import ProgressTask


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
        """Report the end of the method."""
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
        """Print one line if the estimator is verbose."""
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
