"""Class probabilities for groups whose class ratios are not those of training."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax

from secretballot.quantification._bag_ids import encode_ids
from secretballot.quantification._bag_types import ProportionsTable, is_frame
from secretballot.quantification._label_proportions import (
    SUM_TOLERANCE,
    class_columns,
    proportions_by_id,
)


def shift_prior(
    logits: NDArray[np.float64], prior: NDArray[np.float64], ratios: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return probabilities in proportion to p(y | x) ratios_y / prior_y.

    `logits` are for the class ratios `prior`; `ratios` has shape (n_instances or 1, n_classes).
    """
    with np.errstate(divide="ignore"):  # a ratio of 0
        shift = np.log(ratios) - np.log(prior)
    return np.asarray(softmax(log_softmax(logits, axis=1) + shift, axis=1))


def instance_ratios(
    ratios: ProportionsTable,
    bag_ids: ArrayLike | None,
    n_instances: int,
    classes: NDArray[np.generic],
) -> NDArray[np.float64]:
    """Return class ratios for all instances, shape (n_instances or 1, n_classes)."""
    n_classes = len(classes)
    if bag_ids is not None:
        ids, bag = encode_ids("bag_ids", bag_ids, n_instances)
        by_bag = proportions_by_id(ratios, ids, unused="drop").reorder_classes(classes)
        return np.maximum(by_bag.values, 0)[bag]
    names = None
    if isinstance(ratios, Mapping):
        names, ratios = list(ratios), list(ratios.values())
    elif is_frame(ratios):
        names = list(ratios.columns if np.ndim(ratios) == 2 else ratios.index)  # type: ignore[arg-type]
    try:
        values = np.atleast_2d(np.asarray(ratios, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "ratios must be numbers, for one group or for each instance; a table keyed by id "
            f"needs bag_ids ({error})."
        ) from error
    if names is not None:
        values = values[:, class_columns("ratios, without bag_ids,", names, classes.tolist())]
    if values.shape not in ((1, n_classes), (n_instances, n_classes)):
        raise ValueError(
            f"ratios has shape {np.shape(ratios)}; give {n_classes} of them, in the order of "
            f"classes_, or {n_classes} for each of {n_instances} instances."
        )
    valid = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if not valid.all():
        raise ValueError(
            f"ratios has the row {values[np.argmin(valid)].tolist()}: they must not be negative "
            "and must sum to 1."
        )
    return values
