"""Teachers: one model per shard of the private data."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import drop_callbacks
from secretballot.ensemble._estimator_types import Classes, Learner, Rows, Teacher
from secretballot.ensemble._label_model import fit_classes, fit_labels
from secretballot.ensemble._target import as_target
from secretballot.ensemble._teacher_ballots import ConstantTeacher, error_text
from secretballot.ensemble._votes import (
    BatchVotes,
    TeacherWarnings,
    count_by_group,
)
from secretballot.mechanisms._counting import Counting
from secretballot.tables._rowwise import private_copies


class Shard(NamedTuple):
    """Private rows of one teacher, its privacy group and its seed."""

    number: int
    group: str
    X: Any
    y: NDArray[Any]
    seed: np.random.SeedSequence


def seed_estimator(
    estimator: Learner, stream: np.random.SeedSequence, *, keep: bool = False
) -> None:
    """Set every ``random_state`` of an estimator, nested ones too; `keep` those that are set."""
    parameters = estimator.get_params(deep=True)
    names = sorted(
        name
        for name, value in parameters.items()
        if name.rpartition("__")[2] == "random_state" and not (keep and value is not None)
    )
    if names:
        # scikit-learn takes seeds below 2**32.
        states = stream.generate_state(len(names)).tolist()
        estimator.set_params(**dict(zip(names, states, strict=True)))


def train_teacher(estimator: Learner, shard: Shard, classes: Classes) -> Teacher:
    """Train on one shard, by a rule that is public and the same for every teacher.

    A shard with one class, or one set of labels, votes for it. An empty shard, and a teacher that
    cannot be trained, vote by the teacher's number. All of them count.
    """
    failure = ""
    if len(shard.y):
        if (shard.y == shard.y[0]).all():
            return ConstantTeacher(shard.y[:1])
        try:
            # What clones share, such as a `FrozenEstimator`, could keep rows of other teachers.
            teacher = deepcopy(clone(estimator))
            seed_estimator(teacher, shard.seed)
            if shard.y.ndim == 1:
                return fit_classes(teacher, shard.X, shard.y)
            return fit_labels(teacher, shard.X, shard.y, np.ones(shard.y.shape, dtype=bool))
        except MemoryError:
            raise
        except Exception as error:
            failure = error_text(error)
    return ConstantTeacher(as_target(classes).default_ballot(shard.number), failure)


def train_batch(
    shards: list[Shard],
    estimator: Learner,
    classes: Classes,
    X_public: Rows | None,
    counting: Counting,
) -> BatchVotes:
    teachers, caught = {}, TeacherWarnings()
    for shard in shards:
        with caught.of_teacher(shard.number):
            teachers[shard.number] = train_teacher(estimator, shard, classes)
    groups = [shard.group for shard in shards]
    return count_by_group(
        teachers, groups, X_public, classes, counting, trained=True, caught=caught
    )


def training_template(estimator: Learner) -> Learner:
    """Return a clone without callbacks, which would see shards, to copy teachers from."""
    template = clone(estimator)
    private_copies(template, "estimator", fresh=False)  # refused now if it can't be copied
    dropped = drop_callbacks(template)
    if dropped:
        warn(
            f"callbacks set on estimator are dropped ({', '.join(sorted(set(dropped)))}): they "
            "would be shown private rows. Set them on the PrivateTeacherEnsemble instead, which "
            "tells them counts only."
        )
    return template
