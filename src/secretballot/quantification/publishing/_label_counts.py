"""Private counts of labels by bag and class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._numbers import check_unmasked, named_classes
from secretballot.quantification._bag_ids import array_of_values
from secretballot.quantification._bag_types import BagId, Floats, is_frame
from secretballot.quantification._bags import Bags
from secretballot.tables._cells import missing_cells
from secretballot.tables._part_counts import count_groups
from secretballot.tables._private_parts import PrivateParts

#: Bags are compared if their label changes more often than this from one instance to the next.
_MOST_CHANGES = 20


def count_labels(
    y_bags: Bags | PrivateParts | Sequence[ArrayLike], classes: ArrayLike
) -> tuple[Floats, NDArray[np.generic], tuple[BagId, ...], str]:
    """Count the labels of each bag, and return classes, names and how bags were formed.

    Missing labels, and labels of no class, are refused. Only the counts are private.
    """
    labels: Sequence[ArrayLike]
    if isinstance(y_bags, PrivateParts):
        return _count_parts(y_bags, named_classes(classes))
    if isinstance(y_bags, Bags):
        if y_bags.y is None:
            raise ValueError("these Bags hold no labels; give Bags.from_groups the labels.")
        labels, names, formed_by = y_bags.y, y_bags.names, y_bags.formed_by
    else:
        labels = _list_labels(y_bags)
        names, formed_by = tuple(range(len(labels))), "not said"
    if not labels:
        raise ValueError("y_bags has no bag; give at least one.")
    class_array = named_classes(classes)
    counts = [_count_bag(name, bag, class_array) for name, bag in zip(names, labels, strict=True)]
    if not isinstance(y_bags, Bags):  # which are disjoint
        _check_no_bag_twice(names, labels)
    return np.array(counts, dtype=float), class_array, names, formed_by


def label_arrays(
    y_bags: Bags | PrivateParts | Sequence[ArrayLike], counts: Floats
) -> list[NDArray[np.generic]]:
    if isinstance(y_bags, PrivateParts):
        return [counts]
    labels = y_bags.y if isinstance(y_bags, Bags) else y_bags
    return [array_of_values(bag) for bag in labels or ()]


def _check_no_bag_twice(names: Sequence[BagId], labels: Sequence[ArrayLike]) -> None:
    """Raise ValueError if a bag is given twice: the same object, or equal labels in equal order.

    Bags whose labels hardly change along the bag are equal by chance, or because they are sorted.
    """
    first_of: dict[object, BagId] = {}
    for name, bag in zip(names, labels, strict=True):
        array = array_of_values(bag)
        # Equal tuples of constants are one object.
        keys: list[object] = [] if isinstance(bag, tuple) else [id(bag)]
        if (array[1:] != array[:-1]).sum() > _MOST_CHANGES:
            keys.append(tuple(array.tolist()))
        for key in keys:
            if key in first_of:
                raise ValueError(
                    f"y_bags: the bags {first_of[key]!r} and {name!r} hold the same labels in the "
                    "same order. Each instance may be in one bag: its label would be published "
                    "twice for the price of one. Give each bag once; several groupings of the "
                    "same instances are several releases, of one accountant. "
                    f"{NOT_FOR_PUBLICATION}"
                )
            first_of[key] = name


def _count_parts(
    parts: PrivateParts, classes: NDArray[np.generic]
) -> tuple[Floats, NDArray[np.generic], tuple[BagId, ...], str]:
    counts = count_groups(parts, classes.tolist())
    names = sorted(counts, key=lambda name: (str(type(name)), name))
    table = np.array([counts[name] for name in names])
    broken = np.flatnonzero(table[:, -1])
    if broken.size:
        raise ValueError(
            f"y={parts.y!r}: the group {names[broken[0]]!r} has labels that are none of classes="
            f"{classes.tolist()!r}; name all classes there are. Nothing was published. "
            f"{NOT_FOR_PUBLICATION}"
        )
    return table[:, :-1].astype(float), classes, tuple(names), "group"


def _list_labels(y_bags: Sequence[ArrayLike]) -> list[ArrayLike]:
    table = sparse.issparse(y_bags) or is_frame(y_bags)
    if table or isinstance(y_bags, str | Mapping) or not isinstance(y_bags, Iterable):
        raise ValueError(
            f"y_bags is of {type(y_bags)}; give a list with the labels of each bag, or Bags: "
            "Bags.from_groups makes them of all labels and a grouping."
        )
    return list(y_bags)


def _count_bag(name: BagId, bag: ArrayLike, classes: NDArray[np.generic]) -> list[int]:
    check_unmasked(f"y_bags: the bag {name!r}", bag)
    try:
        # As objects, so that 1 and "1" are different labels.
        labels = np.asarray(array_of_values(bag).tolist(), dtype=object)
    except ValueError:  # lists of different lengths
        labels = np.empty((0, 0))
    if labels.ndim != 1:
        raise ValueError(
            f"y_bags: the bag {name!r} is not a list of labels, one per instance; Bags.from_groups "
            "makes bags of all labels and a grouping."
        )
    if not labels.size:
        raise ValueError(f"y_bags: the bag {name!r} is empty; leave it out, it has no proportions.")
    if missing_cells(labels).any():
        raise ValueError(
            f"y_bags: the bag {name!r} has missing labels; leave these instances out of the "
            f"labels and of the grouping. Nothing was published. {NOT_FOR_PUBLICATION}"
        )
    counts = [int((labels == label).sum()) for label in classes.tolist()]
    if sum(counts) != len(labels):
        raise ValueError(
            f"y_bags: the bag {name!r} has labels that are none of classes="
            f"{classes.tolist()!r}; name all classes there are, and give labels rather than "
            f"counts of them. Nothing was published. {NOT_FOR_PUBLICATION}"
        )
    return counts
