"""Checks of an ensemble's parameters, of the budget, and of the arguments of fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.utils import ClassifierTags, Tags, get_tags

from secretballot.ensemble._estimator_types import Learner, Teacher
from secretballot.ensemble._frozen_parties import (
    check_learner,
    check_parties,
    is_parties,
    learners_of,
)
from secretballot.ensemble.individual import Individualization
from secretballot.mechanisms._base import Mechanism

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble


def check_parameters(ensemble: PrivateTeacherEnsemble) -> None:
    if is_parties(ensemble.estimator):
        check_parties(ensemble.estimator)
    else:
        check_learner("estimator", ensemble.estimator)
    if ensemble.student is not None:
        check_learner("student", ensemble.student)
    if ensemble.mechanism is not None and ensemble.individualization is not None:
        _check_individual(ensemble.mechanism, ensemble.individualization)


def _check_individual(mechanism: Mechanism, individualization: Individualization) -> None:
    if not mechanism.scalable:
        raise ValueError(
            f"mechanism={mechanism!r} does not scale with the number of votes, which "
            f"individualization={individualization!r} changes; use GNMax or ConfidentGNMax."
        )
    if mechanism.for_plain_ballots() != mechanism:
        raise ValueError(
            f"mechanism={mechanism!r} has a weight or ballots, which "
            f"individualization={individualization!r} is to choose; leave them out."
        )


def combine_tags(
    tags: Tags, estimator: Learner | Sequence[Teacher], student: Learner | None
) -> Tags:
    """Return the tags of an ensemble: a classifier if it has a student; inputs all parts take."""
    teachers = learners_of(estimator)
    learners = teachers if student is None else [*teachers, student]
    # Parameters are checked in fit; until then they may be anything.
    parts = [get_tags(learner) for learner in learners if hasattr(learner, "__sklearn_tags__")]
    tags.input_tags.sparse = all(part.input_tags.sparse for part in parts)
    tags.input_tags.allow_nan = all(part.input_tags.allow_nan for part in parts)
    tags.target_tags.required = not is_parties(estimator)
    if student is not None:
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(
            multi_class=all(
                part.classifier_tags is None or part.classifier_tags.multi_class for part in parts
            )
        )
    return tags
