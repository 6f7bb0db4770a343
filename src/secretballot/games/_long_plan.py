"""A plan of more rows than are played, where mu^2 and deltas add up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from secretballot.divergences import GaussianCost, Law, gaussian_delta
from secretballot.games._plan_price import PlanPrice
from secretballot.games._price import GroupPlan
from secretballot.games._worst_game import Fineness, RowGame
from secretballot.games.moves import ValueFunction

#: So many moves are played, in whole rows, but at least one row. Of plans of noisy bits the mu^2 is
#: then .15 per cent above the game's at most.
MOST_MOVES = 1000

#: Which part of the approximation delta is for the rows that are not played, and the most for one.
_BEYOND, _MOST_BEYOND = 0.05, 1e-10

#: At the least, one has so many times what the numerical curve leaves over at its end, which is as
#: far out as for so much more variance.
_ENDS, _FURTHER = 1.1, 1.5

#: Which part of what a row costs at the least comes back: the game gives as much back, also to whom
#: paid its price for a plan of as many rows.
_BACK = 0.995


@dataclass(frozen=True)
class EndOfPlan:
    """The last rows of a plan, and what rows before them cost at most.

    Attributes
    ----------
    played : PlanPrice
        Of rows that are played.
    base : float
        The mu^2 that comes back for them.
    row : PlanPrice
        Of one row, and a Gaussian pair with that mu^2 after it.
    """

    played: PlanPrice
    base: float
    row: PlanPrice

    @property
    def least(self) -> float:
        """The least delta beside which a row before these has a price."""
        return _ENDS * self.row.delta(math.inf)

    def each(self, beyond: float) -> float:
        """Return the mu^2 of a row before these, beside so much delta."""
        # Beside a large delta of its own a row may cost less than what comes back.
        return max(float(self.row.gaussian_cost(beyond).mu2) - self.base, 0.0)


@dataclass(frozen=True)
class LongPlan:
    """What many rows cost: the last ones by the game, all others what one of them tells at most.

    Let R V be what a row before V is worth, made in the best of all ways, and G_m V a Gaussian pair
    with mu^2 = m before V. Each way to make a row averages V over shifts of the loss, and so does
    G_m. Averages commute, and the best average of G_m V is no more than G_m of the best average:
    R G_m V <= G_m R V. Write G_m also for what the pair is worth alone, at the end of the game.

    - Of the last rows, the game proves V <= d + (1 - d) G_m, for m and d as `gaussian_cost` says.
    - One row before a pair with mu^2 = b is played apart: R G_b <= e + (1 - e) G_{b+c}. Put G_{m-b}
      before both, then R G_m <= e + (1 - e) G_{m+c} for all m >= b.
    - R (d + (1 - d) V) = d + (1 - d) R V. So each row more adds c to m, and takes d to
      1 - (1 - d)(1 - e). Before j rows, m + j c beside d + j e is enough.

    Here b is what comes back for the last rows alone, and m is taken for b where it is less. What
    comes back for j rows more is less than b + j c, for the least c that is ever paid: no more than
    the m + j c that they are worth above, whatever the plan was paid with. So wherever the plan
    ends, to stop is never worth more than to draw on, as `PlanPrice.refund` says: the steps above
    hold for the larger of the two as well.
    """

    end: EndOfPlan
    n_more: int

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Return what the plan costs where mu^2 and deltas add up, rounded up."""
        beyond = _BEYOND * approximation_delta / self.n_more
        beyond = max(min(beyond, _MOST_BEYOND), self.end.least)
        rest = approximation_delta - self.n_more * beyond
        if rest <= 0:
            return GaussianCost(math.inf, approximation_delta)
        last = max(float(self.end.played.gaussian_cost(rest).mu2), self.end.base)
        return GaussianCost(last + self.n_more * self.end.each(beyond), approximation_delta)

    def refund(self) -> float:
        """Return the mu^2 that may be given back if a plan of more rows ends before these."""
        beyond = max(_MOST_BEYOND, self.end.least)
        return self.end.base + self.n_more * _BACK * self.end.each(beyond)


def price_in_mu2(part: GroupPlan, fineness: Fineness) -> PlanPrice | LongPlan:
    """Return what a plan costs, and what of it comes back, where mu^2 and deltas add up."""
    if part.state is None:
        law, times = _divided(part.law)
        n_rows = times * int(part.rows.sum())
        n_played = max(MOST_MOVES // max(RowGame(law, fineness).n_moves, 1), 1)
        if n_rows > n_played:
            return LongPlan(_end_of_plan(law, n_played, fineness), n_rows - n_played)
    return PlanPrice(part.value_functions(fineness))


def _divided(law: Law) -> tuple[Law, int]:
    """Return a row, if it is too long to be played and its moves are alike, as so many shorter."""
    times = sum(step.times for step in law)
    if times <= MOST_MOVES or len({(step.move, step.after) for step in law}) > 1:
        return law, 1
    return (replace(law[0], times=1),), times


@lru_cache(maxsize=32)
def _end_of_plan(law: Law, n_rows: int, fineness: Fineness) -> EndOfPlan:
    last = GroupPlan(law, np.ones(n_rows, dtype=bool), None)
    played = PlanPrice(last.value_functions(fineness))
    base, row = played.refund(), RowGame(law, fineness)
    low, high = row.reach(n_rows + 1, _FURTHER)
    pair = gaussian_delta(np.sqrt(base), -row.grid.step * np.arange(low, high))
    worth = row.before(ValueFunction(row.grid, pair, low), n_rows + 1, (low, high))
    return EndOfPlan(played, base, PlanPrice((worth,)))
