"""Teachers: one model per shard of the private data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from secretballot._sklearn_compat import _safe_indexing
from secretballot.ensemble._ballots import ConstantTeacher, by_rule, told
from secretballot.ensemble._partition import Shards
from secretballot.ensemble._randomness import Randomness, seed_estimator
from secretballot.ensemble._votes import Counted, batches, count_by_group, run_tasks


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
    counted: Counted


def train_teacher(estimator: Any, shard: Shard, classes: NDArray[Any]) -> Any:
    """Train on one shard, by a rule that is public and the same for every teacher.

    A shard with one class votes for it, an empty one for the class of the teacher's number, and so
    does a teacher that can't be trained: all of them count, whatever they saw.
    """
    failure = ""
    if len(shard.y):
        if (shard.y == shard.y[0]).all():
            return ConstantTeacher(shard.y[:1])
        try:
            teacher = clone(estimator)
            seed_estimator(teacher, shard.stream)
            return teacher.fit(shard.X, shard.y)
        except MemoryError:
            raise
        except Exception as error:
            failure = told(error)
    at = by_rule(shard.index, len(classes))
    return ConstantTeacher(classes[at : at + 1], failure)


def train_batch(
    estimator: Any, batch: list[Shard], classes: NDArray[Any], X_public: Any
) -> Trained:
    """Train some teachers and let them vote while they are where they were trained."""
    teachers = {shard.index: train_teacher(estimator, shard, classes) for shard in batch}
    groups = [shard.group for shard in batch]
    return Trained(teachers, count_by_group(teachers, groups, X_public, classes))


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
