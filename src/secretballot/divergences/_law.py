"""A mechanism's law: the noisy moves that one row makes, and what follows what.

A mechanism states its law once, as data. What a row can cost, what it did cost, and the price of a
whole run are all computed from it; nothing else in the library knows a mechanism's noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences._bit import exact_bit, gaussian_bound, worst_bit
from secretballot.divergences._cost import RenyiCost
from secretballot.divergences._exact_max import exact_level_max, exact_max
from secretballot.divergences._orders import ORDERS, Floats, order_index
from secretballot.divergences._papernot import papernot_bound
from secretballot.divergences._worst_max import worst_max

#: ``"exact"``: what the outcome reveals. ``"papernot"``: what published tables charge.
Bound = Literal["exact", "papernot"]


def check_bound(bound: str) -> None:
    """Refuse an unknown name of a bound."""
    if bound not in get_args(Bound):
        raise ValueError(f"bound={bound!r} is unknown; use one of {', '.join(get_args(Bound))}.")


class Move(ABC):
    """Base class: one noisy release of a discrete outcome."""

    @abstractmethod
    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the supremum over all data at `orders` (the shared grid if None)."""

    @abstractmethod
    def exact(self, state: Any) -> Floats:
        """Return the cost on known data, shape (n_rows, n_orders)."""

    def dominated_by(self, other: Move) -> bool:
        """Whether `other` is at least as easy to tell apart in every adaptive plan."""
        return self == other


class MoveOfLabels(Move):
    """Base class: several releases at once, one for each label, of which some may not be begun."""

    @abstractmethod
    def restrict_labels(self, n_labels: int) -> Move:
        """Return the most that the releases of so many labels can be."""

    @abstractmethod
    def exact(self, state: Any, begun: NDArray[np.bool_] | None = None) -> Floats:
        """Return the cost on known data of the labels that were `begun`, (n_rows, n_labels)."""


@dataclass(frozen=True, kw_only=True)
class NoisyBit(Move):
    """Releases whether a gap plus N(0, scale^2) is positive; a neighbour moves the gap by `shift`.

    The state is the gap, shape (n_rows,).
    """

    scale: float
    shift: float
    bound: Bound = "exact"

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the supremum over all gaps."""
        ratio = self.shift / self.scale
        if self.bound == "papernot":
            return gaussian_bound(ratio, _orders(orders))
        return worst_bit(ratio, orders)

    def exact(self, state: Floats) -> Floats:
        """Return the cost at known gaps."""
        if self.bound == "papernot":
            curve = self.worst_case()
            return np.broadcast_to(curve, (len(state), len(curve)))
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


@dataclass(frozen=True, kw_only=True)
class NoisyTop(NoisyBit):
    """Releases whether the largest count, with noise, reaches a threshold: its gap is the distance.

    The counts are those of the `NoisyMax` that follows it, so that one ballot moves both. A plan on
    known votes is priced accordingly; step by step it is charged as the noisy bit that it is.
    """


@dataclass(frozen=True, kw_only=True)
class NoisyVector(Move):
    """Releases a vector with Gaussian noise; a neighbour's is `ratio` standard deviations away.

    It costs the same on all data.
    """

    ratio: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return what it costs, whatever the vector."""
        return gaussian_bound(self.ratio, _orders(orders))

    def exact(self, state: Any) -> Floats:
        """Return what it costs, for each row."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))

    def dominated_by(self, other: Move) -> bool:
        """Compare distances."""
        return type(other) is NoisyVector and self.ratio <= other.ratio


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Move):
    """Releases which count is largest after N(0, sigma^2) on each; ballots of `weight` move.

    The state is the counts, shape (n_rows, n_classes); where it has fewer columns the other classes
    have no votes. Without `n_classes` the worst case holds for any number of classes.

    Several `ballots` may go from and to different classes; at worst they move like one that weighs
    as much (`_several_ballots`).
    """

    sigma: float
    weight: float
    ballots: int = 1
    n_classes: int | None = None
    bound: Bound = "exact"

    @property
    def ratio(self) -> float:
        """What a neighbour moves at most, in units of the noise on a count."""
        return self.weight * self.ballots / self.sigma

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the supremum over all counts."""
        if self.n_classes == 1:
            return np.zeros(len(_orders(orders)))
        if self.bound == "papernot":
            return gaussian_bound(float(np.sqrt(2)) * self.ratio, _orders(orders))
        if self.n_classes == 2:
            return worst_bit(float(np.sqrt(2)) * self.ratio, orders)
        return worst_max(self.ratio, orders)

    def exact(self, state: Floats) -> Floats:
        """Return the cost on known counts."""
        n_classes = state.shape[1] if self.n_classes is None else self.n_classes
        if n_classes == 1:
            return np.zeros((len(state), len(ORDERS)))
        if self.bound == "papernot":
            weight = self.weight * self.ballots
            return papernot_bound(state, self.sigma, weight, n_classes=n_classes)
        if n_classes > max(state.shape[1], 2):
            return exact_level_max(state, n_classes, self.sigma, self.weight, self.ballots)
        unseen = np.zeros((len(state), n_classes - state.shape[1]))
        return exact_max(np.hstack([state, unseen]), self.sigma, self.weight, self.ballots)

    def dominated_by(self, other: Move) -> bool:
        """Compare ratios, for no more classes.

        That several ballots move like one heavy one is not proven for whole plans of three or more
        classes, which are priced as if they did only where one ballot was paid for.
        """
        if not isinstance(other, NoisyMax) or self.ratio > other.ratio:
            return False
        fewer = other.n_classes is None or (
            self.n_classes is not None and self.n_classes <= other.n_classes
        )
        return fewer and (self.ballots == 1 or self.n_classes == 2 or other.ballots > 1)


@dataclass(frozen=True)
class Step:
    """A move as part of a row: how often at most, and which step's positive outcome begins it.

    Each time it may fail to be what its move says, with a probability of at most `delta`.
    """

    name: str
    move: Move
    times: int = 1
    after: str | None = None
    delta: float = 0.0


Law = tuple[Step, ...]


def worst_case_cost(law: Law, order: float | None = None) -> RenyiCost:
    """Return the most a row can cost under `law`: every step begun as often as it can be.

    With `order` only that order is computed and the others are infinite, which is sound and fast.
    """
    chosen = None if order is None else (float(order),)
    total, delta = np.zeros(len(_orders(chosen))), own_delta(law)
    for step in law:
        total = total + step.times * step.move.worst_case(chosen)
    if order is None:
        return RenyiCost(total, delta)
    curve = np.full(len(ORDERS), np.inf)
    curve[order_index(order)] = total[0]
    return RenyiCost(curve, delta)


def own_delta(law: Law) -> float:
    """Return the delta that a row's steps have of their own, all of them begun."""
    return float(sum(step.times * step.delta for step in law))


def realised_cost(
    law: Law, executed: Mapping[str, Floats], state: Mapping[str, Any] | None
) -> RenyiCost:
    """Return what each row did cost: the steps that were begun, as often as they were.

    Parameters
    ----------
    law : Law
    executed : mapping of str to ndarray of shape (n_rows,) or (n_rows, n_labels)
        How often each step was begun; or which labels of a `MoveOfLabels` were.
    state : mapping of str to state of the step's move, or None
        Known data for exact costs; None, or nothing, for the worst case.
    """
    if not state:
        return _realised_at_worst(law, executed)
    n_rows = len(next(iter(executed.values())))
    total, delta = np.zeros((n_rows, len(ORDERS))), np.zeros(n_rows)
    for step in law:
        times = executed[step.name]
        delta += step.delta * _number(times)
        # Where a step was not begun its cost, perhaps infinite, isn't.
        rows = np.flatnonzero(_number(times))
        known = state[step.name][rows]
        if times.ndim > 1:
            exact = cast("MoveOfLabels", step.move).exact(known, times[rows] > 0)
        else:
            exact = step.move.exact(known)
            if np.any(times[rows] != 1):
                exact = exact * times[rows, None]
        if len(rows) == n_rows:
            total += exact
        else:
            total[rows] += exact
    return RenyiCost(total, delta)


def _realised_at_worst(law: Law, executed: Mapping[str, Floats]) -> RenyiCost:
    table = np.stack([_number(executed[step.name]) for step in law], axis=1)
    alike = len(table) > 0 and bool((table == table[0]).all())  # saves a sort of all rows
    patterns, inverse = (table[:1], 0) if alike else _distinct(table)
    curves, delta = np.zeros((len(patterns), len(ORDERS))), np.zeros(len(patterns))
    for column, step in enumerate(law):
        times = patterns[:, column]
        delta += step.delta * times
        if executed[step.name].ndim > 1:
            restrict_labels = cast("MoveOfLabels", step.move).restrict_labels
            curves += np.stack([restrict_labels(int(number)).worst_case() for number in times])
        else:
            curves += (times * RenyiCost(step.move.worst_case())).curve
    if alike:
        shape = (len(table), len(ORDERS))
        return RenyiCost(np.broadcast_to(curves, shape), np.broadcast_to(delta, shape[:1]))
    return RenyiCost(curves[inverse], delta[inverse])


def _distinct(table: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the rows that differ, and which of them each row is; much faster than `np.unique`."""
    order = np.lexsort(table.T)
    ordered, first = table[order], np.ones(len(table), dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(len(table), dtype=np.intp)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def _number(times: Floats) -> Floats:
    """Return how often a step was begun, or of how many labels."""
    return times.sum(axis=1) if times.ndim > 1 else times


def _orders(orders: tuple[float, ...] | None) -> Floats:
    return ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
