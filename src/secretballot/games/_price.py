"""What a plan costs as a whole: the pairs (epsilon, delta) that its game proves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.divergences import EVERYONE, Law, split_group
from secretballot.games._grid import ValueFunction
from secretballot.games._known_plan import KnownPlan
from secretballot.games._worst_game import FINE, Fineness, worst_game

#: Floating-point error of all rows together, relative.
_ROUNDING = 1e-9


class Planned(Protocol):
    """What a plan's price needs to know of a mechanism."""

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row for each privacy group."""

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return in which rows a group takes part, for groups that sit some out."""

    def check_counts(self, counts: ArrayLike) -> NDArray[Any]:
        """Return the counts as an array with one row per query, or raise ValueError."""

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return what the exact cost of each step depends on, per row."""


@dataclass(frozen=True)
class PlanPrice:
    """What a plan costs: every pair (epsilon, delta) on its curve is proven.

    Made by `price_plan`.
    """

    _value_functions: tuple[ValueFunction, ...]

    def delta(self, epsilon: float) -> float:
        """Return delta at `epsilon`, rounded up."""
        worst = max(float(worth.at(np.array(-epsilon))) for worth in self._value_functions)
        return min(worst * (1 + _ROUNDING), 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon at `delta`, rounded up; infinite where the grid ends first."""
        if self.delta(0.0) <= delta:
            return 0.0
        return _least(lambda epsilon: self.delta(epsilon) <= delta, self._highest)

    def share(self, epsilon: float, delta: float) -> float:
        """Return the least s for which (s * epsilon, s * delta) is on the curve.

        At most 1 if the plan fits (epsilon, delta).
        """
        return _least(lambda s: self.delta(s * epsilon) <= s * delta, self._highest / epsilon)

    @property
    def _highest(self) -> float:
        return -min(worth.first * worth.grid.step for worth in self._value_functions)


def _least(enough: Callable[[float], bool], most: float) -> float:
    """Return a number that is enough, next to the least one; infinity if `most` isn't."""
    if not enough(most):
        return float("inf")
    low, high = 0.0, most
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def price_plan(
    mechanism: Planned,
    n_rows: int,
    *,
    n_columns: int | None = None,
    counts: ArrayLike | None = None,
    n_answers: int | None = None,
    fineness: Fineness = FINE,
) -> dict[str, PlanPrice]:
    """Price a plan as a game: `n_rows` rows of one mechanism, all of them begun.

    Parameters
    ----------
    mechanism : Mechanism
        Of noisy bits and noisy maxima: `GNMax`, `ConfidentGNMax`.
    n_rows : int
    n_columns : int, default=None
        Columns of the counts (classes); a bound for any number if None.
    counts : array-like of shape (>= n_rows, n_columns), default=None
        Known votes: the price for these votes and all their neighbours, which is as sensitive as
        they are. Without them the price holds for all votes.
    n_answers : int, default=None
        The run ends after so many answered rows; a mechanism with a threshold and no `counts`
        only. Memory and time grow with it.
    fineness : Fineness, default=FINE

    Returns
    -------
    dict of str to PlanPrice
        Per privacy group.

    Notes
    -----
    The adversary chooses the data row by row, having seen all outcomes so far: where each gap
    lies, and the neighbour's too. No composition theorem and no conversion is involved: the worst
    case *is* the composition, adaptivity included. With P and Q the laws of what was released so
    far, the state is the loss l = log P/Q, and

        V_0(l) = max(0, 1 - e^-l),
        V_n(l) = max over moves of sum_k p_k V_{n-1}(l + log p_k/q_k),

    with delta(epsilon) = V_n(-epsilon). See `BitMove` for the bound on each maximum and
    `ValueFunction` for the one between grid points; both err upwards.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.accounting import price_plan
    >>> price = price_plan(GNMax(sigma=40), 44, n_columns=2)["*"]
    >>> round(price.epsilon(delta=1e-5), 3)
    0.688
    >>> price.delta(epsilon=0.7) < 1e-5
    True
    """
    prices = {}
    laws = mechanism.laws(n_columns)
    there = mechanism.participation(n_rows)
    if counts is not None:
        votes = mechanism.check_counts(counts)[:n_rows]
        state, laws = mechanism.state(votes), mechanism.laws(votes.shape[1])
    for group, law in laws.items():
        rows = there.get(group, np.ones(n_rows, dtype=bool))
        if counts is not None:
            plan = KnownPlan(law, {name: known[rows] for name, known in state.items()})
            prices[group] = PlanPrice(plan.value_functions(len(plan)))
        else:
            prices[group] = _price(law, int(rows.sum()), fineness, n_answers)
    return prices


@lru_cache(maxsize=32)
def _price(law: Law, n_rows: int, fineness: Fineness, n_answers: int | None) -> PlanPrice:
    worth = next(islice(worst_game(law, fineness, n_answers), n_rows, None))
    if n_answers is not None:
        worth = ValueFunction(worth.grid, worth.values[-1], worth.first)
    return PlanPrice((worth,))


def plan_rows(
    mechanism: Planned,
    n_rows: int,
    epsilon: float | Mapping[str, float],
    delta: float | Mapping[str, float],
    *,
    n_columns: int | None = None,
    counts: ArrayLike | None = None,
    fineness: Fineness = FINE,
) -> int:
    """Return how many rows, at most `n_rows`, are the longest plan that fits (epsilon, delta).

    Parameters
    ----------
    mechanism : Mechanism
    n_rows : int
        Rows that are asked for.
    epsilon, delta : float or dict of str to float
        What is left, per level of the budget; everyone's if a number.
    n_columns, counts, fineness
        As for `price_plan`.

    Returns
    -------
    int
        0 if not even one row fits.

    Examples
    --------
    >>> from secretballot import GNMax
    >>> from secretballot.accounting import plan_rows
    >>> plan_rows(GNMax(sigma=40), 100, epsilon=1, delta=1e-5, n_columns=2)
    88
    """
    laws = mechanism.laws(n_columns)
    if counts is not None:
        votes = mechanism.check_counts(counts)[:n_rows]
        state, laws = mechanism.state(votes), mechanism.laws(votes.shape[1])
    if EVERYONE in laws and len(laws) > 1:
        raise ValueError("a plan is priced per level, or for everyone, not for both at once.")
    there = mechanism.participation(n_rows)
    longest = n_rows
    for group, law in laws.items():
        rows = there.get(group, np.ones(n_rows, dtype=bool)).cumsum()
        asked = int(rows[longest - 1]) if longest else 0
        for limits in _limits(group, epsilon, delta):
            if counts is None:
                fit = _longest(law, asked, *limits, fineness)
            else:
                own = np.diff(rows, prepend=0) > 0
                plan = KnownPlan(law, {name: known[own] for name, known in state.items()})
                fit = _longest_known(plan, asked, *limits)
            asked = min(asked, fit)
        longest = min(longest, int(np.searchsorted(rows, asked, side="right")))
    return longest


def plan_share(
    mechanism: Planned,
    n_rows: int,
    epsilon: float | Mapping[str, float],
    delta: float | Mapping[str, float],
    *,
    n_columns: int | None = None,
    fineness: Fineness = FINE,
) -> float:
    """Return the least s such that a plan costs no level more than (s * epsilon, s * delta)."""
    prices = price_plan(mechanism, n_rows, n_columns=n_columns, fineness=fineness)
    return max(
        price.share(*limits)
        for group, price in prices.items()
        for limits in _limits(group, epsilon, delta)
    )


def _limits(
    group: str, epsilon: float | Mapping[str, float], delta: float | Mapping[str, float]
) -> list[tuple[float, float]]:
    """Return the pairs that a group has to fit: its level's, or every level's."""
    named = {name for limit in (epsilon, delta) if isinstance(limit, Mapping) for name in limit}
    level = split_group(group)[0]
    levels = sorted(named) if level == EVERYONE and named else [level]

    def at(limit: float | Mapping[str, float], name: str) -> float:
        return limit[name] if isinstance(limit, Mapping) else limit

    return [(at(epsilon, name), at(delta, name)) for name in levels]


@lru_cache(maxsize=32)
def _longest(law: Law, n_rows: int, epsilon: float, delta: float, fineness: Fineness) -> int:
    for n_fit, worth in enumerate(islice(worst_game(law, fineness), 1, n_rows + 1)):
        if PlanPrice((worth,)).delta(epsilon) > delta:
            return n_fit
    return n_rows


def _longest_known(plan: KnownPlan, n_rows: int, epsilon: float, delta: float) -> int:
    """Search for the last prefix that fits; they only get dearer, by more than what is rounded."""

    def fits(n_first: int) -> bool:
        return PlanPrice(plan.value_functions(n_first)).delta(epsilon) <= delta

    low, high = 0, min(64, n_rows)
    while high < n_rows and fits(high):
        low, high = high, min(2 * high, n_rows)
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
