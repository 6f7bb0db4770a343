"""A statistic of votes that one ballot changes by one, and that bounds what they did cost.

Data-dependent costs are sensitive themselves. With noise on the margin instead of on the cost an
upper bound of the cost can be published, at the price of one noisy number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from secretballot.divergences._orders import Floats

#: Between whole ballots the guess is looked at so often.
_BETWEEN = 8

#: By how much the guess falls over all margins at the least, as a part of the worst case.
_LEAST_FALL = 1e-7

#: What part of the releases is guessed to be unanimous; the gaps of the others are anywhere.
_UNANIMOUS = 0.8

#: How many ballots would have to be replaced, as a part of all of them, before nothing but the
#: worst case could be said: a guess, by which noise and orders are chosen.
_USUAL = 0.4


@dataclass(frozen=True, eq=False)
class GapCosts:
    """What releases cost by the gap of their votes, for gaps of whole ballots.

    Attributes
    ----------
    costs : ndarray of shape (n_gaps,)
        At one order, for gaps of 0, 1, ...: nonincreasing. A release costs no more than is said of
        any gap up to its own; the last stands for all that are wider.
    shift : int
        By how much one replaced ballot changes a gap.
    """

    costs: Floats
    shift: int

    @classmethod
    def of(cls, costs: ArrayLike, shift: int) -> GapCosts:
        """Return the least nonincreasing costs that are no less than those of each gap."""
        known = np.asarray(costs, dtype=np.float64)
        return cls(np.maximum.accumulate(known[::-1])[::-1], shift)

    @property
    def widest(self) -> int:
        """The gap that stands for all wider ones."""
        return len(self.costs) - 1

    @property
    def flat(self) -> int:
        """The widest gap that costs the most."""
        return int(np.flatnonzero(self.costs >= self.costs[0])[-1])

    def totals(self, gap_counts: NDArray[np.int64], n_ballots: int) -> Floats:
        """Return what releases cost at most after 0, 1, ..., `n_ballots` have been replaced.

        Parameters
        ----------
        gap_counts : ndarray of shape (n_gaps,)
            How many releases have each gap.

        Returns
        -------
        ndarray of shape (n_ballots + 1,)
        """
        many = gap_counts.astype(np.float64)
        total = np.empty(n_ballots + 1)
        for replaced in range(n_ballots + 1):
            moved = min(self.shift * replaced, len(many))
            tied, others = many[:moved].sum(), many[moved:]
            total[replaced] = self.costs[0] * tied + self.costs[: len(others)] @ others
        return total

    def averages(self, moved: Floats) -> Floats:
        """Return what gaps that are spread evenly cost on average, if all are moved by so much."""
        width = self.widest + 1
        ends = [np.full(width, self.costs[0]), self.costs, np.full(width + 1, self.costs[-1])]
        sums = np.append(np.cumsum(np.concatenate(ends)[::-1])[::-1], 0.0)
        first = np.arange(2 * width + 1)
        # Chords between whole ballots: any function that falls will do.
        average = (sums[first] - sums[first + width]) / width
        return np.asarray(np.interp(moved, first - width, average))


@dataclass(frozen=True, eq=False)
class Margin:
    """How many ballots releases are away from their worst case, by a public guess of their costs.

    The guess falls with the margin, from the most that the releases can ever cost. Most of them are
    taken to be unanimous, the gaps of the others to be anywhere; all are then moved towards a tie,
    or apart.

    Attributes
    ----------
    kinds : tuple of GapCosts
    numbers : tuple of int
        Releases of each kind.
    """

    kinds: tuple[GapCosts, ...]
    numbers: tuple[int, ...]

    @property
    def furthest(self) -> int:
        """After so many replaced ballots every release may cost the most."""
        return max(-(-(kind.widest - kind.flat) // kind.shift) for kind in self.kinds)

    @property
    def usual(self) -> float:
        """The margin that votes are guessed to have."""
        return 2 * _USUAL * self.furthest

    def usual_gaps(self) -> tuple[NDArray[np.int64], ...]:
        """Return how many releases of each kind are guessed to have each gap.

        Of votes on two classes: every other gap can't be.
        """
        found = []
        for kind, number in zip(self.kinds, self.numbers, strict=True):
            unanimous = round(_UNANIMOUS * number)
            others = np.linspace(0, kind.widest, number - unanimous)
            gaps = np.append(np.full(unanimous, kind.widest), others)
            gaps = gaps + kind.shift * self.usual - (kind.widest - kind.flat)
            whole = np.clip(gaps, 0, kind.widest).astype(np.int64)
            whole += (whole + kind.widest) % 2
            found.append(np.bincount(whole, minlength=kind.widest + 1))
        return tuple(found)

    @cached_property
    def _guess(self) -> tuple[Floats, Floats]:
        """Margins in rising order, and what they cost."""
        margin = np.arange(2 * self.furthest * _BETWEEN + 1) / _BETWEEN
        cost = np.zeros(len(margin))
        for kind, number in zip(self.kinds, self.numbers, strict=True):
            moved = kind.shift * margin - (kind.widest - kind.flat)
            unanimous = np.interp(kind.widest + moved, np.arange(len(kind.costs)), kind.costs)
            cost += number * (_UNANIMOUS * unanimous + (1 - _UNANIMOUS) * kind.averages(moved))
        # It falls everywhere, and by more than sums are rounded: no margin hangs on the last digit.
        slope = _LEAST_FALL * cost[0] * np.linspace(1, 0, len(margin))
        return margin, np.minimum.accumulate(cost) + slope

    def cost_at(self, margin: ArrayLike) -> Floats:
        """Return what releases of some margins are guessed to cost; nonincreasing."""
        return np.asarray(np.interp(np.asarray(margin, dtype=np.float64), *self._guess))

    def margin_at(self, cost: ArrayLike) -> Floats:
        """Return the largest margins that are guessed to cost no less than so much."""
        margins, costs = self._guess
        wanted = np.asarray(cost, dtype=np.float64)
        here = np.maximum(np.searchsorted(-costs, -wanted, side="right") - 1, 0)
        there = np.minimum(here + 1, len(costs) - 1)
        fall = costs[here] - costs[there]
        part = np.where(fall > 0, (costs[here] - wanted) / np.where(fall > 0, fall, 1.0), 0.0)
        step = margins[there] - margins[here]
        return np.asarray(margins[here] + np.clip(part, 0.0, 1.0) * step)

    def margin_of(self, gap_counts: Sequence[NDArray[np.int64]]) -> float:
        """Return the margin of releases, of which one replaced ballot changes 1 at most.

        Parameters
        ----------
        gap_counts : sequence of ndarray of shape (n_gaps,)
            How many releases of each kind have each gap.

        Notes
        -----
        Let F_t be the most that the releases cost after t ballots have been replaced. F_t of a
        neighbour is at most F_{t+1} of the data, so the least t + margin_at(F_t) over t >= 0
        changes by at most 1. It is at most margin_at(F_0), where the guess is at least F_0: a bound
        of the margin from below is a bound of the cost from above.
        """
        total = np.zeros(self.furthest + 1)
        for kind, known in zip(self.kinds, gap_counts, strict=True):
            total += kind.totals(known, self.furthest)
        return float(np.min(np.arange(len(total)) + self.margin_at(total)))

    def bound(self, noisy_margin: float, sigma: float, failure: float) -> float:
        """Return what releases did cost at most, with probability 1 - `failure`.

        Parameters
        ----------
        noisy_margin : float
            The margin and N(0, sigma^2).
        sigma : float
        failure : float
        """
        return float(self.cost_at(max(noisy_margin + sigma * float(ndtri(failure)), 0.0)))
