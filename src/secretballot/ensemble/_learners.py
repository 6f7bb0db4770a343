"""Learners and parties that an ensemble is given, and checks of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import ClassifierTags, Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from secretballot._base._numbers import quoted
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ensemble._estimator_types import Learner, Teacher
from secretballot.mechanisms._base import Mechanism

if TYPE_CHECKING:
    from secretballot.ensemble.individual import Individualization

_NO_PREDICT = "has no predict method"


def is_parties(estimator: Learner | Sequence[Teacher]) -> TypeGuard[Sequence[Teacher]]:
    """Return True if the parameter ``estimator`` is a list of parties."""
    return isinstance(estimator, list | tuple)


def learners_of(estimator: Learner | Sequence[Teacher]) -> list[Any]:
    """Return the parties, or the one learner of all teachers, as a list."""
    return list(estimator) if is_parties(estimator) else [estimator]


def check_classifier(name: str, learner: object) -> None:
    """Refuse a class, an object that is no estimator, and one that predicts no classes."""
    if isinstance(learner, type):
        raise ValueError(f"{name}={learner.__name__} is a class; give an instance of it.")
    if not (hasattr(learner, "fit") and hasattr(learner, "get_params")):
        raise ValueError(f"{name}={quoted(learner)} is no estimator; give a classifier.")
    if fault := _fault_of_kind(learner):
        raise ValueError(
            f"{name}={learner!r} {fault}, but it is to predict classes; give a classifier."
        )


def _fault_of_kind(learner: Any) -> str:
    """Describe why an estimator does not predict classes; "" if it does."""
    kind = get_tags(learner).estimator_type
    if kind not in (None, "classifier"):
        return f"is {'an' if kind[0] in 'aeiou' else 'a'} {kind.replace('_', ' ')}"
    # Some classifiers show their methods once they are fitted.
    return "" if kind or hasattr(learner, "predict") else _NO_PREDICT


def check_learner(name: str, learner: object) -> None:
    """Refuse objects that are no classifiers, and models that are fitted already."""
    check_classifier(name, learner)
    if isinstance(last_step(learner), FrozenEstimator):
        raise ValueError(
            f"{name}={learner!r} is, or ends in, one FrozenEstimator, which is fitted already and "
            "learns nothing: give an estimator to be trained. (estimator= may be a list of "
            "FrozenEstimators, one for each party.)"
        )


def check_parties(parties: Sequence[Teacher]) -> list[Teacher]:
    """Check that each party is a fitted model that `clone` will not unfit."""
    if not parties:
        raise ValueError("estimator is an empty list; give at least one FrozenEstimator.")
    for index, party in enumerate(parties):
        if not isinstance(party, FrozenEstimator):
            raise ValueError(
                f"estimator[{index}] is a {type(party).__name__}. A list holds parties that are "
                "already fitted, and clone would drop their fit: wrap each one in "
                "sklearn.frozen.FrozenEstimator."
            )
        try:
            check_is_fitted(party)
        except NotFittedError:
            raise ValueError(
                f"estimator[{index}] is a FrozenEstimator of an unfitted "
                f"{type(party.estimator).__name__}; fit it before it is frozen."
            ) from None
        if fault := _fault_of_kind(party) or ("" if hasattr(party, "predict") else _NO_PREDICT):
            raise ValueError(
                f"estimator[{index}] {fault}; a party votes for a class: give a classifier."
            )
    # A model wrapped twice is one party, and so is one at the end of two pipelines. (A copy can't
    # be distinguished from another party that came to the same model.)
    first_index: dict[int, int] = {}
    for index, party in enumerate(parties):
        other = first_index.setdefault(id(model_of(party)), index)
        if other != index:
            raise ValueError(
                f"estimator[{index}] is the same fitted model as estimator[{other}]: one party "
                "would have two ballots, and its data twice the weight that is charged. Give each "
                "party once."
            )
    return list(parties)


def model_of(party: Any) -> Any:
    """Return the fitted model inside of frozen estimators, searches and pipelines."""
    if isinstance(party, FrozenEstimator):
        return model_of(party.estimator)
    best = _instance_attribute(party, "best_estimator_")
    inner = last_step(party) if best is None else best
    return party if inner is party else model_of(inner)


def last_step(estimator: Any) -> Any:
    """Return the last step of nested pipelines; any other estimator itself."""
    steps = _instance_attribute(estimator, "steps")
    return last_step(steps[-1][1]) if isinstance(steps, list) and steps else estimator


def _instance_attribute(estimator: object, name: str) -> Any:
    """Return an attribute of the instance alone: a frozen estimator delegates to its model."""
    return getattr(estimator, "__dict__", {}).get(name)


def shared_features(parties: Sequence[Teacher]) -> dict[str, Any]:
    """Return the number and names of features, which parties that know them must agree on."""
    features = {}
    for name in ("n_features_in_", "feature_names_in_"):
        values = [getattr(party, name) for party in parties if hasattr(party, name)]
        if any(not np.array_equal(value, values[0]) for value in values):
            raise ValueError(
                f"estimator: the parties differ in {name}; all must have been fitted on the same "
                "features."
            )
        if values:
            features[name] = values[0]
    return features


def check_parameters(
    estimator: Learner | Sequence[Teacher],
    student: Learner | None,
    mechanism: Mechanism | None,
    individualization: Individualization | None,
) -> None:
    if is_parties(estimator):
        check_parties(estimator)
    else:
        check_learner("estimator", estimator)
        check_teacher(estimator)
    if student is not None:
        check_learner("student", student)
        _check_no_budget("student", student)
    if mechanism is not None and individualization is not None:
        _check_individual(mechanism, individualization)


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
    from secretballot.ensemble.student import PrivateChoice  # which imports this module

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


def combine_tags(
    tags: Tags, estimator: Learner | Sequence[Teacher], student: Learner | None
) -> Tags:
    """Return an ensemble's tags: a classifier if it has a student; inputs that all parts take."""
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
