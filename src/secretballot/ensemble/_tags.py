"""What scikit-learn is told about the ensemble."""

from __future__ import annotations

from typing import Any

from sklearn.utils import ClassifierTags, get_tags

from secretballot.ensemble._parties import is_parties


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
