"""Teachers: one model per shard of the private data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.ensemble._partition import Shards
from secretballot.ensemble._randomness import Randomness, seed_estimator
from secretballot.ensemble._votes import GroupVotes, batches, count_by_group, run_tasks


class ConstantTeacher:
    """A teacher that saw one class, or nothing, and votes for one class whatever it is asked."""

    def __init__(self, label: NDArray[Any]) -> None:
        self.label = label

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the one class for each row."""
        return np.repeat(self.label, _num_samples(X))


class Shard(NamedTuple):
    """The private rows of one teacher and the randomness it trains with."""

    index: int
    group: str
    X: Any
    y: NDArray[Any]
    stream: np.random.SeedSequence


class Trained(NamedTuple):
    """Some teachers by index, and their votes on the public rows if there were any."""

    teachers: dict[int, Any]
    votes: GroupVotes


def train_teacher(estimator: Any, shard: Shard, classes: NDArray[Any]) -> Any:
    """Train on one shard, by a rule that is public and the same for every teacher.

    A shard with one class votes for it, an empty one for the class of the teacher's number: all
    teachers count, whatever they saw.
    """
    if len(shard.y) == 0:
        at = shard.index % len(classes)
        return ConstantTeacher(classes[at : at + 1])
    if (shard.y == shard.y[0]).all():
        _check_accepted(estimator, shard.X, classes)
        return ConstantTeacher(shard.y[:1])
    teacher = clone(estimator)
    seed_estimator(teacher, shard.stream)
    return teacher.fit(shard.X, shard.y)


def _check_accepted(estimator: Any, X: Any, classes: NDArray[Any]) -> None:
    """Raise what the estimator raises for values it refuses, though nothing is to be learned."""
    try:
        check_array(X, accept_sparse=True, dtype="numeric")
    except (TypeError, ValueError):
        # Missing values, texts, categories: only the estimator knows. It is asked with made-up
        # labels, every row once in each of two classes.
        rows = np.tile(np.arange(_num_samples(X)), 2)
        clone(estimator).fit(_safe_indexing(X, rows), np.repeat(classes[:2], len(rows) // 2))


def train_batch(
    estimator: Any, batch: list[Shard], classes: NDArray[Any], X_public: Any
) -> Trained:
    """Train some teachers and let them vote while they are where they were trained."""
    teachers = {shard.index: train_teacher(estimator, shard, classes) for shard in batch}
    if X_public is None:
        return Trained(teachers, {})
    groups = [shard.group for shard in batch]
    return Trained(teachers, count_by_group(list(teachers.values()), groups, X_public, classes))


def train_teachers(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    shards: Shards,
    groups: Sequence[str],
    classes: NDArray[Any],
    randomness: Randomness,
    X_public: Any,
    n_jobs: int | None,
) -> Iterator[Trained]:
    """Train all teachers, some at a time, each on rows cut out here: workers see only shards."""
    tasks = (
        (
            estimator,
            [
                Shard(
                    index,
                    groups[index],
                    _safe_indexing(X, shards[index]),
                    y[shards[index]],
                    randomness.teacher(index),
                )
                for index in batch
            ],
            classes,
            X_public,
        )
        for batch in batches(len(shards), n_jobs)
    )
    return run_tasks(train_batch, tasks, n_jobs=n_jobs)
