"""Fitted models that answer for another one."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

#: Attributes under which fitted models keep the model that answers for them.
_INNER = ("best_estimator_", "estimator_", "estimator", "model")
#: Those under which they keep several models, and how many of these are compared.
_SEVERAL, _MOST_MODELS = ("estimators_", "calibrated_classifiers_"), 3


def models_behind(model: Any) -> list[tuple[str, Any]]:
    """Return the model within wrappers that answers, the first of several, and their places."""
    attributes = vars(model) if hasattr(model, "__dict__") else {}
    for name in _INNER:
        if _is_fitted(attributes.get(name)):
            return models_behind(attributes[name])
    models = [("", model)]
    for name in _SEVERAL:
        several = attributes.get(name)
        if isinstance(several, list):
            for place, part in enumerate(several[:_MOST_MODELS]):
                models += [
                    (f" in {name}[{place}]{where}", inner)
                    for where, inner in models_behind(part)
                    if _is_fitted(inner)
                ]
    return models


def _is_fitted(model: Any) -> bool:
    """Return True for a model that can answer rows: wrappers keep what they copy, too."""
    if isinstance(model, type) or not (hasattr(model, "predict") or hasattr(model, "transform")):
        return False
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # not of scikit-learn
        return True
    return True
