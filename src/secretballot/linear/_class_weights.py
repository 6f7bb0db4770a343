"""Weights of classes, applied to a fitted model: post-processing of its scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secretballot._base._numbers import check_number
from secretballot.linear.features import Floats

if TYPE_CHECKING:
    from secretballot.linear.rounds import FittedRounds

ClassWeight = Mapping[Hashable, float] | str | None

#: Least estimated share of a class.
_LEAST_RATE = 1e-9


def check_class_weight(class_weight: ClassWeight, classes: NDArray[np.generic] | None) -> None:
    """Raise ValueError if weights are invalid, or there are several labels (`classes` is None)."""
    if class_weight is None:
        return
    if classes is None:
        raise ValueError(
            f"class_weight={class_weight!r} weighs the classes of rows that have one class, and y "
            "has several labels: label_threshold='rate' predicts each label above its own rate."
        )
    if isinstance(class_weight, Mapping):
        names = classes.tolist()
        for name, weight in class_weight.items():
            if name not in names:
                raise ValueError(f"class_weight names {name!r}, which is none of {names!r}.")
            check_number(f"class_weight[{name!r}]", weight, above=0)


def fitted_class_weights(
    class_weight: ClassWeight, classes: NDArray[np.generic], rounds: FittedRounds
) -> Floats:
    """Return the weight of each class; balanced ones are by the rates that the model expects."""
    if isinstance(class_weight, Mapping):
        return np.array([float(class_weight.get(name, 1.0)) for name in classes.tolist()])
    if class_weight is None:
        return np.ones(len(classes))
    reference = rounds.reference
    assert reference is not None
    # A model of released sums expects about the rates of the private rows.
    rates = reference.weights @ reference.probabilities(rounds.posterior.coefficients)
    if len(classes) == 2:
        rates = np.array([1 - rates[0], rates[0]])
    return np.asarray(1 / (len(classes) * np.maximum(rates, _LEAST_RATE)))
