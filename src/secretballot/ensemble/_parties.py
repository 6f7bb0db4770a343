"""Teachers that were trained elsewhere, each by the party that owns its data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


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
        other = first.setdefault(id(_model(party)), index)
        if other != index:
            raise ValueError(
                f"estimator[{index}] is the same fitted model as estimator[{other}]: one party "
                "would have two ballots, and its data twice the weight that is charged. Give each "
                "party once."
            )
    return list(parties)


def _model(party: Any) -> Any:
    """The fitted model that votes, whatever it is wrapped in."""
    if isinstance(party, FrozenEstimator):
        return _model(party.estimator)
    return _model(party.steps[-1][1]) if isinstance(party, Pipeline) else party


def parties_classes(parties: list[Any]) -> NDArray[Any]:
    """All classes that the parties know of."""
    known = [getattr(party, "classes_", None) for party in parties]
    if any(classes is None for classes in known):
        raise ValueError("classes=None, but not every party has classes_; name them in classes.")
    return np.concatenate([np.asarray(classes) for classes in known])


def shared_attribute(parties: list[Any], name: str) -> Any:
    """An attribute on which all parties that have it agree; None if none has it."""
    values = [getattr(party, name) for party in parties if hasattr(party, name)]
    if any(not np.array_equal(value, values[0]) for value in values):
        raise ValueError(
            f"estimator: the parties differ in {name}; all must have been fitted on the same "
            "features."
        )
    return values[0] if values else None
