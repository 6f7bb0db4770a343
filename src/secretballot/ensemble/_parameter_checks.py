"""Checks of an ensemble's parameters, of the budget, and of the arguments of fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sklearn.utils import ClassifierTags, Tags, get_tags

from secretballot._base._errors import warn
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ensemble._estimator_types import Learner, Teacher
from secretballot.ensemble._frozen_parties import (
    check_learner,
    check_parties,
    is_parties,
    learners_of,
)
from secretballot.ensemble.individual import Individualization, Levels
from secretballot.ensemble.student import PrivateChoice
from secretballot.mechanisms._base import Mechanism

if TYPE_CHECKING:
    from secretballot.ensemble._private_teacher_ensemble import PrivateTeacherEnsemble


def check_parameters(ensemble: PrivateTeacherEnsemble) -> None:
    if is_parties(ensemble.estimator):
        check_parties(ensemble.estimator)
    else:
        check_learner("estimator", ensemble.estimator)
        check_teacher(ensemble.estimator)
    if ensemble.student is not None:
        check_learner("student", ensemble.student)
        _check_no_budget("student", ensemble.student)
    if ensemble.mechanism is not None and ensemble.individualization is not None:
        _check_individual(ensemble.mechanism, ensemble.individualization)


def _parts(estimator: object) -> list[object]:
    """Return an estimator and all parameters of it and of its steps."""
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return [estimator, *parameters.values()]


def _check_no_budget(name: str, learner: object) -> None:
    """Refuse a teacher or student that spends a budget of its own."""
    if any(isinstance(part, PrivacyAccountant) for part in _parts(learner)):
        raise ValueError(
            f"{name} is, or has, a private model with an accountant of its own, which it would "
            "spend besides. The vote protects private rows: pass a plain classifier, such as "
            "LogisticRegression(), or fit the private model alone."
        )


def check_teacher(estimator: object) -> None:
    """Refuse a teacher that is, or has as a step, a private model or a `PrivateChoice`."""
    _check_no_budget("estimator", estimator)
    if any(isinstance(part, PrivateChoice) for part in _parts(estimator)):
        raise ValueError(
            "estimator is, or has, a PrivateChoice, which chooses among students on private rows, "
            "paid by the budget: pass it as student= of PrivateTeacherEnsemble. A teacher may "
            "choose among its own rows at no cost: estimator=GridSearchCV(...)."
        )


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


def refuse_arguments(unsupported: Mapping[str, object], weights: str) -> None:
    """Refuse unknown arguments of `fit`; `weights` explains why it takes no `sample_weight`."""
    for name in unsupported:
        raise TypeError(
            f"fit() got an unexpected keyword argument 'sample_weight': {weights}"
            if name == "sample_weight"
            else f"fit() got an unexpected keyword argument {name!r}; it takes X, y, X_public, "
            "owners and budgets."
        )


def warn_settings(
    accountant: PrivacyAccountant,
    epsilon: float | Mapping[str, float] | None,
    levels: Levels | None,
    n_people: int | None,
) -> None:
    """Warn, before anything is spent, of settings that protect or buy less than they seem to."""
    budget = {level.name: level.epsilon for level in accountant.levels}
    if len(budget) > 1 and levels is None and n_people is not None:
        warn(
            f"the accountant has the levels {', '.join(map(repr, budget))}, but budgets was not "
            "given: all rows pay alike, and what may be spent ends with the strictest budget. Pass "
            "fit(..., budgets=) the level of each row."
        )
    if epsilon is None:
        caps = dict.fromkeys(budget, 0.0)
    else:
        caps = dict(epsilon) if isinstance(epsilon, Mapping) else dict.fromkeys(budget, epsilon)
    if all(caps[level] > total for level, total in budget.items()):
        warn(
            f"epsilon={epsilon!r} is more than the accountant's budget of {accountant.epsilon!r}, "
            "which therefore decides alone. Use a smaller epsilon to cap one fit, or None."
        )
    if n_people and accountant.delta > 1 / n_people:
        warn(
            f"the accountant's delta={accountant.delta:g} is above 1/n = {1 / n_people:.2g} for "
            f"n={n_people}: publishing somebody's whole record would satisfy it. Use a delta well "
            "below that, such as 1e-5."
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
