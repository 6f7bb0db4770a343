"""Votes of many teachers, counted in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from secretballot.divergences import EVERYONE
from secretballot.ensemble._estimator_types import Classes, Rows, Teacher
from secretballot.ensemble._target import as_target
from secretballot.ensemble._teacher_ballots import Failures, ballots, training_failure
from secretballot.mechanisms import Counting

Votes = NDArray[Any]
GroupVotes = dict[str, Votes]


class BatchVotes(NamedTuple):
    """Votes of some teachers by privacy group, their failures, and those trained in the task."""

    votes: GroupVotes
    failures: Failures
    n_teachers: int
    trained: Mapping[int, Teacher]


def count_by_group(
    teachers: Mapping[int, Teacher],
    groups: Sequence[str],
    X: Rows | None,
    classes: Classes,
    counting: Counting,
    *,
    trained: bool = False,
) -> BatchVotes:
    """Count the votes of some teachers, one teacher at a time; without rows, only failures.

    Teachers that were `trained` in the same process are returned with their votes.
    """
    failures = Failures()
    votes: GroupVotes = {}
    for (index, teacher), group in zip(teachers.items(), groups, strict=True):
        if X is None:
            failures += training_failure(teacher, index)
            continue
        codes, failure = ballots(teacher, X, classes, index, counting)
        if group in votes:
            votes[group] = counting.add(votes[group], codes)
        else:
            votes[group] = counting.begin(codes, len(teachers))
        failures += failure
    return BatchVotes(votes, failures, len(teachers), teachers if trained else {})


class GroupTally:
    """Votes by privacy group, added up in any order; weights are applied later."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self.votes: GroupVotes = {}
        self.failures = Failures()
        self.trained: dict[int, Teacher] = {}

    def add_up(
        self, votes: Iterable[BatchVotes], on_batch: Callable[[int], None] | None = None
    ) -> GroupTally:
        """Add the votes of batches; `on_batch` is called with the size of each."""
        for batch in votes:
            self.failures += batch.failures
            self.trained.update(batch.trained)
            for group, group_votes in batch.votes.items():
                self.votes[group] = self._counting.join(self.votes.get(group), group_votes)
            if on_batch is not None:
                on_batch(batch.n_teachers)
        return self


def collect_votes(
    teachers: Sequence[Teacher],
    X: Rows,
    classes: Classes,
    n_jobs: int | None,
    groups: Sequence[str] | None = None,
    counting: Counting | None = None,
) -> GroupVotes:
    """Return the votes of all teachers by group, counted in parallel; one group for None."""
    counting = counting or as_target(classes).counting
    return GroupTally(counting).add_up(ask(teachers, X, classes, counting, n_jobs, groups)).votes


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


def batches(n_teachers: int, n_jobs: int | None) -> list[range]:
    """Divide the teachers into batches: few, as each is sent the public rows, but of like size."""
    workers = effective_n_jobs(n_jobs)
    size = 1 if workers == 1 else max(1, n_teachers // (16 * workers))
    return [range(start, min(start + size, n_teachers)) for start in range(0, n_teachers, size)]


def run_tasks(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None
) -> Iterator[Any]:
    """Yield the results of ``function(*task)`` in the order in which they arrive.

    Workers are processes, unless the caller configures joblib otherwise: scikit-learn sets warning
    filters anew for every task, also inside of forests, and threads share these filters.
    """
    backend, _ = get_active_backend()
    as_generator = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if as_generator else "list")
    return iter(parallel(delayed(function)(*task) for task in tasks))
