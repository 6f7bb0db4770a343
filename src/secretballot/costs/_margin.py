"""Data-dependent cost of known votes: their private record, and its margin of sensitivity 1.

Data-dependent costs are sensitive themselves. A noisy margin gives an upper bound of them at the
price of one noisy number. Proof: docs/theory/divergences.md, "The margin of votes".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from secretballot._base._errors import LedgerError
from secretballot._base._objects import cached_property
from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import Law, Move, NoisyBit, NoisyMax, PlannedMechanism
from secretballot.costs._orders import Floats, order_index

#: Moves that have gap costs, by the name that stands for them in a record.
_MOVES: dict[str, type[Move]] = {kind.__name__: kind for kind in (NoisyBit, NoisyMax, ConfidentMax)}


@dataclass(frozen=True, eq=False)
class GapRecord:
    """Number of releases of a move by gap in whole ballots; the last includes wider gaps."""

    move: Move
    gap_counts: NDArray[np.int64]


def record_gaps(
    mechanism: PlannedMechanism, votes: NDArray[Any], outcome: NDArray[Any], n_columns: int | None
) -> list[GapRecord] | None:
    """Count the gaps of released rows; None if their cost is not a sum over gaps.

    It is such a sum if every row has equally many ballots of weight 1, everyone pays alike, and no
    step depends on another's outcome (a threshold without a public number of votes, a hierarchy).
    """
    if not hasattr(mechanism, "laws") or votes.dtype.names is not None:
        return None
    laws = mechanism.laws(n_columns)
    state, executed = mechanism.state(votes), mechanism.executed(outcome)
    if set(laws) != {EVERYONE} or not state:
        return None
    law = laws[EVERYONE]
    if any(step.times != 1 or step.delta or step.after or not step.move.gap_shift for step in law):
        return None
    if getattr(mechanism, "hierarchy", None) or any((executed[s.name] != 1).any() for s in law):
        return None
    n_votes = _votes_per_row(law, state)
    if n_votes is None:
        return None
    counts: dict[Move, NDArray[np.int64]] = {}
    for step in law:
        was_begun = executed[step.name] > 0
        gaps = np.floor(step.move.gaps(state[step.name][was_begun])).astype(np.int64)
        counted = np.bincount(np.minimum(gaps, n_votes), minlength=n_votes + 1)
        counts[step.move] = counts.get(step.move, 0) + counted
    return [GapRecord(move, gap_counts) for move, gap_counts in counts.items()]


def _votes_per_row(law: Law, state: Mapping[str, Floats]) -> int | None:
    """Count the ballots of each row; None if rows differ, or ballots are not whole."""
    totals: set[float] = set()
    for counts in (state[step.name] for step in law):
        if counts.ndim > 1:  # gaps don't tell
            if (counts != np.floor(counts)).any():
                return None
            totals |= set(counts.sum(axis=1).tolist())
    return int(totals.pop()) if len(totals) == 1 else None


def dump_gap_records(records: list[GapRecord]) -> str:
    """Serialise records as JSON; the text is as private as the votes."""
    return json.dumps(
        [
            {
                "move": {"kind": type(record.move).__name__, **asdict(record.move)},  # type: ignore[call-overload]
                "gap_counts": record.gap_counts.tolist(),
            }
            for record in records
        ]
    )


def load_gap_records(text: str) -> list[GapRecord]:
    """Read records; LedgerError if they are of a kind that was removed."""
    records = []
    for record in json.loads(text):
        fields = dict(record["move"])
        if fields.pop("bound", "exact") != "exact":
            raise LedgerError(
                "The ledger has votes that were charged by the bound of published tables, which "
                "was removed, and only the version that wrote it publishes their epsilon."
            )
        move = _MOVES[fields.pop("kind")](**fields)
        records.append(GapRecord(move, np.array(record["gap_counts"], dtype=np.int64)))
    return records


#: Points of the link between whole ballots.
_POINTS = 8

#: Least fall of the link over all margins, as a part of the worst case.
_LEAST_FALL = 1e-7

#: Guessed share of unanimous releases; the gaps of the others are uniform.
_UNANIMOUS = 0.8

#: Guessed margin of typical votes, as a share of the ballots. It decides noise and orders.
_TYPICAL = 0.4

#: Costs within this of the worst case count as the worst case.
_ROUNDED = 1e-9


@dataclass(frozen=True, eq=False)
class GapCosts:
    """Bound of the cost of a release by the gap of its votes, in whole ballots, at one order.

    `costs` at gaps of 0, 1, ... don't increase; the last holds for all wider gaps. One replaced
    ballot changes a gap by `shift`.
    """

    costs: Floats
    shift: int

    @classmethod
    def from_costs(cls, costs: ArrayLike, shift: int) -> GapCosts:
        """Compute the least nonincreasing costs above those of each gap."""
        rising = np.asarray(costs, dtype=np.float64)[::-1]
        return cls(np.maximum.accumulate(rising)[::-1], shift)

    @classmethod
    def from_move(cls, move: Move, widest: int, order: float) -> GapCosts:
        """Compute the costs of a move with gaps up to `widest`, the number of votes."""
        k = order_index(order)
        worst, costs = float(move.worst_case()[k]), _costs_by_gap(move, widest)[:, k]
        costs = np.where(costs > worst * (1 - _ROUNDED), worst, costs)
        costs[0] = worst
        return cls.from_costs(costs, move.gap_shift)

    @property
    def widest(self) -> int:
        return len(self.costs) - 1

    @property
    def worst_gap(self) -> int:
        """Widest gap that costs the most."""
        return int(np.flatnonzero(self.costs >= self.costs[0])[-1])

    def cost_after_replacing(self, gap_counts: NDArray[np.int64], n_ballots: int) -> Floats:
        """Bound the cost of all releases if k ballots differ, for each k up to `n_ballots`."""
        # Each ballot narrows every gap by at most `shift`; a gap that may close costs the most.
        counts = gap_counts.astype(np.float64)
        total = np.empty(n_ballots + 1)
        for k in range(n_ballots + 1):
            narrowed_by = min(self.shift * k, len(counts))
            n_closed, open_counts = counts[:narrowed_by].sum(), counts[narrowed_by:]
            total[k] = self.costs[0] * n_closed + self.costs[: len(open_counts)] @ open_counts
        return total

    def averages(self, gap_change: Floats) -> Floats:
        """Compute the mean cost of uniformly distributed gaps, all changed by `gap_change`."""
        width = self.widest + 1
        ends = [np.full(width, self.costs[0]), self.costs, np.full(width + 1, self.costs[-1])]
        sums = np.append(np.cumsum(np.concatenate(ends)[::-1])[::-1], 0.0)
        first = np.arange(2 * width + 1)
        # Chords between whole ballots: any decreasing function will do.
        average = (sums[first] - sums[first + width]) / width
        return np.asarray(np.interp(gap_change, first - width, average))


@lru_cache(maxsize=64)
def _costs_by_gap(move: Move, widest: int) -> Floats:
    return move.gap_costs(widest)


@dataclass(frozen=True, eq=False)
class Margin:
    """Link between the total cost of releases and their margin, from public numbers alone.

    The margin is a number of ballots: the distance of the releases from their worst case. The link
    decreases from the worst case, as if most releases were unanimous, the gaps of the others
    uniform, and all of them moved towards a tie, or apart. A poor guess makes bounds loose, never
    wrong. Each kind of release has its gap costs and its number.
    """

    gap_costs: tuple[GapCosts, ...]
    n_releases: tuple[int, ...]

    @property
    def furthest(self) -> int:
        """Number of replaced ballots after which every release may cost the most."""
        return max(-(-(costs.widest - costs.worst_gap) // costs.shift) for costs in self.gap_costs)

    @property
    def typical(self) -> float:
        return 2 * _TYPICAL * self.furthest

    @cached_property
    def _link(self) -> tuple[Floats, Floats]:
        """Margins in rising order, and their costs."""
        margin = np.arange(2 * self.furthest * _POINTS + 1) / _POINTS
        total = np.zeros(len(margin))
        for gap_costs, number in zip(self.gap_costs, self.n_releases, strict=True):
            costs, widest = gap_costs.costs, gap_costs.widest
            gap_change = gap_costs.shift * margin - (widest - gap_costs.worst_gap)
            unanimous = np.interp(widest + gap_change, np.arange(len(costs)), costs)
            uniform = gap_costs.averages(gap_change)
            total += number * (_UNANIMOUS * unanimous + (1 - _UNANIMOUS) * uniform)
        # A strict fall, larger than the rounding of sums, makes the inverse stable.
        slope = _LEAST_FALL * total[0] * np.linspace(1, 0, len(margin))
        return margin, np.minimum.accumulate(total) + slope

    def cost_at(self, margin: ArrayLike) -> Floats:
        """Compute the total cost that the link assigns to margins; nonincreasing."""
        return np.asarray(np.interp(np.asarray(margin, dtype=np.float64), *self._link))

    def margin_at(self, cost: ArrayLike) -> Floats:
        """Compute the largest margin whose cost by the link is at least `cost`."""
        margins, costs = self._link
        target = np.asarray(cost, dtype=np.float64)
        first = np.maximum(np.searchsorted(-costs, -target, side="right") - 1, 0)
        second = np.minimum(first + 1, len(costs) - 1)
        fall = costs[first] - costs[second]
        part = np.where(fall > 0, (costs[first] - target) / np.where(fall > 0, fall, 1.0), 0.0)
        step = margins[second] - margins[first]
        return np.asarray(margins[first] + np.clip(part, 0.0, 1.0) * step)

    def margin_of(self, gap_counts: Sequence[NDArray[np.int64]]) -> float:
        """Compute the margin of releases, which one replaced ballot changes by at most 1."""
        total = np.zeros(self.furthest + 1)
        for costs, counts in zip(self.gap_costs, gap_counts, strict=True):
            total += costs.cost_after_replacing(counts, self.furthest)
        return float(np.min(np.arange(len(total)) + self.margin_at(total)))

    def bound(self, noisy_margin: float, sigma: float, failure: float) -> float:
        """Bound the cost, with probability 1 - `failure`, given the margin plus N(0, sigma^2)."""
        return float(self.cost_at(max(noisy_margin + sigma * float(ndtri(failure)), 0.0)))
