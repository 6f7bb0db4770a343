"""The law of a mechanism: the moves that one row makes, and their order.

A mechanism states its law once, as data. The most that a row can cost, the cost of its outcome, and
the price of a whole run are computed from it; nothing else in the library knows its noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._cost import RenyiCost
from secretballot.costs._moves import LabelsMove, Move
from secretballot.costs._orders import ORDERS, Floats, order_array, order_index


@dataclass(frozen=True)
class Step:
    """A move of a row, made at most `times` times, if the step `after` had a positive outcome.

    Each time it may fail to be its move with a probability of at most `delta`.
    """

    name: str
    move: Move
    times: int = 1
    after: str | None = None
    delta: float = 0.0


Law = tuple[Step, ...]


class PlannedMechanism(Protocol):
    """A mechanism whose plans can be priced."""

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Build the law of one row for each privacy group."""

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Mark the rows in which a group takes part, for groups that sit some out."""

    def state(self, counts: NDArray[Any]) -> dict[str, Floats]:
        """Compute the state of each step's move, per row."""

    def executed(self, outcome: NDArray[Any]) -> dict[str, Floats]:
        """Count the executions of each step in each row."""


def worst_case_cost(law: Law, order: float | None = None) -> RenyiCost:
    """Compute the most a row can cost under `law`: all steps begun as often as possible.

    With `order` only that order is computed and the others are infinite, which is sound and fast.
    """
    orders = None if order is None else (float(order),)
    total, delta = np.zeros(len(order_array(orders))), own_delta(law)
    for step in law:
        total = total + step.times * step.move.worst_case(orders)
    if order is None:
        return RenyiCost(total, delta)
    curve = np.full(len(ORDERS), np.inf)
    curve[order_index(order)] = total[0]
    return RenyiCost(curve, delta)


def own_delta(law: Law) -> float:
    """Compute the delta of a row's steps, all of them begun."""
    return float(sum(step.times * step.delta for step in law))


def realised_cost(
    law: Law, executed: Mapping[str, Floats], state: Mapping[str, Floats] | None
) -> RenyiCost:
    """Compute the cost of each row's begun steps: exact by their `state`, or at worst.

    `executed` has the number of times that each step was begun, shape (n_rows,), or marks the
    labels of a `LabelsMove` that were, (n_rows, n_labels).
    """
    if not state:
        return _realised_at_worst(law, executed)
    n_rows = len(next(iter(executed.values())))
    total, delta = np.zeros((n_rows, len(ORDERS))), np.zeros(n_rows)
    for step in law:
        times = executed[step.name]
        delta += step.delta * _times_begun(times)
        # A step that was not begun costs nothing, even if its cost is infinite.
        rows = np.flatnonzero(_times_begun(times))
        step_state = state[step.name][rows]
        if times.ndim > 1:
            exact = cast("LabelsMove", step.move).exact(step_state, times[rows] > 0)
        else:
            exact = step.move.exact(step_state)
            if np.any(times[rows] != 1):
                exact = exact * times[rows, None]
        if len(rows) == n_rows:
            total += exact
        else:
            total[rows] += exact
    return RenyiCost(total, delta)


def _realised_at_worst(law: Law, executed: Mapping[str, Floats]) -> RenyiCost:
    table = np.stack([_times_begun(executed[step.name]) for step in law], axis=1)
    alike = len(table) > 0 and bool((table == table[0]).all())  # saves a sort of all rows
    patterns, inverse = (table[:1], 0) if alike else _distinct_rows(table)
    curves, delta = np.zeros((len(patterns), len(ORDERS))), np.zeros(len(patterns))
    for column, step in enumerate(law):
        times = patterns[:, column]
        delta += step.delta * times
        if executed[step.name].ndim > 1:
            move = cast("LabelsMove", step.move)
            curves += np.stack([move.restrict_labels(int(n)).worst_case() for n in times])
        else:
            curves += (times * RenyiCost(step.move.worst_case())).curve
    if alike:
        shape = (len(table), len(ORDERS))
        return RenyiCost(np.broadcast_to(curves, shape), np.broadcast_to(delta, shape[:1]))
    return RenyiCost(curves[inverse], delta[inverse])


def _distinct_rows(table: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Compute distinct rows and the position of each row among them, faster than `np.unique`."""
    order = np.lexsort(table.T)
    ordered, first = table[order], np.ones(len(table), dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(len(table), dtype=np.intp)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def _times_begun(times: Floats) -> Floats:
    """Count the executions of a step in each row, or its labels that were begun."""
    return times.sum(axis=1) if times.ndim > 1 else times
