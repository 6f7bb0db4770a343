"""Validation of the bags and proportions that the classifier of instances learns from."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.quantification._bag_ids import encode_ids
from secretballot.quantification._bag_input import (
    bag_names,
    bag_numbers,
    check_bags,
    check_magnitude,
    list_bags,
    stack_bags,
)
from secretballot.quantification._bag_types import (
    BagSequence,
    Instances,
    Matrix,
    ProportionsTable,
)
from secretballot.quantification._label_proportions import (
    LabelProportions,
    check_proportions,
    proportions_by_id,
)
from secretballot.quantification._unstated_noise import warn_of_unstated_noise


def read_bags(
    X: BagSequence, proportions: ProportionsTable | None, covariance: ArrayLike | None
) -> tuple[Instances, Matrix, NDArray[np.int64], LabelProportions]:
    """Return the first bag, stacked instances, the bag of each, and the bags' proportions."""
    if getattr(X, "ndim", None) == 2:
        raise ValueError(
            "X is one table of instances, and bag_ids is missing: give the id of each instance's "
            "bag, or a list of tables, one for each bag. (In a pipeline or a search, route it: "
            "set_fit_request(bag_ids=True, proportions=True).)"
        )
    table = _require(proportions)
    raw = list_bags(X)
    bags, _ = check_bags(raw)
    checked = check_proportions(table, len(bags), covariance, names=bag_names(X))
    return raw[0], stack_bags(bags), bag_numbers(bags), _check_learnable(checked)


def read_instances(
    X: Matrix,
    bag_ids: ArrayLike,
    proportions: ProportionsTable | None,
    covariance: ArrayLike | None,
) -> tuple[NDArray[np.int64], LabelProportions]:
    """Return the bag of each instance, and the proportions of the bags that have instances."""
    table = _require(proportions)
    check_magnitude("X", X, "StandardScaler()")
    ids, bag = encode_ids("bag_ids", bag_ids, X.shape[0])
    return bag, _check_learnable(proportions_by_id(table, ids, covariance, unused="drop"))


def is_mostly_noise(proportions: LabelProportions, sizes: NDArray[np.int64]) -> bool:
    """Return True, with a warning, if bags differ by no more than the noise of proportions."""
    if proportions.covariance is None:
        return False
    overall = sizes @ proportions.values / sizes.sum()
    spread = ((proportions.values - overall) ** 2).sum(axis=1).mean()
    if spread > np.einsum("ijj->i", proportions.covariance).mean():
        return False
    warnings.warn(
        "the bags' proportions differ by no more than the noise they have, so that little may be "
        "learned from them; publish larger bags, bags that differ more, or with a larger epsilon.",
        UserWarning,
        stacklevel=4,
    )
    return True


def _check_learnable(proportions: LabelProportions) -> LabelProportions:
    """Return proportions with sorted classes; refuse those from which no class can be learned."""
    if proportions.covariance is None:
        warn_of_unstated_noise(proportions.values)
    proportions.check_full_rank()
    try:
        classes = np.unique(proportions.classes)
    except TypeError as error:
        raise ValueError(f"classes must be of one kind, to be put in order: {error}") from error
    return proportions.reorder_classes(classes)


def _require(proportions: ProportionsTable | None) -> ProportionsTable:
    if proportions is None:
        raise ValueError(
            "fit needs the proportions of the bags: a data frame or series whose index is the "
            "bags' ids, a mapping {id: row}, or PublishedProportions. (In a pipeline or a search, "
            "route them: set_fit_request(bag_ids=True, proportions=True).)"
        )
    return proportions
