"""Labels that depend on others: where a parent is absent nobody asks about its dependants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.mechanisms._noisy_max import UNANSWERED

#: Each dependant label with its parents, in an order in which parents come before dependants.
Hierarchy = tuple[tuple[int, tuple[int, ...]], ...]

_WANTED = "map labels to their parents, all of them column numbers: {1: 0, 2: (0, 1)}"


def as_hierarchy(given: Any) -> Hierarchy | None:
    """Return who depends on whom as something that can't be changed, or raise `ValueError`.

    `given` is a mapping from labels to a parent each or several, or the pairs of one.
    """
    if given is None:
        return None
    try:
        pairs = [
            (label, tuple(parents) if isinstance(parents, Iterable) else (parents,))
            for label, parents in (given.items() if isinstance(given, Mapping) else given)
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"hierarchy={given!r} must {_WANTED}.") from error
    for label, parents in pairs:
        for number in (label, *parents):
            if not isinstance(number, Integral) or isinstance(number, bool) or number < 0:
                raise ValueError(
                    f"hierarchy={given!r} names the label {number!r}; it must {_WANTED}."
                )
        if not parents:
            raise ValueError(f"hierarchy={given!r} gives label {label} no parent; leave it out.")
    above = {int(label): tuple(sorted({int(one) for one in each})) for label, each in pairs}
    if len(above) < len(pairs):
        raise ValueError(f"hierarchy={given!r} names a label twice; give all its parents at once.")
    ordered: list[tuple[int, tuple[int, ...]]] = []
    while above:
        ready = sorted(label for label in above if not any(one in above for one in above[label]))
        if not ready:
            circle = " -> ".join(map(str, _circle(above)))
            raise ValueError(
                f"hierarchy={given!r} goes in a circle, {circle}: each of these labels would have "
                "to be asked after its parent. Leave one of the links out."
            )
        ordered += [(label, above.pop(label)) for label in ready]
    return tuple(ordered) or None


def _circle(above: Mapping[int, tuple[int, ...]]) -> list[int]:
    """Return labels each followed by a parent, the last one being the first."""
    path = [min(above)]
    while path[-1] not in path[:-1]:
        path.append(next(one for one in above[path[-1]] if one in above))
    return path[path.index(path[-1]) :]


def check_labels(hierarchy: Hierarchy | None, n_labels: int) -> None:
    """Refuse a hierarchy of labels that there are none of."""
    most = max((one for label, above in hierarchy or () for one in (label, *above)), default=-1)
    if most >= n_labels:
        raise ValueError(
            f"hierarchy={hierarchy!r} names the label {most}, and there are {n_labels} labels; "
            "they are the columns of counts, numbered from 0."
        )


def inherited(hierarchy: Hierarchy | None, outcome: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an outcome of labels that were all asked as if dependants had not always been."""
    settled = outcome.copy()
    for label, parents in hierarchy or ():
        above = settled[:, parents]
        settled[(above == UNANSWERED).any(axis=1), label] = UNANSWERED
        settled[(above == 0).any(axis=1), label] = 0
    return settled


def asked(hierarchy: Hierarchy | None, outcome: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels of an outcome were asked: those all of whose parents are present."""
    begun = np.ones(outcome.shape, dtype=bool)
    for label, parents in hierarchy or ():
        begun[:, label] = (outcome[:, parents] == 1).all(axis=1)
    return begun
