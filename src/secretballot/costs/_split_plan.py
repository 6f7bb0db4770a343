"""Prices in mu^2 of whole plans, and of their parts, which are paid, drawn and refunded apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from secretballot._base._objects import cached_property
from secretballot.costs._cost import GaussianCost
from secretballot.costs._game import RowGame, has_play, interpolate_share, play_of
from secretballot.costs._grid import FINE, Fineness
from secretballot.costs._law import Law, PlannedMechanism, own_delta
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._price import (
    GroupPlan,
    PlanPrice,
    group_plans,
    is_playable,
    noisy_numbers_mu2,
    price_law_cached,
)

#: Most moves that are played, in whole rows, but at least one row. Of plans of noisy bits the mu^2
#: is then .15 per cent above the game's at most.
MOST_MOVES = 1000

#: Share of the approximation delta for the rows that are not played, and the most for one of them.
_DELTA_SHARE, _MOST_DELTA = 0.05, 1e-10

#: A row's delta is at least this multiple of the numerical curve's last value, at the end of a grid
#: that covers this multiple of the variance.
_TAIL_FACTOR, _SPAN_FACTOR = 1.1, 1.5

#: Share of a row's least cost that is refunded: no more than the game would refund, also to those
#: who paid its price for a plan of as many rows.
_REFUND_SHARE = 0.995


@dataclass(frozen=True)
class LongPlan:
    """Price of many rows: the last by the game (`played`), `n_more` before by the bound on one row.

    `base` is the mu^2 that is refunded for the last rows; `row` prices one row, and a Gaussian pair
    with that mu^2 after it. Proof: docs/theory/game.md, "Long plans".
    """

    played: PlanPrice
    base: float
    row: PlanPrice
    n_more: int

    @property
    def _least_delta(self) -> float:
        """The least delta beside which a row before the last ones has a price."""
        return _TAIL_FACTOR * self.row.delta(math.inf)

    def row_mu2(self, delta: float) -> float:
        """Compute the mu^2 of a row before the last ones, beside `delta`."""
        # Beside a large delta a row may cost less than is refunded.
        return max(float(self.row.gaussian_cost(delta).mu2) - self.base, 0.0)

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        row_delta = min(_DELTA_SHARE * approximation_delta / self.n_more, _MOST_DELTA)
        row_delta = max(row_delta, self._least_delta)
        end_delta = approximation_delta - self.n_more * row_delta
        if end_delta <= 0:
            return GaussianCost(math.inf, approximation_delta)
        end_mu2 = max(float(self.played.gaussian_cost(end_delta).mu2), self.base)
        return GaussianCost(end_mu2 + self.n_more * self.row_mu2(row_delta), approximation_delta)

    def refund(self) -> float:
        row_mu2 = self.row_mu2(max(_MOST_DELTA, self._least_delta))
        return self.base + self.n_more * _REFUND_SHARE * row_mu2


def price_in_mu2(plan: GroupPlan, fineness: Fineness) -> PlanPrice | LongPlan:
    most_moves = MOST_MOVES // max((play_of(step.move).slowness for step in plan.law), default=1)
    law, times = _split_row(plan.law, most_moves)
    n_rows = times * plan.n_rows
    n_played = max(most_moves // max(RowGame(law, fineness).n_moves, 1), 1)
    if n_rows > n_played:
        return replace(_price_end(law, n_played, fineness), n_more=n_rows - n_played)
    return plan.price(fineness)


def _split_row(law: Law, most_moves: int) -> tuple[Law, int]:
    """Split a row of too many moves, if they are alike, into rows of one move."""
    times = sum(step.times for step in law)
    if times <= most_moves or len({(step.move, step.after) for step in law}) > 1:
        return law, 1
    return (replace(law[0], times=1),), times


@lru_cache(maxsize=32)
def _price_end(law: Law, n_rows: int, fineness: Fineness) -> LongPlan:
    """Price the last rows, and one before them."""
    played = price_law_cached(law, n_rows, fineness)
    base, row = played.refund(), RowGame(law, fineness)
    span = row.span(n_rows + 1, _SPAN_FACTOR)
    pair = row.grid.final_value(*span)
    if base:
        pair = replace(pair, values=gaussian_delta(np.sqrt(base), -pair.losses))
    return LongPlan(played, base, PlanPrice((row.before(pair, n_rows + 1, span),)), n_more=0)


#: Beside a smaller delta the noisy numbers are charged.
_LEAST_DELTA = 1e-30

#: Whole rows; or the thresholds of all rows, and the answers behind them.
RowPart = Literal["rows", "thresholds", "answers"]


class SplitPlan:
    """The rows of one mechanism, priced for each privacy group; arguments as for `price_plan`.

    Thresholds and the answers behind them are two plans: reserved, drawn and given back apart.
    """

    def __init__(
        self, mechanism: PlannedMechanism, n_rows: int, n_columns: int | None = None
    ) -> None:
        self._n_rows = n_rows
        self._plans = group_plans(mechanism, n_rows, n_columns)

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(self._plans)

    def pieces(
        self, part: RowPart, start: int, stop: int, fineness: Fineness = FINE
    ) -> dict[str, PlanPiece]:
        """Select rows (or thresholds), or answers, from `start` up to before `stop`."""
        if start > stop or start < 0 or (part != "answers" and stop > self._n_rows):
            raise ValueError(
                f"{part} {start} to {stop} are not part of a plan of {self._n_rows} rows."
            )
        return {
            group: PlanPiece(_select(plan, part, start, stop), fineness)
            for group, plan in self._plans.items()
        }


class PlanPiece:
    """A part of a plan as one group pays for it."""

    def __init__(self, plan: GroupPlan, fineness: Fineness) -> None:
        self._plan, self._fineness = plan, fineness
        self._plays = [play_of(step.move) for step in plan.law]

    @cached_property
    def _price_in_mu2(self) -> PlanPrice | LongPlan:
        return price_in_mu2(self._plan, self._fineness)

    @cached_property
    def noisy_numbers_mu2(self) -> float:
        """The mu^2 of the noisy numbers behind the outcomes, which is enough without a delta."""
        return noisy_numbers_mu2(self._plan.law, self._plan.n_rows)

    @cached_property
    def _own_delta(self) -> float:
        return own_delta(self._plan.law) * self._plan.n_rows

    def estimate_mu2(self, approximation_delta: float) -> float | None:
        """Estimate `gaussian_cost` without a game; None if there is no estimate."""
        if self._is_slow:
            return self.noisy_numbers_mu2
        share = _estimate_share(self._plan.law, self._plan.n_rows, approximation_delta)
        return None if share is None else share * self.noisy_numbers_mu2

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Compute the least mu^2 that is enough, rounded up; infinite beside too little delta."""
        if approximation_delta < self._own_delta:
            return GaussianCost(np.inf, approximation_delta)
        mu2 = self.noisy_numbers_mu2
        if self._is_played and approximation_delta >= _LEAST_DELTA:
            mu2 = min(float(self._price_in_mu2.gaussian_cost(approximation_delta).mu2), mu2)
        return GaussianCost(mu2, approximation_delta)

    def refund(self) -> GaussianCost:
        """Compute the mu^2 that may be given back if a plan ends before these rows."""
        # At most that of the noisy numbers, which may be all that was paid.
        mu2 = self.noisy_numbers_mu2
        return GaussianCost(min(self._price_in_mu2.refund(), mu2) if self._is_played else mu2)

    @cached_property
    def exact_cost(self) -> GaussianCost | None:
        """The price where nothing but noisy vectors is released; None elsewhere."""
        if not all(play.is_vector for play in self._plays):
            return None
        return GaussianCost(self.noisy_numbers_mu2, self._own_delta)

    @property
    def _is_slow(self) -> bool:
        return any(play.is_slow for play in self._plays)

    @cached_property
    def _is_played(self) -> bool:
        """True if a game is played; otherwise noisy numbers are charged, and refunded."""
        # No game is needed for noisy vectors. Where it takes minutes it would save at most pi / 2
        # of a long plan's price.
        if self.exact_cost is not None or self._is_slow or not self.noisy_numbers_mu2:
            return False
        return is_playable(self._plan.law, self._plan.n_rows)


def threshold_steps(law: Law) -> Law:
    return tuple(step for step in law if step.after is None)


def answer_steps(law: Law) -> Law:
    """Select the steps of answered rows behind one threshold; empty if there is none."""
    first = threshold_steps(law)
    if len(first) != 1 or first[0].times != 1:
        return ()
    return tuple(
        replace(step, after=None if step.after == first[0].name else step.after)
        for step in law
        if step.after is not None
    )


def has_game(law: Law) -> bool:
    return all(has_play(step.move) for step in law)


def _estimate_share(law: Law, n_rows: int, delta: float) -> float | None:
    """Estimate the price of a plan as a share of its noisy numbers' mu^2; None if unknown."""
    if any(step.after is not None for step in law):
        return None
    plays = [play_of(step.move) for step in law]
    bits = [(step.times, play.bits) for step, play in zip(law, plays, strict=True)]
    numbers = [(times * bit[0], bit[1]) for times, bit in bits if bit is not None]
    if len(numbers) == len(bits):
        # As many bits as if all were equally far apart.
        total = sum(n * square for n, square in numbers)
        squares = sum(n * square**2 for n, square in numbers)
        return interpolate_share(n_rows * total**2 / squares if squares else 0.0, delta)
    if len({step.move for step in law}) != 1:
        return None
    return plays[0].estimate_share(n_rows * sum(step.times for step in law), delta)


def _select(plan: GroupPlan, part: RowPart, start: int, stop: int) -> GroupPlan:
    if part == "answers":
        # Any rows in which the group takes part may be the answered ones.
        n_answers = min(stop, plan.n_rows) - min(start, plan.n_rows)
        return replace(plan, law=answer_steps(plan.law), rows=np.ones(n_answers, dtype=bool))
    rows = plan.rows.copy()
    rows[:start] = rows[stop:] = False
    law = plan.law if part == "rows" else threshold_steps(plan.law)
    return replace(plan, law=law, rows=rows)
