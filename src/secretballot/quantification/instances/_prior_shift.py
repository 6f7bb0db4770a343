"""Probabilities for groups whose class ratios are not those of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from secretballot.quantification._bag_ids import ids_of_instances
from secretballot.quantification._known_proportions import SUM_TOLERANCE, proportions_by_id


def shifted(
    logits: NDArray[np.float64], prior: NDArray[np.float64], ratios: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return probabilities, in proportion to p(y | x) r_y / q_y.

    Parameters
    ----------
    logits : ndarray of shape (n_instances, n_classes)
        Log probabilities up to a constant, for the class ratios q.
    prior : ndarray of shape (n_classes,)
        q, none of which is zero.
    ratios : ndarray of shape (n_instances or 1, n_classes)
        r.
    """
    with np.errstate(divide="ignore"):  # a class that is not there has no probability
        shift = np.log(ratios) - np.log(prior)
    return np.asarray(softmax(log_softmax(logits, axis=1) + shift, axis=1))


def ratios_of_instances(
    ratios: Any, bag_ids: Any, n_instances: int, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return class ratios for all instances, of shape (n_instances or 1, n_classes)."""
    n_classes = len(classes)
    if bag_ids is not None:
        names, bag = ids_of_instances("bag_ids", bag_ids, n_instances)
        known = proportions_by_id(ratios, names, unused="drop").in_order(classes)
        return np.maximum(known.values, 0)[bag]
    ratios = _in_order(ratios, classes.tolist())
    try:
        wanted = np.atleast_2d(np.asarray(ratios, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "ratios must be numbers, for one group or for each instance; a table keyed by id "
            f"needs bag_ids ({error})."
        ) from error
    if wanted.shape not in ((1, n_classes), (n_instances, n_classes)):
        raise ValueError(
            f"ratios has shape {np.shape(ratios)}; give {n_classes} of them, in the order of "
            f"classes_, or {n_classes} for each of {n_instances} instances."
        )
    fair = (wanted >= 0).all(axis=1) & (np.abs(wanted.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if not fair.all():
        raise ValueError(
            f"ratios has the row {wanted[np.argmin(fair)].tolist()}: they must not be negative "
            "and must sum to 1."
        )
    return wanted


def _in_order(ratios: Any, classes: list[Any]) -> Any:
    """Return ratios that name their classes in the order of these; others as they are."""
    if isinstance(ratios, Mapping):
        names = list(ratios)
        ratios = list(ratios.values())
    elif hasattr(ratios, "iloc"):
        names = list(ratios.columns if np.ndim(ratios) == 2 else ratios.index)
        ratios = np.asarray(ratios)
    else:
        return ratios
    if names == list(range(len(names))) and set(names) != set(classes):
        return ratios  # numbered, not named
    if sorted(map(repr, names)) != sorted(map(repr, classes)):
        raise ValueError(
            f"ratios has the classes {names!r}, and should have {classes!r}, each once. (A table "
            "keyed by id needs bag_ids.)"
        )
    return np.asarray(ratios)[..., [names.index(one) for one in classes]]
