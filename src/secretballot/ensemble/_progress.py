"""Progress of a fit, printed and told to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """Tasks of one fit: "train teachers", then "label public rows" and "fit student" if any.

    Callbacks get the names of tasks and, as metadata, counts. They are never handed rows, labels
    or teachers, and no teacher is on the estimator while they are called.
    """

    def __init__(self, estimator: Any, n_tasks: int, verbose: int) -> None:
        self._estimator = estimator
        self._verbose = verbose
        self._root = estimator._init_callback_context(task_name="fit", max_subtasks=n_tasks)
        self._root.call_on_fit_task_begin(estimator=estimator)

    def end(self) -> None:
        """Say that the fit is complete."""
        self._root.call_on_fit_task_end(estimator=self._estimator)

    @contextmanager
    def task(self, name: str, n_parts: int = 0) -> Iterator[Task]:
        """Say that a task begins, and that it ended if nothing was raised."""
        context = self._root.subcontext(task_name=name, max_subtasks=n_parts)
        context.call_on_fit_task_begin(estimator=self._estimator)
        task = Task(self, context, n_parts)
        yield task
        context.call_on_fit_task_end(estimator=self._estimator, metadata=task.counts)

    def say(self, text: str) -> None:
        """Print one line if the fit is verbose."""
        if self._verbose:
            print(f"[{type(self._estimator).__name__}] {text}", flush=True)


class Task:
    """One task of a fit, and how much of it is done."""

    def __init__(self, progress: Progress, context: Any, n_parts: int) -> None:
        self._progress = progress
        self._context = context
        self._n_parts = n_parts
        self._done = 0
        self.counts: dict[str, int] = {}

    def advance(self, part: str, n_parts: int) -> None:
        """Say that ``n_parts`` more parts are done."""
        estimator = self._progress._estimator
        for _ in range(n_parts):
            context = self._context.subcontext(task_name=part)
            context.call_on_fit_task_begin(estimator=estimator)
            self._done += 1
            self.counts = {"n_done": self._done, "n_total": self._n_parts}
            context.call_on_fit_task_end(estimator=estimator, metadata=self.counts)
        before = self._done - n_parts
        # A line for every tenth of the task.
        if self._done * 10 // self._n_parts > before * 10 // self._n_parts:
            self._progress.say(f"{part}s: {self._done} of {self._n_parts}")
