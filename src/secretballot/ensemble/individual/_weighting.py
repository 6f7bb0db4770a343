"""Weighting: ballots of teachers whose rows have larger budgets weigh more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.ensemble._partition import Shards, SplitRows
from secretballot.ensemble.individual._assignment import Assignment, Individualization
from secretballot.mechanisms._base import Mechanism
from secretballot.tables._levels import Levels
from secretballot.tables._randomness import Randomness

#: Bits of a float's mantissa.
_MANTISSA = 52
#: Relative difference between the loads of levels at which weights are balanced.
_TOLERANCE = 1e-3
_MAX_ITERATIONS = 20


@dataclass(frozen=True, kw_only=True)
class Weighting(Individualization):
    """Individual budgets by weight: ballots of levels with larger budgets weigh more.

    Each teacher has rows of one level. The weights of all ballots sum to the number of teachers,
    so that the ratio of votes to noise is that without weights. Rows of a level that is too small
    for a teacher join the next stricter level.

    Parameters
    ----------
    balance : bool, default=True
        True: weights with which all levels run out of budget together, if every vote has its
        worst-case cost. False: weights proportional to epsilon.

    See Also
    --------
    Upsampling : Copies of rows in place of weights.
    Vanishing : Teachers of rows with strict budgets sit out some votes.

    References
    ----------
    Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE: Differentially Private
    Machine Learning with Individual Privacy Guarantees" (PoPETs 2023), Algorithm 2. Published
    code multiplies the weights by the size of the level, which gives a small level with a large
    budget *less* weight; here they depend on budgets alone.

    Examples
    --------
    >>> from secretballot import Weighting
    >>> Weighting()
    Weighting(balance=True)
    """

    balance: bool = True

    def assignment(self, levels: Levels, n_teachers: int) -> Assignment:
        """Divide the teachers among the levels."""
        if not isinstance(self.balance, bool | np.bool_):
            raise ValueError(f"balance={self.balance!r} must be True or False.")
        merged = merge_small_levels(levels, n_teachers)
        if len(set(merged)) == 1:
            return Assignment(n_teachers)
        return _WeightingAssignment(n_teachers, levels, merged, balance=bool(self.balance))


def merge_small_levels(levels: Levels, n_teachers: int) -> tuple[int, ...]:
    """Return for each level the level whose teachers have its rows: itself, or a stricter one."""
    merged: list[int] = []
    for position, level in enumerate(levels.budgets):
        equal = position > 0 and level.epsilon == levels.budgets[position - 1].epsilon
        merged.append(merged[-1] if equal else position)
    people = np.bincount(merged, weights=levels.people, minlength=len(merged))
    people_per_teacher = levels.people.sum() / n_teachers
    for position in range(len(merged) - 1, 0, -1):
        if merged[position] == position and people[position] < people_per_teacher:
            below = merged[position - 1]
            people[below] += people[position]
            merged = [below if into == position else into for into in merged]
    if people[0] < people_per_teacher:
        name, n_people = levels.names[0], int(people[0])
        raise ValueError(
            f"the strictest level {name!r} has {n_people} rows (or owners), fewer than the "
            f"{people_per_teacher:.4g} of a teacher, and no stricter level to join: use n_teachers "
            f"of at least {int(np.ceil(levels.people.sum() / n_people))}, or give those of the "
            f"next level the budget of {name!r} too (Upsampling takes levels of any size)."
        )
    return tuple(merged)


def largest_remainder(shares: NDArray[Any], total: int) -> NDArray[np.intp]:
    """Return whole numbers proportional to `shares` that add up to `total`."""
    exact = shares / shares.sum() * total
    rounded = np.floor(exact).astype(np.intp)
    remainder = total - int(rounded.sum())
    rounded[np.argsort(rounded - exact, kind="stable")[:remainder]] += 1
    return rounded


@dataclass(frozen=True)
class OneLevelAssignment(Assignment):
    """Assignment in which each teacher has rows of one level, or of merged levels."""

    levels: Levels
    merged: tuple[int, ...]

    @property
    def kinds(self) -> tuple[int, ...]:
        """Levels that have teachers."""
        return tuple(sorted(set(self.merged)))

    @property
    def n_per_kind(self) -> NDArray[np.intp]:
        """Number of teachers per kind, in proportion to their people."""
        return largest_remainder(self._people_per_kind, self.n_teachers)

    @property
    def _people_per_kind(self) -> NDArray[Any]:
        return np.bincount(self.merged, weights=self.levels.people)[list(self.kinds)]

    def rows_per_teacher(self, n_people: int) -> int:
        del n_people
        return int((self._people_per_kind // self.n_per_kind).min())

    @property
    def rates(self) -> NDArray[np.float64]:
        """Rate of each kind: that of its strictest level."""
        return self.levels.rates[list(self.kinds)]

    def spread(self, values: Iterable[Any]) -> tuple[Any, ...]:
        """Return for each level the value of the kind of teacher that has its rows."""
        of_kind = dict(zip(self.kinds, values, strict=True))
        return tuple(of_kind[kind] for kind in self.merged)

    def assign(self, rows: SplitRows, randomness: Randomness) -> Shards:
        kind_of_row = np.array(self.merged)[rows.levels]
        return [
            shard
            for part, (kind, n_teachers) in enumerate(zip(self.kinds, self.n_per_kind, strict=True))
            for shard in rows.split(
                int(n_teachers), randomness.partition(part), np.flatnonzero(kind_of_row == kind)
            )
        ]


@dataclass(frozen=True)
class _WeightingAssignment(OneLevelAssignment):
    balance: bool

    @property
    def groups(self) -> tuple[str, ...]:
        names = [self.levels.names[kind] for kind in self.kinds]
        return tuple(np.repeat(names, self.n_per_kind).tolist())

    @property
    def ledger_note(self) -> dict[str, Any]:
        return {
            "variant": "weighting",
            **self.levels.described(teachers=self.spread(self.n_per_kind.tolist())),
        }

    def individualize(
        self, mechanism: Mechanism, n_columns: int, first_row: int = 0, division: str = ""
    ) -> Mechanism:
        del first_row, division
        if not self.balance:
            return self._weighted(mechanism, self.levels.epsilons[list(self.kinds)])
        # The cost of a small move grows with the square of its weight.
        weights = np.sqrt(self.rates)
        if any(isinstance(level.order, str) for level in self.levels.budgets):
            return self._weighted(mechanism, weights)  # as under Gaussian DP
        for _ in range(_MAX_ITERATIONS):
            weighted = self._weighted(mechanism, weights)
            loads = self._loads(weighted, n_columns)
            if not np.isfinite(loads).all() or loads.max() <= loads.min() * (1 + _TOLERANCE):
                break
            weights = weights / np.sqrt(loads / loads.min())
        return weighted

    def _loads(self, mechanism: Mechanism, n_columns: int) -> NDArray[np.float64]:
        """Return the worst-case cost of a vote as a share of the budget of each kind."""
        loads = []
        for kind in self.kinds:
            level = self.levels.budgets[kind]
            assert not isinstance(level.order, str)
            max_cost = mechanism.max_cost(n_columns, order=level.order)[level.name]
            loads.append(float(max_cost.at(level.order)) / level.amount)
        return np.array(loads)

    def _weighted(self, mechanism: Mechanism, weights: NDArray[np.float64]) -> Mechanism:
        normalised = weights * self.n_teachers / (weights * self.n_per_kind).sum()
        by_level = dict(zip(self.levels.names, self.spread(normalised.tolist()), strict=True))
        return replace(mechanism, weight=by_level)

    def weight(self, group: str, mechanism: Any) -> float:
        # Rounded down, so that sums of ballots are exact: none weighs more than is charged. The
        # weights of all add up to the number of teachers.
        bits = _MANTISSA - self.n_teachers.bit_length() - 1
        return float(np.floor(np.ldexp(mechanism.weight[group], bits)) * 2.0**-bits)
