"""Plans of a mechanism's rows for each privacy group, as reservations pay for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from secretballot._base._cached_property import cached_property
from secretballot.costs._gaussian_cost import GaussianCost
from secretballot.costs._law import Law, PlannedMechanism, own_delta
from secretballot.costs._long_plan import LongPlan, price_in_mu2
from secretballot.costs._plan_price import PlanPrice
from secretballot.costs._price import GroupPlan, group_plans
from secretballot.costs.moves import FINE, Fineness, has_play, interpolate_share, play_of

#: The most mu^2 of noisy numbers, and the largest shift, that games are played for.
_MOST_MU2, _LARGEST_SHIFT = 900.0, 5.0

#: Beside a smaller delta the noisy numbers are charged.
_LEAST_DELTA = 1e-30

#: Whole rows; or the thresholds of all rows, and the answers behind them.
RowPart = Literal["rows", "thresholds", "answers"]


class SplitPlan:
    """The rows of one mechanism, priced for each privacy group; arguments as for `price_plan`.

    Where one threshold decides which rows are answered the thresholds and the
    answers are two plans: they can be reserved, drawn and given back apart.
    """

    def __init__(
        self, mechanism: PlannedMechanism, n_rows: int, n_columns: int | None = None
    ) -> None:
        self._n_rows = n_rows
        self._plans = group_plans(mechanism, n_rows, n_columns)

    @property
    def groups(self) -> tuple[str, ...]:
        """Privacy groups that are charged."""
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
        steps = zip(self._plan.law, self._plays, strict=True)
        row = sum(step.times * play.noisy_shift**2 for step, play in steps)
        return float(row * self._plan.n_rows)

    @cached_property
    def _own_delta(self) -> float:
        """The delta that the rows' steps have of their own."""
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
        """Compute the mu^2 that may be given back if a plan ends before these rows.

        At most that of the noisy numbers, which may be all that was paid.
        """
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
        """True if a game is played; otherwise noisy numbers are charged, and refunded.

        No game is needed for noisy vectors, nor beyond epsilons of hundreds, nor where a row
        reveals nearly everything. Where a game takes minutes, it would save at most pi / 2 of a
        long plan's price.
        """
        if self.exact_cost is not None or self._is_slow:
            return False
        largest = max((play.noisy_shift for play in self._plays), default=0.0)
        return 0 < self.noisy_numbers_mu2 < _MOST_MU2 and largest < _LARGEST_SHIFT


def threshold_steps(law: Law) -> Law:
    """Select the steps that every row makes."""
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
    """Check that plans of such rows have a price."""
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
