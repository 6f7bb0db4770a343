"""Order of classes: sorted everywhere, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION

#: Error of labels that have no order.
_MIXED = "{name} mixes labels that can't be sorted; give all as strings or all as numbers."


def named_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return the sorted classes of the parameter ``classes``."""
    labels = np.asarray(classes)
    if labels.ndim != 1:
        raise ValueError(
            f"classes has shape {labels.shape}; give a list of labels, not a "
            f"{type(classes).__name__}: classes=['no', 'yes']."
        )
    if any(label is None or label != label for label in labels.tolist()):
        raise ValueError(
            f"classes={labels.tolist()!r} names a missing label; every row needs one. Leave it out."
        )
    if len({isinstance(label, str | bytes) for label in cast("Iterable[object]", classes)}) > 1:
        raise ValueError(_MIXED.format(name="classes"))
    sorted_labels = sorted_classes(labels, "classes")
    if len(sorted_labels) != len(labels):
        raise ValueError(f"classes={labels.tolist()!r} names a class twice.")
    return sorted_labels


def sorted_classes(labels: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the distinct labels, sorted; ValueError for fewer than two. `name` is for errors."""
    private = f" {NOT_FOR_PUBLICATION}" if name == "y" else ""
    try:
        classes = np.unique(labels)
    except TypeError:
        raise ValueError(_MIXED.format(name=name) + private) from None
    if len(classes) < 2:
        raise ValueError(
            f"{name} holds {len(classes)} class(es), {classes.tolist()!r}; at least two are "
            f"needed.{private}"
        )
    return classes
