"""Teachers in files beside the rows that they were trained on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib

from secretballot._base._files import PrivateFolder
from secretballot.ensemble._estimator_types import Classes, Rows
from secretballot.ensemble._teachers import Shard
from secretballot.ensemble._votes import BatchVotes, count_by_group
from secretballot.mechanisms._counting import Counting
from secretballot.tables._buckets import Buckets
from secretballot.tables._engine import Engine
from secretballot.tables._exchange import teachers_of_task
from secretballot.tables._tasks import map_tasks, save_whole


@dataclass(frozen=True)
class StoredTeachers:
    """Teachers of private rows in parts, which workers load to ask them again.

    The folder is deleted with the last reference to it.
    """

    engine: Engine
    folder: PrivateFolder
    groups: tuple[str, ...]  # privacy group of each teacher
    n_tasks: int  # number of tasks in which they are asked

    @classmethod
    def in_folder_of(cls, buckets: Buckets, groups: tuple[str, ...]) -> StoredTeachers:
        """Return teachers to be stored where the rows of these buckets are."""
        folder = PrivateFolder(buckets.folder.parent)
        return cls(buckets.engine, folder, groups, buckets.exchange.n_buckets)

    def __len__(self) -> int:
        return len(self.groups)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "an ensemble that was fitted on PrivateParts can't be pickled: its teachers are files "
            "of the engine's workers. Use to_student(), the public part."
        )

    def ask(self, X: Rows, classes: Classes, counting: Counting) -> Iterator[BatchVotes]:
        """Yield the votes of all teachers, added up by task."""
        if not os.path.isdir(self.folder.path):
            raise ValueError(
                f"the teachers' folder {self.folder.path!r} was deleted: fit again, with scratch= "
                "a folder that nobody cleans meanwhile."
            )
        ask_task = partial(_ask, self.folder.path, self.groups, self.n_tasks, X, classes, counting)
        tasks = map_tasks(self.engine, self.folder.path, ask_task, self.n_tasks, "teacher group")
        return (votes for _, votes in tasks)


def train_and_store(
    shards: list[Shard], train: Callable[[list[Shard]], BatchVotes], folder: str
) -> BatchVotes:
    """Train teachers on a worker, and write them to files."""
    votes = train(shards)
    for number, teacher in votes.trained.items():
        save_whole(teacher, os.path.join(folder, f"teacher-{number}"))
    return without_quotes(votes)


def without_quotes(votes: BatchVotes) -> BatchVotes:
    """Return votes without teachers, and without what errors and warnings of theirs quoted."""
    number, text = votes.failures.first
    votes.failures.first = number, text.partition(":")[0]
    votes.caught.drop_texts()
    return votes._replace(trained={})


def _ask(
    folder: str,
    groups: tuple[str, ...],
    n_tasks: int,
    X: Rows,
    classes: Classes,
    counting: Counting,
    task: int,
) -> BatchVotes:
    numbers = teachers_of_task(len(groups), n_tasks, task)
    teachers = {
        number: joblib.load(os.path.join(folder, f"teacher-{number}")) for number in numbers
    }
    votes = count_by_group(teachers, [groups[number] for number in numbers], X, classes, counting)
    return without_quotes(votes)
