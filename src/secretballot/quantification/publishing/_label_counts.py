"""How many labels of each class are in each bag: private, and counted from what users give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot._numbers import check_unmasked
from secretballot.quantification._bags import Bags, labels_of


class LabelCounts(NamedTuple):
    """Counts of shape (n_bags, n_classes), and what is public about them."""

    counts: NDArray[np.float64]
    classes: NDArray[Any]
    names: tuple[Any, ...]
    formed_by: str


def count_labels(y_bags: Bags | Sequence[ArrayLike], classes: ArrayLike) -> LabelCounts:
    """Count the labels of each bag; ValueError if some are missing or of no class."""
    bags = y_bags if isinstance(y_bags, Bags) else None
    labels = _labels(y_bags) if bags is None else bags.y
    names = tuple(range(len(labels))) if bags is None else bags.names
    known = _classes(classes)
    formed_by = "not said" if bags is None else bags.formed_by
    return LabelCounts(_counts(labels, names, known), known, names, formed_by)


def _classes(classes: ArrayLike) -> NDArray[Any]:
    known = np.asarray(classes)
    if known.ndim != 1 or len(known) < 2 or len(set(known.tolist())) < len(known):
        raise ValueError(f"classes={classes!r} must be a list of two or more different labels.")
    if any(label is None or label != label for label in known.tolist()):
        raise ValueError(f"classes={classes!r} has a missing value, which no label is equal to.")
    return known


def _labels(y_bags: Any) -> list[Any]:
    table = sparse.issparse(y_bags) or hasattr(y_bags, "iloc")
    if table or isinstance(y_bags, str | Mapping) or not isinstance(y_bags, Iterable):
        raise ValueError(
            f"y_bags is of {type(y_bags)}; give a list with the labels of each bag, or Bags: "
            "group_bags makes them of all labels and a grouping."
        )
    return list(y_bags)


def _counts(
    labels: Sequence[ArrayLike], names: Sequence[Any], classes: NDArray[Any]
) -> NDArray[np.float64]:
    if not len(labels):
        raise ValueError("y_bags has no bag; give at least one.")
    counts = np.zeros((len(labels), len(classes)))
    for row, (name, bag) in enumerate(zip(names, labels, strict=True)):
        check_unmasked(f"y_bags: the bag {name!r}", bag)
        try:
            # As objects, so that 1 and "1" are different labels.
            found = np.asarray(labels_of(bag).tolist(), dtype=object)
        except ValueError:  # lists of different lengths
            found = np.empty((0, 0))
        if found.ndim != 1:
            raise ValueError(
                f"y_bags: the bag {name!r} is not a list of labels, one per instance; group_bags "
                "makes bags of all labels and a grouping."
            )
        if not found.size:
            raise ValueError(
                f"y_bags: the bag {name!r} is empty; leave it out, it has no proportions."
            )
        counts[row] = [(found == label).sum() for label in classes.tolist()]
        if counts[row].sum() != len(found):
            raise ValueError(
                f"y_bags: the bag {name!r} has labels that are none of classes="
                f"{classes.tolist()!r}; name all classes there are, and give labels rather than "
                f"counts of them. Nothing was published. {NOT_FOR_PUBLICATION}"
            )
    return counts
