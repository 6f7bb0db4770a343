"""Teachers: one model per shard of the private data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from secretballot._sklearn_compat import _safe_indexing
from secretballot.ensemble._ballots import ConstantTeacher, told
from secretballot.ensemble._label_model import fit_labels
from secretballot.ensemble._partition import Shards
from secretballot.ensemble._randomness import Randomness, seed_estimator
from secretballot.ensemble._target import as_target
from secretballot.ensemble._votes import Counted, batches, count_by_group, run_tasks
from secretballot.mechanisms import Counting
from secretballot.schema import copy_rows


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


def train_teacher(estimator: Any, shard: Shard, classes: Any) -> Any:
    """Train on one shard, by a rule that is public and the same for every teacher.

    A shard with one class, or one set of labels, votes for it, an empty one by the teacher's
    number, and so does a teacher that can't be trained: all of them count, whatever they saw.
    """
    failure = ""
    if len(shard.y):
        if (shard.y == shard.y[0]).all():
            return ConstantTeacher(shard.y[:1])
        try:
            teacher = clone(estimator)
            seed_estimator(teacher, shard.stream)
            if shard.y.ndim == 1:
                return teacher.fit(shard.X, shard.y)
            return fit_labels(teacher, shard.X, shard.y, np.ones(shard.y.shape, dtype=bool))
        except MemoryError:
            raise
        except Exception as error:
            failure = told(error)
    return ConstantTeacher(as_target(classes).by_rule(shard.index), failure)


def train_batch(
    estimator: Any, batch: list[Shard], classes: Any, X_public: Any, counting: Counting
) -> Trained:
    """Train some teachers and let them vote while they are where they were trained."""
    teachers = {shard.index: train_teacher(estimator, shard, classes) for shard in batch}
    groups = [shard.group for shard in batch]
    return Trained(teachers, count_by_group(teachers, groups, X_public, classes, counting))


def train_teachers(
    estimator: Any,
    X: Any,
    y: Any,
    shards: Shards,
    groups: Sequence[str],
    classes: Any,
    randomness: Randomness,
    X_public: Any,
    counting: Counting,
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
                    copy_rows(_safe_indexing(X, shards[index])),
                    _labels(y, shards[index]),
                    randomness.teacher(index),
                )
                for index in batch
            ],
            classes,
            X_public,
            counting,
        )
        for batch in batches(len(shards), n_jobs)
    )
    return run_tasks(train_batch, tasks, n_jobs=n_jobs)


def _labels(y: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Labels of one shard; sparse ones are made dense here, and nowhere as a whole."""
    return y[rows].toarray().astype(np.int64) if issparse(y) else y[rows]
