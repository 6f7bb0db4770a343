"""Change of exact statistics between neighbours, as a part of what a mechanism charges for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from secretballot.mechanisms import (
    BestOfCounts,
    BinaryVoting,
    GNMax,
    Mechanism,
    NoisyCounts,
    NoisyMargin,
    PowersetVoting,
    RoundRobin,
    SkellamMax,
    TauVoting,
    TopK,
    VectorSum,
)
from secretballot.mechanisms._proportions import Proportions

ZERO, NEVER = Fraction(0), Fraction(10**9)


def squared_ratio(
    mechanism: Mechanism, before: np.ndarray, after: np.ndarray, level: str | None
) -> Fraction:
    """Return the square of the greatest change of a row over the charged one, exactly.

    Parameters
    ----------
    mechanism : Mechanism
    before, after : ndarray of shape (n_rows, n_columns)
        Statistics that were passed to the door.
    level : str or None
        Level of the person who was replaced.
    """
    if isinstance(mechanism, PowersetVoting):
        rows = [_changed_sets(*pair) for pair in zip(before, after, strict=True)]
    elif before.shape != after.shape:
        return NEVER
    else:
        rows = [_changes(*pair) for pair in zip(before.tolist(), after.tolist(), strict=True)]
    if mechanism.rows == "parallel":  # a person is in one row alone
        changed = [row for row in rows if any(row)]
        if len(changed) > 1:
            return NEVER
    if isinstance(mechanism, RoundRobin):
        if not _is_one_part(mechanism, [any(row) for row in rows], level):
            return NEVER
        mechanism = mechanism.mechanism
    return max((_squared(mechanism, row, level) for row in rows), default=ZERO)


def _changes(before: list[float], after: list[float]) -> list[Fraction]:
    pairs = zip(before, after, strict=True)
    return [ZERO if a == b else Fraction(b) - Fraction(a) for a, b in pairs]


def _changed_sets(before: np.ndarray, after: np.ndarray) -> list[Fraction]:
    """Return the changes of the counts of all sets that were voted for."""
    counts = [
        {bytes(ballot): Fraction(count) for ballot, count in row.tolist() if count}
        for row in (before, after)
    ]
    sets = counts[0].keys() | counts[1].keys()
    return [counts[1].get(key, ZERO) - counts[0].get(key, ZERO) for key in sets]


def _is_one_part(turns: RoundRobin, changed: list[bool], level: str | None) -> bool:
    """Return True if the changed rows are rows of one part of the level."""
    assert level is not None
    present = turns.participation(len(changed))
    parts = [turns.part(level, number) for number in range(turns.turns[level][1])]
    masks = [present.get(part, np.ones(len(changed), dtype=bool)) for part in parts]
    return any(not (np.array(changed) & ~mask).any() for mask in masks)


def _of(value: Any, level: str | None) -> Fraction:
    return Fraction(value[level] if isinstance(value, Mapping) else value)


def _contribution(mechanism: Any, level: str | None) -> Fraction:
    return _of(mechanism.weight, level) * _of(getattr(mechanism, "ballots", 1), level)


def _gain_and_loss(row: list[Fraction]) -> Fraction:
    """Return what moved up, or down if that is more."""
    changes = [x for x in row if x]
    return max(sum(x for x in changes if x > 0), -sum(x for x in changes if x < 0), ZERO)


def _square(row: list[Fraction]) -> Fraction:
    return sum((x * x for x in row if x), ZERO)


@singledispatch
def _squared(mechanism: Mechanism, row: list[Fraction], level: str | None) -> Fraction:
    raise NotImplementedError(f"the charged change of {type(mechanism).__name__}")


@_squared.register(GNMax)
@_squared.register(SkellamMax)
@_squared.register(PowersetVoting)
def _moved_ballots(mechanism: Any, row: list[Fraction], level: str | None) -> Fraction:
    return (_gain_and_loss(row) / _contribution(mechanism, level)) ** 2


@_squared.register(BinaryVoting)
def _moved_labels(mechanism: Any, row: list[Fraction], level: str | None) -> Fraction:
    return (max(map(abs, row)) / _contribution(mechanism, level)) ** 2


@_squared.register(TauVoting)
def _moved_clipped(mechanism: Any, row: list[Fraction], level: str | None) -> Fraction:
    most = Fraction(mechanism.tau) * _contribution(mechanism, level)
    if mechanism.norm == "l2":
        return _square(row) / (2 * most**2)
    return (_gain_and_loss(row) / most) ** 2


@_squared.register
def _moved_sum(mechanism: VectorSum, row: list[Fraction], level: str | None) -> Fraction:
    return _square(row) / (Fraction(mechanism.sensitivity) * _of(mechanism.weight, level)) ** 2


@_squared.register
def _moved_counts(mechanism: NoisyCounts, row: list[Fraction], level: str | None) -> Fraction:
    replaced = mechanism.relation == "replace" and len(row) > 1
    return _square(row) / ((2 if replaced else 1) * _of(mechanism.weight, level) ** 2)


@_squared.register
def _moved_margin(mechanism: NoisyMargin, row: list[Fraction], level: str | None) -> Fraction:
    return max(map(abs, row)) ** 2


@_squared.register
def _moved_range(mechanism: BestOfCounts, row: list[Fraction], level: str | None) -> Fraction:
    width = (2 if mechanism.relation == "replace" else 1) * _of(mechanism.weight, level)
    return ((max(row) - min(row)) / width) ** 2


@_squared.register
def _moved_items(mechanism: TopK, row: list[Fraction], level: str | None) -> Fraction:
    most = _contribution(mechanism, level)
    squares = [(max(map(abs, row)) / most) ** 2]
    if mechanism.max_items is not None:
        squares.append((_gain_and_loss(row) / (most * mechanism.max_items)) ** 2)
    return max(squares)


@_squared.register
def _moved_label(mechanism: Proportions, row: list[Fraction], level: str | None) -> Fraction:
    return _gain_and_loss(row) ** 2
