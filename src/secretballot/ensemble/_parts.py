"""What an ensemble is made of: what its parts may be, and what they say of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import ClassifierTags, get_tags
from sklearn.utils.validation import check_is_fitted


def check_parts(ensemble: Any) -> None:
    """Check the estimators and the mechanism that an ensemble is made of."""
    for name in ("estimator", "student", "mechanism"):
        part = getattr(ensemble, name)
        if isinstance(part, type):
            raise ValueError(f"{name}={part.__name__} is a class; give an instance of it.")
    if is_parties(ensemble.estimator):
        check_parties(ensemble.estimator)
    elif is_regressor(ensemble.estimator):
        raise ValueError(
            f"estimator={ensemble.estimator!r} is a regressor; a teacher votes for a class: give "
            "a classifier."
        )
    elif isinstance(last_step(ensemble.estimator), FrozenEstimator):
        raise ValueError(
            "estimator is, or ends in, one FrozenEstimator, so all teachers would be the same "
            "model. Give a list of FrozenEstimators, one for each party, or an estimator to be "
            "trained."
        )
    if ensemble.mechanism is not None and ensemble.individualization is not None:
        _check_individual(ensemble.mechanism, ensemble.individualization)


def _check_individual(mechanism: Any, individualization: Any) -> None:
    """Refuse a mechanism in which individual budgets have nothing left to choose."""
    if not hasattr(mechanism, "scaled"):
        raise ValueError(
            f"mechanism={mechanism!r} does not take individual budgets "
            f"(individualization={individualization!r}); use GNMax or ConfidentGNMax."
        )
    if mechanism.for_plain_ballots() != mechanism:
        raise ValueError(
            f"mechanism={mechanism!r} has a weight or ballots of its own, which "
            f"individualization={individualization!r} is to choose; leave them out."
        )


def refuse_arguments(unsupported: Mapping[str, Any], weights: str) -> None:
    """Refuse what `fit` doesn't take; `weights` says why it takes no weights of rows."""
    for name in unsupported:
        raise TypeError(
            f"fit() got an unexpected keyword argument 'sample_weight': {weights}"
            if name == "sample_weight"
            else f"fit() got an unexpected keyword argument {name!r}; it takes X, y, X_public, "
            "owners and budgets."
        )


def check_unit(accountant: Any, *, owners: bool) -> None:
    """Check that the budget protects what the partition separates."""
    if owners and accountant.unit != "owner":
        raise ValueError(
            f"owners was given, but the accountant's unit={accountant.unit!r}: all rows of an "
            "owner go to one teacher, so that owners are protected. Use "
            "PrivacyAccountant(..., unit='owner'), or leave owners out."
        )
    if not owners and accountant.unit not in ("row", "label"):
        remedy = {
            "owner": "Pass owners= to fit, one owner id per row",
            "voter": "Give a list of FrozenEstimators, one for each voter",
        }.get(accountant.unit, "Use another unit")
        raise ValueError(
            f"the accountant's unit={accountant.unit!r}, but rows are split one by one. {remedy}, "
            "or use PrivacyAccountant(..., unit='row')."
        )
    if accountant.relation != "replace":
        raise ValueError(
            f"the accountant's relation={accountant.relation!r}: removing a row or an owner is "
            "not what one ballot of this partition bounds. Use "
            "PrivacyAccountant(..., relation='replace')."
        )


def combine_tags(tags: Any, estimator: Any, student: Any) -> Any:
    """Tags of an ensemble: a classifier if it has a student; inputs that all its parts take."""
    teachers = list(estimator) if is_parties(estimator) else [estimator]
    learners = teachers if student is None else [*teachers, student]
    # Parameters are checked in fit; until then they may be anything.
    known = [get_tags(learner) for learner in learners if hasattr(learner, "__sklearn_tags__")]
    tags.input_tags.sparse = all(each.input_tags.sparse for each in known)
    tags.input_tags.allow_nan = all(each.input_tags.allow_nan for each in known)
    tags.target_tags.required = not is_parties(estimator)
    if student is not None:
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(
            multi_class=all(
                each.classifier_tags is None or each.classifier_tags.multi_class for each in known
            )
        )
    return tags


def is_parties(estimator: Any) -> bool:
    """Whether the parameter ``estimator`` is a list of parties, not one estimator to train."""
    return isinstance(estimator, list | tuple)


def check_parties(parties: Any) -> list[Any]:
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
        if is_regressor(party):
            raise ValueError(
                f"estimator[{index}] is a regressor; a party votes for a class: give a classifier."
            )
        if not hasattr(party, "predict"):
            raise ValueError(f"estimator[{index}] has no predict method; a party must vote.")
    # By what is inside: a model wrapped twice is one party, and so is one at the end of two
    # pipelines. (A copy can't be told from another party that came to the same model.)
    first: dict[int, int] = {}
    for index, party in enumerate(parties):
        other = first.setdefault(id(model_of(party)), index)
        if other != index:
            raise ValueError(
                f"estimator[{index}] is the same fitted model as estimator[{other}]: one party "
                "would have two ballots, and its data twice the weight that is charged. Give each "
                "party once."
            )
    return list(parties)


def model_of(party: Any) -> Any:
    """The fitted model that votes, whatever it is wrapped in."""
    if isinstance(party, FrozenEstimator):
        return model_of(party.estimator)
    best = _own(party, "best_estimator_")
    inner = last_step(party) if best is None else best
    return party if inner is party else model_of(inner)


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline, or of the one that it is; any other estimator itself."""
    steps = _own(estimator, "steps")
    return last_step(steps[-1][1]) if isinstance(steps, list) and steps else estimator


def _own(estimator: Any, name: str) -> Any:
    """Its own attribute, or None: a frozen estimator passes on those of another one."""
    return getattr(estimator, "__dict__", {}).get(name)


def shared_attribute(parties: list[Any], name: str) -> Any:
    """An attribute on which all parties that have it agree; None if none has it."""
    values = [getattr(party, name) for party in parties if hasattr(party, name)]
    if any(not np.array_equal(value, values[0]) for value in values):
        raise ValueError(
            f"estimator: the parties differ in {name}; all must have been fitted on the same "
            "features."
        )
    return values[0] if values else None
