"""Bags to learn from, as stacked instances, and what is known of their proportions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from secretballot.quantification._bag_ids import ids_of_instances
from secretballot.quantification._bag_input import check_bags, raw_bags, stack
from secretballot.quantification._known_proportions import (
    KnownProportions,
    check_proportions,
    proportions_by_id,
)
from secretballot.quantification._unsaid_noise import warn_of_noise


def separate_bags(X: Any) -> list[Any]:
    """Return the bags of a sequence of them, each as it came."""
    if getattr(X, "ndim", None) == 2:
        raise ValueError(
            "X is one table of instances, and bag_ids is missing: give the id of each instance's "
            "bag, or a list of tables, one for each bag. (In a pipeline or a search, route it: "
            "set_fit_request(bag_ids=True, proportions=True).)"
        )
    return raw_bags(X)


def stacked(
    bags: Any, names: Any, proportions: Any, covariance: ArrayLike | None
) -> tuple[Any, NDArray[np.int64], KnownProportions]:
    """Return bags under each other, which bag each instance is in, and the proportions."""
    _required(proportions)
    checked = check_bags(bags)
    sizes = np.array([one.shape[0] for one in checked])
    known = check_proportions(proportions, len(checked), covariance, names=names)
    return stack(checked), np.repeat(np.arange(len(checked)), sizes), _learnable(known)


def keyed(
    X: Any, bag_ids: ArrayLike, proportions: Any, covariance: ArrayLike | None
) -> tuple[NDArray[np.int64], KnownProportions]:
    """Return which bag each instance of `X` is in, and the proportions of those there are."""
    _required(proportions)
    largest = float(np.abs(X.data if sparse.issparse(X) else X).max(initial=0))
    if largest > float(np.finfo(X.dtype).max) ** 0.4:  # squares are summed
        raise ValueError(
            f"X has a value of size {largest:.3g}, and its square is beyond what {X.dtype} can "
            "hold; scale features, as by StandardScaler()."
        )
    names, bag = ids_of_instances("bag_ids", bag_ids, X.shape[0])
    return bag, _learnable(proportions_by_id(proportions, names, covariance, unused="drop"))


def mostly_noise(known: KnownProportions, sizes: NDArray[np.int64]) -> bool:
    """Whether bags differ by no more than the noise of their proportions; warn if so."""
    if known.covariance is None:
        return False
    overall = sizes @ known.values / sizes.sum()
    spread = ((known.values - overall) ** 2).sum(axis=1).mean()
    if spread > np.einsum("ijj->i", known.covariance).mean():
        return False
    warnings.warn(
        "the bags' proportions differ by no more than the noise they have, so that little may be "
        "learned from them; publish larger bags, bags that differ more, or with a larger epsilon.",
        UserWarning,
        stacklevel=4,
    )
    return True


def _learnable(known: KnownProportions) -> KnownProportions:
    """Return proportions with sorted classes, or refuse what no class can be learned from."""
    if known.covariance is None:
        warn_of_noise(known.values)
    known.check_separable()
    try:
        classes = np.unique(known.classes)
    except TypeError as error:
        raise ValueError(f"classes must be of one kind, to be put in order: {error}") from error
    return known.in_order(classes)


def _required(proportions: Any) -> None:
    if proportions is None:
        raise ValueError(
            "fit needs the proportions of the bags: a data frame or series whose index is the "
            "bags' ids, a mapping {id: row}, or PublishedProportions. (In a pipeline or a search, "
            "route them: set_fit_request(bag_ids=True, proportions=True).)"
        )
