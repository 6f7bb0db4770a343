"""Validation of instances, bags and class ratios for the classifier of instances."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import warn
from secretballot.quantification._bag_input import (
    bag_names,
    bag_numbers,
    check_bags,
    list_bags,
    stack_bags,
)
from secretballot.quantification._bag_types import (
    BagSequence,
    Floats,
    Instances,
    Integers,
    Matrix,
    ProportionsTable,
    is_frame,
)
from secretballot.quantification._label_proportions import (
    SUM_TOLERANCE,
    LabelProportions,
    check_proportions,
    class_columns,
    proportions_by_id,
)
from secretballot.quantification._unstated_noise import warn_of_unstated_noise


def read_bags(
    X: BagSequence | Instances, proportions: ProportionsTable, covariance: ArrayLike | None
) -> tuple[Instances, Matrix, Integers, LabelProportions]:
    """Return the first bag, stacked instances, the bag of each, and the bags' proportions."""
    if getattr(X, "ndim", None) == 2:
        raise ValueError(
            "X is one table of instances, and bag_ids is missing: give the id of each instance's "
            "bag, or a list of tables, one for each bag. (In a pipeline or a search, route it: "
            "set_fit_request(bag_ids=True, proportions=True).)"
        )
    raw = list_bags(X)
    bags = check_bags(raw)
    checked = check_proportions(proportions, len(bags), covariance, names=bag_names(X))
    return raw[0], stack_bags(bags), bag_numbers(bags), check_learnable(checked)


def is_mostly_noise(proportions: LabelProportions, sizes: Integers) -> bool:
    """Return True, with a warning, if bags differ by no more than the noise of proportions."""
    if proportions.covariance is None:
        return False
    overall = sizes @ proportions.values / sizes.sum()
    spread = ((proportions.values - overall) ** 2).sum(axis=1).mean()
    if spread > np.einsum("ijj->i", proportions.covariance).mean():
        return False
    warn(
        "the bags' proportions differ by no more than the noise they have, so that little may be "
        "learned from them; publish larger bags, bags that differ more, or with a larger epsilon."
    )
    return True


def instance_ratios(
    ratios: ProportionsTable,
    bag_ids: ArrayLike | None,
    n_instances: int,
    classes: NDArray[np.generic],
) -> Floats:
    n_classes = len(classes)
    if bag_ids is not None:
        bag, by_bag = proportions_by_id(ratios, bag_ids, n_instances, argument="ratios")
        return np.maximum(by_bag.reorder_classes(classes).values, 0)[bag]
    names: Sequence[Hashable] | None = None
    table: object = ratios
    if isinstance(ratios, Mapping):
        names, table = list(ratios), list(ratios.values())
    elif is_frame(ratios):
        names = list(ratios.columns if np.ndim(ratios) == 2 else ratios.index)  # type: ignore[arg-type]
    try:
        numbers = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "ratios must be numbers, for one group or for each instance; a table keyed by id "
            f"needs bag_ids ({error})."
        ) from error
    values = np.atleast_2d(numbers)
    if names is not None:
        values = values[:, class_columns("ratios, without bag_ids,", names, classes.tolist())]
    if values.shape not in ((1, n_classes), (n_instances, n_classes)):
        raise ValueError(
            f"ratios has shape {numbers.shape}; give {n_classes} of them, in the order of "
            f"classes_, or {n_classes} for each of {n_instances} instances."
        )
    valid = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if not valid.all():
        raise ValueError(
            f"ratios has the row {values[np.argmin(valid)].tolist()}: they must not be negative "
            "and must sum to 1."
        )
    return values


def check_learnable(proportions: LabelProportions) -> LabelProportions:
    """Return proportions with sorted classes; refuse those from which no class can be learned."""
    if proportions.covariance is None:
        warn_of_unstated_noise(proportions.values)
    proportions.check_full_rank()
    try:
        classes = np.unique(proportions.classes)
    except TypeError as error:
        raise ValueError(f"classes must be of one kind, to be put in order: {error}") from error
    return proportions.reorder_classes(classes)
