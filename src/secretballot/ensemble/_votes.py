"""Ballots, and the votes they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._sklearn_compat import _num_samples
from secretballot.ensemble._classes import encode
from secretballot.ensemble._tasks import batches, run_tasks

Votes = NDArray[np.integer[Any]]


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


def no_votes(X: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Counts to add votes to."""
    return np.zeros((_num_samples(X), len(classes)), dtype=np.int64)


def collect_votes(
    teachers: Sequence[Any], X: Any, classes: NDArray[Any], n_jobs: int | None
) -> Votes:
    """Votes of all teachers, counted in parallel."""
    tasks = (
        ([teachers[index] for index in batch], X, classes)
        for batch in batches(len(teachers), n_jobs)
    )
    votes = no_votes(X, classes)
    # Threads: sending fitted teachers to other processes costs more than asking them.
    for counted in run_tasks(count_votes, tasks, n_jobs=n_jobs, prefer="threads"):
        votes += counted
    return votes
