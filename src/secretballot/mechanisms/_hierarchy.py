"""Hierarchies of labels: a label is voted on only where its parents are present."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.mechanisms._noisy_max import UNANSWERED

#: Each dependent label with its parents; parents come before their dependants.
Hierarchy = tuple[tuple[int, tuple[int, ...]], ...]

_FORMAT = "map labels to their parents, all of them column numbers: {1: 0, 2: (0, 1)}"


def as_hierarchy(hierarchy: Any) -> Hierarchy | None:
    """Convert a mapping, or its pairs, from labels to their parents, or raise `ValueError`."""
    if hierarchy is None:
        return None
    try:
        pairs = [
            (label, tuple(parents) if isinstance(parents, Iterable) else (parents,))
            for label, parents in (
                hierarchy.items() if isinstance(hierarchy, Mapping) else hierarchy
            )
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"hierarchy={hierarchy!r} must {_FORMAT}.") from error
    for label, parents in pairs:
        for number in (label, *parents):
            if not isinstance(number, Integral) or isinstance(number, bool) or number < 0:
                raise ValueError(
                    f"hierarchy={hierarchy!r} names the label {number!r}; it must {_FORMAT}."
                )
        if not parents:
            raise ValueError(
                f"hierarchy={hierarchy!r} gives label {label} no parent; leave it out."
            )
    parents_of = {int(label): tuple(sorted(set(map(int, parents)))) for label, parents in pairs}
    if len(parents_of) < len(pairs):
        raise ValueError(
            f"hierarchy={hierarchy!r} names a label twice; give all its parents at once."
        )
    sorter = TopologicalSorter(parents_of)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " -> ".join(map(str, reversed(error.args[1])))
        raise ValueError(
            f"hierarchy={hierarchy!r} goes in a circle, {circle}: each of these labels would have "
            "to be asked after its parent. Leave one of the links out."
        ) from error
    ordered: list[tuple[int, tuple[int, ...]]] = []
    while ready := sorted(sorter.get_ready()):
        ordered += [(label, parents_of[label]) for label in ready if label in parents_of]
        sorter.done(*ready)
    return tuple(ordered) or None


def check_labels(hierarchy: Hierarchy | None, n_labels: int) -> None:
    """Refuse a hierarchy with labels beyond `n_labels`."""
    labels = (number for label, parents in hierarchy or () for number in (label, *parents))
    largest = max(labels, default=-1)
    if largest >= n_labels:
        raise ValueError(
            f"hierarchy={hierarchy!r} names the label {largest}, and there are {n_labels} labels; "
            "they are the columns of counts, numbered from 0."
        )


def apply_hierarchy(hierarchy: Hierarchy | None, outcome: NDArray[np.int64]) -> NDArray[np.int64]:
    """Overwrite dependants of absent labels by 0, and of unanswered ones by -1."""
    settled = outcome.copy()
    for label, parents in hierarchy or ():
        above = settled[:, parents]
        settled[(above == UNANSWERED).any(axis=1), label] = UNANSWERED
        settled[(above == 0).any(axis=1), label] = 0
    return settled


def voted_labels(hierarchy: Hierarchy | None, outcome: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask the labels of an outcome that were voted on: those whose parents are all present."""
    voted = np.ones(outcome.shape, dtype=bool)
    for label, parents in hierarchy or ():
        voted[:, label] = (outcome[:, parents] == 1).all(axis=1)
    return voted
