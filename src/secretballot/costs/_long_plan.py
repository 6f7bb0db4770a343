"""A plan of more rows than are played, where mu^2 and deltas add up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from secretballot.costs._additive_noise import gaussian_delta
from secretballot.costs._gaussian_cost import GaussianCost
from secretballot.costs._law import Law
from secretballot.costs._plan_price import PlanPrice
from secretballot.costs._price import GroupPlan, price_law_cached
from secretballot.costs._worst_game import RowGame
from secretballot.costs.moves import Fineness

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
    """Price of many rows: the last by the game, each row before by the bound on one row.

    The proof of the bound is in docs/theory/game.md ("Long plans").

    Attributes
    ----------
    played : PlanPrice
        Of the last rows.
    base : float
        The mu^2 that is refunded for them.
    row : PlanPrice
        Of one row, and a Gaussian pair with that mu^2 after it.
    n_more : int
        Number of rows before the last ones.
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
        """Compute the price where mu^2 and deltas add up, rounded up."""
        row_delta = min(_DELTA_SHARE * approximation_delta / self.n_more, _MOST_DELTA)
        row_delta = max(row_delta, self._least_delta)
        end_delta = approximation_delta - self.n_more * row_delta
        if end_delta <= 0:
            return GaussianCost(math.inf, approximation_delta)
        end_mu2 = max(float(self.played.gaussian_cost(end_delta).mu2), self.base)
        return GaussianCost(end_mu2 + self.n_more * self.row_mu2(row_delta), approximation_delta)

    def refund(self) -> float:
        """Compute the mu^2 that may be given back if a plan of more rows ends before these."""
        row_mu2 = self.row_mu2(max(_MOST_DELTA, self._least_delta))
        return self.base + self.n_more * _REFUND_SHARE * row_mu2


def price_in_mu2(plan: GroupPlan, fineness: Fineness) -> PlanPrice | LongPlan:
    """Price a plan where mu^2 and deltas add up."""
    law, times = _split_row(plan.law)
    n_rows = times * plan.n_rows
    n_played = max(MOST_MOVES // max(RowGame(law, fineness).n_moves, 1), 1)
    if n_rows > n_played:
        return replace(_price_end(law, n_played, fineness), n_more=n_rows - n_played)
    return plan.price(fineness)


def _split_row(law: Law) -> tuple[Law, int]:
    """Split a row of too many moves, if they are alike, into rows of one move."""
    times = sum(step.times for step in law)
    if times <= MOST_MOVES or len({(step.move, step.after) for step in law}) > 1:
        return law, 1
    return (replace(law[0], times=1),), times


@lru_cache(maxsize=32)
def _price_end(law: Law, n_rows: int, fineness: Fineness) -> LongPlan:
    """Price the last rows, and one before them."""
    played = price_law_cached(law, n_rows, fineness)
    base, row = played.refund(), RowGame(law, fineness)
    span = row.span(n_rows + 1, _SPAN_FACTOR)
    pair = row.grid.final_value(*span)
    pair = replace(pair, values=gaussian_delta(np.sqrt(base), -pair.losses))
    return LongPlan(played, base, PlanPrice((row.before(pair, n_rows + 1, span),)), n_more=0)
