"""Votes of many teachers, counted in parallel."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from numpy.typing import NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._view import visible
from secretballot.costs._groups import EVERYONE
from secretballot.ensemble._estimator_types import Classes, Rows, Teacher
from secretballot.ensemble._teacher_ballots import Failures, ballots, training_failure
from secretballot.mechanisms._counting import Counting
from secretballot.tables._tasks import batches, run_tasks

Votes = NDArray[Any]
GroupVotes = dict[str, Votes]


class BatchVotes(NamedTuple):
    """Votes of some teachers by privacy group, their failures, and those trained in the task."""

    votes: GroupVotes
    failures: Failures
    n_teachers: int
    trained: Mapping[int, Teacher]
    caught: TeacherWarnings


class TeacherWarnings:
    """Warnings of teachers, in training or when they vote. Private: they depend on rows.

    A hundred teachers would warn of the same a hundred times. Filters of warnings apply as usual.
    """

    def __init__(self) -> None:
        #: The first text of each teacher that warned, by category and the teacher's number.
        self._texts: dict[type[Warning], dict[int, str]] = {}

    @contextmanager
    def of_teacher(self, index: int) -> Iterator[None]:
        """Catch the warnings of one teacher.

        Threads share what is caught, so only a main thread catches any. (Workers are processes.)
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with warnings.catch_warnings(record=True) as caught:
            yield
        for caught_warning in caught:
            self._texts.setdefault(caught_warning.category, {}).setdefault(
                index, str(caught_warning.message)
            )

    def add(self, other: TeacherWarnings) -> None:
        for category, texts in other._texts.items():
            self._texts.setdefault(category, {}).update(texts)

    def drop_texts(self) -> None:
        """Drop what warnings said, which may quote private values, but for their numbers."""
        for texts in self._texts.values():
            texts.update(dict.fromkeys(texts, "a text that is withheld, as it may quote rows"))

    def warn_once(self, n_teachers: int) -> None:
        for category, texts in self._texts.items():
            first = min(texts)
            text = visible(" ".join(texts[first].split()))
            warn(
                f"{len(texts)} of {n_teachers} teachers warned. {NOT_FOR_PUBLICATION} Teacher "
                f"{first} said: {text}",
                category,
            )


def count_by_group(
    teachers: Mapping[int, Teacher],
    groups: Sequence[str],
    X: Rows | None,
    classes: Classes,
    counting: Counting,
    *,
    trained: bool = False,
    caught: TeacherWarnings | None = None,
) -> BatchVotes:
    """Count the votes of some teachers, one teacher at a time; without rows, only failures."""
    failures, caught = Failures(), TeacherWarnings() if caught is None else caught
    votes: GroupVotes = {}
    for (index, teacher), group in zip(teachers.items(), groups, strict=True):
        if X is None:
            failures += training_failure(teacher, index)
            continue
        with caught.of_teacher(index):
            codes, failure = ballots(teacher, X, classes, index, counting)
        if group in votes:
            votes[group] = counting.add(votes[group], codes)
        else:
            votes[group] = counting.begin(codes, len(teachers))
        failures += failure
    return BatchVotes(votes, failures, len(teachers), teachers if trained else {}, caught)


class GroupTally:
    """Votes by privacy group, added up in any order; weights are applied later."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self.votes: GroupVotes = {}
        self.failures = Failures()
        self.caught = TeacherWarnings()
        self.trained: dict[int, Teacher] = {}

    def add_up(
        self, votes: Iterable[BatchVotes], on_batch: Callable[[int], None] | None = None
    ) -> GroupTally:
        """Add the votes of batches; `on_batch` is called with the size of each."""
        for batch in votes:
            self.failures += batch.failures
            self.caught.add(batch.caught)
            self.trained.update(batch.trained)
            for group, group_votes in batch.votes.items():
                self.votes[group] = self._counting.join(self.votes.get(group), group_votes)
            if on_batch is not None:
                on_batch(batch.n_teachers)
        return self


def ask(
    teachers: Sequence[Teacher],
    X: Rows | None,
    classes: Classes,
    counting: Counting,
    n_jobs: int | None,
    groups: Sequence[str] | None = None,
) -> Iterator[BatchVotes]:
    """Yield the votes of all teachers in batches."""
    group_of = [EVERYONE] * len(teachers) if groups is None else groups
    tasks = (
        (
            {index: teachers[index] for index in batch},
            [group_of[index] for index in batch],
            X,
            classes,
            counting,
        )
        for batch in batches(len(teachers), n_jobs)
    )
    return run_tasks(count_by_group, tasks, n_jobs=n_jobs)
