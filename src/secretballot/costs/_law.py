"""The law of a mechanism: the noisy moves that one row makes, their order, and what they cost.

A mechanism states its law once, as data. The most that a row can cost, the cost of its outcome, and
the price of a whole run are computed from it; nothing else in the library knows its noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from secretballot.costs._cost import RenyiCost
from secretballot.costs._divergence import exact_bit, gaussian_bound, worst_bit
from secretballot.costs._exact_max import exact_level_max, exact_max, papernot_bound
from secretballot.costs._orders import ORDERS, Floats, order_array, order_index
from secretballot.costs._worst_max import worst_max

#: Largest number of classes whose costs are tabulated by gap.
_MOST_CLASSES = 1_000


class Move(ABC):
    """Base class: one noisy release of a discrete outcome.

    The *state* of a move is the known data that its exact cost depends on, one entry a row.
    """

    @abstractmethod
    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum of the cost over all data at `orders` (the shared grid if None)."""

    def exact(self, state: Floats) -> Floats:
        """Compute the cost on known data, shape (n_rows, n_orders): by default the worst case."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))

    def dominated_by(self, other: Move) -> bool:
        """Test if `other` is at least as easy to tell apart in every adaptive plan."""
        return self == other

    @property
    def gap_shift(self) -> int:
        """Change of a row's gap by one replaced ballot of weight 1; 0 without `gap_costs`."""
        return 0

    def gaps(self, state: Floats) -> Floats:
        """Compute the distance of each row from a tie: the lead of the largest count."""
        ordered = np.sort(state, axis=1)
        return np.asarray(ordered[:, -1] - (ordered[:, -2] if ordered.shape[1] > 1 else 0))

    def gap_costs(self, widest: int) -> Floats:
        """Bound the cost at gaps of 0, ..., `widest` ballots, shape (widest + 1, n_orders)."""
        raise NotImplementedError(f"{self!r} is not bounded by a gap.")


class LabelsMove(Move):
    """Base class: one release for each label of a row; some of them may not be begun."""

    @abstractmethod
    def restrict_labels(self, n_labels: int) -> Move:
        """Make the move with the largest cost that `n_labels` of the labels can have."""

    @abstractmethod
    def exact(self, state: Floats, begun: NDArray[np.bool_] | None = None) -> Floats:
        """Compute the cost on known data of the labels that were `begun`, (n_rows, n_labels)."""


@dataclass(frozen=True, kw_only=True)
class NoisyBit(Move):
    """Release of the sign of a gap plus N(0, scale^2); a neighbour moves the gap by `shift`.

    The state is the gap, shape (n_rows,).
    """

    scale: float
    shift: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum over all gaps."""
        return worst_bit(self.shift / self.scale, orders)

    def exact(self, state: Floats) -> Floats:
        """Compute the cost at known gaps."""
        return exact_bit(state / self.scale, self.shift / self.scale)

    def dominated_by(self, other: Move) -> bool:
        """Compare shifts, of bits of one kind."""
        if not isinstance(other, NoisyBit) or other.kind is not self.kind:
            return False
        return self.shift / self.scale <= other.shift / other.scale

    @property
    def kind(self) -> type[NoisyBit]:
        """Class among whose instances shifts are comparable."""
        return NoisyBit

    @property
    def gap_shift(self) -> int:
        """Shift of the gap, if it is a whole number of ballots."""
        is_whole = self.kind is NoisyBit and float(self.shift).is_integer()
        return int(self.shift) if is_whole else 0

    def gaps(self, state: Floats) -> Floats:
        """Compute the distance of each row from a tie."""
        return np.abs(state)

    def gap_costs(self, widest: int) -> Floats:
        """Compute the exact cost at gaps of 0, ..., `widest` ballots."""
        return exact_bit(np.arange(widest + 1) / self.scale, self.shift / self.scale)


@dataclass(frozen=True, kw_only=True)
class NoisyVector(Move):
    """Release of a vector with Gaussian noise; a neighbour's is `ratio` standard deviations away.

    The cost is the same on all data.
    """

    ratio: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the cost of the Gaussian mechanism."""
        return gaussian_bound(self.ratio, order_array(orders))

    def dominated_by(self, other: Move) -> bool:
        """Compare distances."""
        return type(other) is NoisyVector and self.ratio <= other.ratio


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Move):
    """Release of the largest count after N(0, sigma^2) on each; a ballot of `weight` moves.

    The state is the counts, shape (n_rows, n_classes); classes beyond its columns have no votes.
    Without `n_classes` the worst case holds for any number of classes.

    Several `ballots` may go from and to different classes; at worst they cost what one ballot of
    their total weight does.
    """

    sigma: float
    weight: float
    ballots: int = 1
    n_classes: int | None = None

    @property
    def ratio(self) -> float:
        """Largest change of a count between neighbours over the noise on it."""
        return self.weight * self.ballots / self.sigma

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum over all counts."""
        if self.n_classes == 1:
            return np.zeros(len(order_array(orders)))
        if self.n_classes == 2:
            return worst_bit(float(np.sqrt(2)) * self.ratio, orders)
        return worst_max(self.ratio, orders)

    def exact(self, state: Floats) -> Floats:
        """Compute the cost on known counts."""
        n_classes = state.shape[1] if self.n_classes is None else self.n_classes
        if n_classes == 1:
            return np.zeros((len(state), len(ORDERS)))
        if n_classes > max(state.shape[1], 2):
            return exact_level_max(state, n_classes, self.sigma, self.weight, self.ballots)
        voteless = np.zeros((len(state), n_classes - state.shape[1]))
        return exact_max(np.hstack([state, voteless]), self.sigma, self.weight, self.ballots)

    def dominated_by(self, other: Move) -> bool:
        """Compare ratios, for no more classes.

        For whole plans of three or more classes it is not proven that several ballots cost what one
        heavy ballot does; such a plan covers several ballots only if it was priced for several.
        """
        if not isinstance(other, NoisyMax) or self.ratio > other.ratio:
            return False
        fewer = other.n_classes is None or (
            self.n_classes is not None and self.n_classes <= other.n_classes
        )
        return fewer and (self.ballots == 1 or self.n_classes == 2 or other.ballots > 1)

    @property
    def gap_shift(self) -> int:
        """Change of the lead by one whole ballot, which moves from the first to the second."""
        tabulated = self.n_classes is not None and self.n_classes <= _MOST_CLASSES
        return 2 if tabulated and self.weight == self.ballots == 1 else 0

    def gap_costs(self, widest: int) -> Floats:
        """Bound the cost at leads of 0, ..., `widest` ballots.

        Two classes: the exact cost. More: the published bound, with all other classes as far behind
        as the second, in both directions (a neighbour's lead is smaller by 2).
        """
        assert self.n_classes is not None
        gaps, noise = np.arange(widest + 1), float(np.sqrt(2)) * self.sigma
        if self.n_classes == 2:
            return exact_bit(gaps / noise, 2 / noise)
        with np.errstate(divide="ignore"):  # one class never loses
            log_loss = log_ndtr(-gaps / noise) + np.log(self.n_classes - 1)
        published = papernot_bound(log_loss, self.sigma)
        return np.asarray(np.maximum(published, published[np.maximum(gaps - 2, 0)]))


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
    """Compute the most a row can cost: all steps begun as often as possible."""
    # With `order` only that order is computed and the others are infinite, which is sound and fast.
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


def vector_mu2(law: Law) -> float | None:
    """Compute the mu^2 of a row of noisy vectors, exact on all data; None of any other row."""
    mu2 = 0.0
    for step in law:
        if type(step.move) is not NoisyVector or step.after is not None or step.delta:
            return None
        mu2 += step.times * step.move.ratio**2
    return mu2


def realised_cost(
    law: Law, executed: Mapping[str, Floats], state: Mapping[str, Floats] | None
) -> RenyiCost:
    """Compute the cost of each row's begun steps: exact by their `state`, or at worst."""
    # `executed` counts a step's executions, or marks a `LabelsMove`'s labels, (n_rows, n_labels).
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
    """Compute distinct rows and the position of each row among them, faster than numpy."""
    order = np.lexsort(table.T)
    ordered, first = table[order], np.ones(len(table), dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(len(table), dtype=np.intp)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def _times_begun(times: Floats) -> Floats:
    """Count the executions of a step in each row, or its labels that were begun."""
    return times.sum(axis=1) if times.ndim > 1 else times
