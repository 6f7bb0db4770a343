"""What a plan's rows cost each group, whole or in parts: what reservations are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences import GaussianCost, Law, own_delta
from secretballot.games._long_plan import LongPlan, price_in_mu2
from secretballot.games._plan_price import PlanPrice
from secretballot.games._price import GroupPlan, PlannedMechanism, plan_parts
from secretballot.games._worst_game import FINE, Fineness
from secretballot.games.moves import expected_share, has_play, play_of

#: The most noisy numbers (mu^2), and the largest shift, that games are played for.
_MOST, _LARGEST = 900.0, 5.0

#: Smaller deltas buy nothing: the noisy numbers are charged.
_LEAST_DELTA = 1e-30

#: Whole rows; or what every row is asked, and what answered rows are asked.
RowPart = Literal["rows", "thresholds", "answers"]


class SplitPlan:
    """The rows of one mechanism, priced for each privacy group.

    Where one threshold decides which rows are answered, the thresholds and the answers are two
    plans: they can be reserved, drawn and given back apart.

    Parameters
    ----------
    mechanism : Mechanism
    n_rows : int
        The most that there can be.
    n_columns, counts
        As for `price_plan`.
    """

    def __init__(
        self,
        mechanism: PlannedMechanism,
        n_rows: int,
        n_columns: int | None = None,
        counts: ArrayLike | None = None,
    ) -> None:
        self._parts = plan_parts(mechanism, n_rows, n_columns, counts)
        laws = [part.law for part in self._parts.values()]
        #: Whether the answers are a plan of their own. (Of known rows nothing can be left over.)
        self.has_threshold = counts is None and all(map(answer_steps, laws))

    @property
    def groups(self) -> tuple[str, ...]:
        """Who is charged."""
        return tuple(self._parts)

    def pieces(
        self, what: RowPart, start: int, stop: int, fineness: Fineness = FINE
    ) -> dict[str, PlanPiece]:
        """Return rows (or thresholds), or so many answers, from `start` up to before `stop`."""
        return {
            group: PlanPiece(_chosen(part, what, start, stop), fineness)
            for group, part in self._parts.items()
        }


class PlanPiece:
    """A part of a plan as one group pays for it."""

    def __init__(self, part: GroupPlan, fineness: Fineness) -> None:
        self._part, self._fineness = part, fineness

    @cached_property
    def price(self) -> PlanPrice:
        """The curve of the plan."""
        return PlanPrice(self._part.value_functions(self._fineness))

    @cached_property
    def _in_mu2(self) -> PlanPrice | LongPlan:
        return price_in_mu2(self._part, self._fineness)

    @cached_property
    def noisy_numbers_mu2(self) -> float:
        """The mu^2 of the noisy numbers behind the outcomes, which is enough without a delta."""
        row = sum(step.times * play_of(step.move).noisy_shift ** 2 for step in self._part.law)
        return float(row * self._part.rows.sum())

    @cached_property
    def _own_delta(self) -> float:
        """The delta that the rows' steps have of their own."""
        return own_delta(self._part.law) * int(self._part.rows.sum())

    def estimate_mu2(self, approximation_delta: float) -> float | None:
        """Return about what `gaussian_cost` will be, without a game; None if nobody knows."""
        n_rows = int(self._part.rows.sum())
        known = self._part.state is not None
        if self._is_slow:
            return self.noisy_numbers_mu2
        share = None if known else _expected_share(self._part.law, n_rows, approximation_delta)
        return None if share is None else share * self.noisy_numbers_mu2

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Return the least mu^2 that is enough, rounded up; infinite beside too little delta."""
        whole = self.noisy_numbers_mu2
        if approximation_delta < self._own_delta:
            return GaussianCost(np.inf, approximation_delta)
        if not self._has_a_price or approximation_delta < _LEAST_DELTA:
            return GaussianCost(whole, approximation_delta)
        cost = self._in_mu2.gaussian_cost(approximation_delta)
        return GaussianCost(min(float(cost.mu2), whole), approximation_delta)

    def refund(self) -> GaussianCost:
        """Return what may be given back if a plan ends before these.

        No more than the noisy numbers would cost: that is what may have been paid, and then rows
        are worth no more to each other.
        """
        whole = self.noisy_numbers_mu2
        return GaussianCost(min(self._in_mu2.refund(), whole) if self._has_a_price else whole)

    @property
    def exact_cost(self) -> GaussianCost | None:
        """The price where nothing but noisy vectors is released; None elsewhere."""
        vectors = all(play_of(step.move).is_vector for step in self._part.law)
        return GaussianCost(self.noisy_numbers_mu2, self._own_delta) if vectors else None

    @property
    def _is_slow(self) -> bool:
        return any(play_of(step.move).is_slow for step in self._part.law)

    @property
    def _has_a_price(self) -> bool:
        """Whether a game is played; otherwise noisy numbers are charged, and are what comes back.

        Noisy vectors are what they are. Beyond epsilons of hundreds, or where a row tells all but
        everything, nobody counts. Where a game takes minutes, the noisy numbers cost pi / 2 times
        as much as a long plan at most.
        """
        if self.exact_cost is not None or self._is_slow:
            return False
        largest = max((play_of(step.move).noisy_shift for step in self._part.law), default=0.0)
        return 0 < self.noisy_numbers_mu2 < _MOST and largest < _LARGEST


def threshold_steps(law: Law) -> Law:
    """Return what every row is asked."""
    return tuple(step for step in law if step.after is None)


def answer_steps(law: Law) -> Law:
    """Return what answered rows are asked behind one threshold; nothing if there is none."""
    first = threshold_steps(law)
    if len(first) != 1 or first[0].times != 1:
        return ()
    return tuple(
        replace(step, after=None if step.after == first[0].name else step.after)
        for step in law
        if step.after is not None
    )


def has_game(law: Law) -> bool:
    """Whether a plan of such rows has a price."""
    return all(has_play(step.move) for step in law)


def _expected_share(law: Law, n_rows: int, delta: float) -> float | None:
    """Estimate the price of a plan as a share of its noisy numbers' mu^2; None if unknown."""
    if any(step.after is not None for step in law):
        return None
    plays = [play_of(step.move) for step in law]
    bits = [(step.times, play.bits) for step, play in zip(law, plays, strict=True)]
    numbers = [(times * each[0], each[1]) for times, each in bits if each is not None]
    if len(numbers) == len(bits):
        # As many bits as if all were equally far apart.
        total = sum(n * square for n, square in numbers)
        squares = sum(n * square**2 for n, square in numbers)
        return expected_share(n_rows * total**2 / squares if squares else 0.0, delta)
    if len({step.move for step in law}) != 1:
        return None
    return plays[0].expected_share(n_rows * sum(step.times for step in law), delta)


def find_most_rows(share: Callable[[int], float], n_rows: int) -> int:
    """Return the most rows, up to `n_rows`, of which the share is at most 1.

    The share grows with the rows, about in proportion, so few of them are looked at.
    """
    low, high, guess = 0, n_rows + 1, min(n_rows, 32)
    while high - low > 1:
        used = share(guess)
        if used <= 1:
            low = guess
        else:
            high = guess
        further = guess / used if used > 0 else np.inf
        guess = int(min(max(further, low + 1), high - 1))
    return low


def _chosen(part: GroupPlan, what: RowPart, start: int, stop: int) -> GroupPlan:
    if what == "answers":
        # Which rows are answered is not known: any in which the group takes part.
        n_there = min(stop, int(part.rows.sum())) - min(start, int(part.rows.sum()))
        return replace(part, law=answer_steps(part.law), rows=np.ones(n_there, dtype=bool))
    rows = part.rows.copy()
    rows[:start] = rows[stop:] = False
    if what == "rows":
        return replace(part, rows=rows)
    return replace(part, law=threshold_steps(part.law), rows=rows)
