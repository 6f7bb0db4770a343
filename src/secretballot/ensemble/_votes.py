"""Ballots, the votes they add up to, and the work on many teachers at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from secretballot._sklearn_compat import _num_samples
from secretballot.divergences import EVERYONE
from secretballot.ensemble._classes import encode

Votes = NDArray[np.integer[Any]]
GroupVotes = dict[str, Votes]


def ballots(teacher: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Position in ``classes`` of the class that one teacher votes for, row by row."""
    labels = np.asarray(teacher.predict(X))
    if labels.shape != (_num_samples(X),):
        raise ValueError(
            f"estimator.predict gave an array of shape {labels.shape} for {_num_samples(X)} rows; "
            "a teacher must give one class label per row."
        )
    return encode(labels, classes, "a teacher's predictions")


def count_votes(teachers: Sequence[Any], X: Any, classes: NDArray[Any]) -> Votes:
    """Votes of some teachers, shape (n_queries, n_classes), counted one teacher at a time."""
    # The smallest type that can't overflow: many such parts may wait to be added up.
    votes = np.zeros((_num_samples(X), len(classes)), dtype=np.min_scalar_type(len(teachers)))
    rows = np.arange(len(votes))
    for teacher in teachers:
        # One ballot per row: no row is met twice.
        votes[rows, ballots(teacher, X, classes)] += 1
    return votes


def count_by_group(
    teachers: Sequence[Any], groups: Sequence[str], X: Any, classes: NDArray[Any]
) -> GroupVotes:
    """Votes of some teachers, counted for each group of them."""
    return {
        group: count_votes(
            [teacher for teacher, of in zip(teachers, groups, strict=True) if of == group],
            X,
            classes,
        )
        for group in dict.fromkeys(groups)
    }


class Tally:
    """Votes by group of teachers, added up as they arrive.

    Whole numbers until all are in: weights come last, so that the order doesn't matter.
    """

    def __init__(self) -> None:
        self.votes: GroupVotes = {}

    def add(self, counted: GroupVotes) -> None:
        """Add the votes of some teachers."""
        for group, votes in counted.items():
            if group in self.votes:
                self.votes[group] += votes
            else:
                self.votes[group] = votes.astype(np.int64)


def collect_votes(
    teachers: Sequence[Any],
    X: Any,
    classes: NDArray[Any],
    n_jobs: int | None,
    groups: Sequence[str] | None = None,
) -> GroupVotes:
    """Votes of all teachers by group, counted in parallel; all are of one group if None."""
    of = [EVERYONE] * len(teachers) if groups is None else groups
    tasks = (
        ([teachers[index] for index in batch], [of[index] for index in batch], X, classes)
        for batch in batches(len(teachers), n_jobs)
    )
    tally = Tally()
    # Threads: sending fitted teachers to other processes costs more than asking them.
    for counted in run_tasks(count_by_group, tasks, n_jobs=n_jobs, prefer="threads"):
        tally.add(counted)
    return tally.votes


def batches(n_teachers: int, n_jobs: int | None) -> list[range]:
    """Teachers that are worked on together.

    What all teachers share (the public rows) is sent once per batch, so there should be few; but
    enough that all workers end at about the same time.
    """
    workers = effective_n_jobs(n_jobs)
    size = 1 if workers == 1 else max(1, n_teachers // (16 * workers))
    return [range(start, min(start + size, n_teachers)) for start in range(0, n_teachers, size)]


def run_tasks(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    n_jobs: int | None,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Results of ``function(*task)`` as they arrive, in any order, so that none has to wait."""
    backend, _ = get_active_backend(prefer=prefer)
    arrives = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(
        n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered" if arrives else "list"
    )
    return iter(parallel(delayed(function)(*task) for task in tasks))
