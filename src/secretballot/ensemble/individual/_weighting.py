"""Weighting: teachers hold rows of one level, and ballots of generous rows weigh more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.ensemble._partition import PrivateRows, Shards
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble.individual._levels import Levels
from secretballot.ensemble.individual._plan import Individualization, Plan

_EVEN = 1e-3  # how evenly budgets are made to run out
_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class Weighting(Individualization):
    """Individual budgets by weight: a teacher has rows of one level, and its ballot their weight.

    The weights of all ballots together are the number of teachers, so that the votes' relation to
    the noise stays what it would be without weights. Rows of a level that is too small for a
    teacher of its own join the next stricter level.

    Parameters
    ----------
    balance : bool, default=True
        True: weights with which all levels run out of budget together, if every vote costs the
        most it can. False: weights proportional to epsilon.

    See Also
    --------
    Upsampling : Copies of rows instead of weights.
    Vanishing : Teachers of strict rows sit out some votes.

    References
    ----------
    Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE: Differentially Private
    Machine Learning with Individual Privacy Guarantees" (PoPETs 2023), Algorithm 2. Published
    code multiplies the weights by the size of the level, which weighs a small generous level
    *down*; here they depend on budgets alone.

    Examples
    --------
    >>> from secretballot import Weighting
    >>> Weighting()
    Weighting(balance=True)
    """

    balance: bool = True

    def plan(self, levels: Levels, n_teachers: int) -> Plan:
        """Divide the teachers among the levels."""
        if not isinstance(self.balance, bool | np.bool_):
            raise ValueError(f"balance={self.balance!r} must be True or False.")
        merged = one_level_teachers(levels, n_teachers)
        if len(set(merged)) == 1:
            return Plan(n_teachers)
        return _WeightingPlan(n_teachers, levels, merged, balance=bool(self.balance))


def one_level_teachers(levels: Levels, n_teachers: int) -> tuple[int, ...]:
    """Return for each level the stricter, or own, level whose teachers have its rows.

    Levels of equal budgets are one. So are a level too small for a teacher and the next stricter.
    """
    merged: list[int] = []
    for position, level in enumerate(levels.budgets):
        equal = position > 0 and level.epsilon == levels.budgets[position - 1].epsilon
        merged.append(merged[-1] if equal else position)
    people = np.bincount(merged, weights=levels.people, minlength=len(merged))
    each = levels.people.sum() / n_teachers
    for position in range(len(merged) - 1, 0, -1):
        if merged[position] == position and people[position] < each:
            below = merged[position - 1]
            people[below] += people[position]
            merged = [below if into == position else into for into in merged]
    if people[0] < each:
        name, few = levels.names[0], int(people[0])
        raise ValueError(
            f"the strictest level {name!r} has {few} rows (or owners), fewer than the {each:.4g} "
            f"of a teacher, and no stricter level to join: use n_teachers of at least "
            f"{int(np.ceil(levels.people.sum() / few))}, or give those of the next level the "
            f"budget of {name!r} too (Upsampling takes levels of any size)."
        )
    return tuple(merged)


def largest_remainder(shares: NDArray[np.float64], total: int) -> NDArray[np.intp]:
    """Return whole numbers proportional to `shares` that add up to `total`."""
    exact = shares / shares.sum() * total
    whole = np.floor(exact).astype(np.intp)
    rest = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:rest]] += 1
    return whole


@dataclass(frozen=True)
class OneLevelPlan(Plan):
    """Each teacher has rows of one level, or of levels that were merged."""

    levels: Levels
    merged: tuple[int, ...]

    @property
    def kinds(self) -> tuple[int, ...]:
        """The levels that teachers are of."""
        return tuple(sorted(set(self.merged)))

    @property
    def n_each(self) -> NDArray[np.intp]:
        """Number of teachers of each of `kinds`, in proportion to their people."""
        people = np.bincount(self.merged, weights=self.levels.people)[list(self.kinds)]
        return largest_remainder(people, self.n_teachers)

    @property
    def rates(self) -> NDArray[np.float64]:
        """The rate of each of `kinds`: that of its strictest level."""
        return self.levels.rates[list(self.kinds)]

    def spread(self, values: Any) -> tuple[Any, ...]:
        """Return for each level what holds for the kind of teacher that has its rows."""
        of_kind = dict(zip(self.kinds, values, strict=True))
        return tuple(of_kind[kind] for kind in self.merged)

    def assign(self, rows: PrivateRows, randomness: Randomness) -> Shards:
        kind_of_row = np.array(self.merged)[self.levels.of_row]
        return [
            shard
            for part, (kind, n_teachers) in enumerate(zip(self.kinds, self.n_each, strict=True))
            for shard in rows.split(
                int(n_teachers), randomness.partition(part), np.flatnonzero(kind_of_row == kind)
            )
        ]


@dataclass(frozen=True)
class _WeightingPlan(OneLevelPlan):
    balance: bool

    @property
    def groups(self) -> tuple[str, ...]:
        names = self.levels.names
        return tuple(
            names[kind]
            for kind, n_teachers in zip(self.kinds, self.n_each, strict=True)
            for _ in range(n_teachers)
        )

    @property
    def ledger_note(self) -> dict[str, Any]:
        return {
            "variant": "weighting",
            **self.levels.described(teachers=self.spread(self.n_each.tolist())),
        }

    def individualize(
        self, mechanism: Any, n_columns: int, first_row: int = 0, division: str = ""
    ) -> Any:
        del first_row, division
        if not self.balance:
            return self._weighted(mechanism, self.levels.epsilons[list(self.kinds)])
        weights = np.sqrt(self.rates)  # right for small moves, whose costs go with the square
        if any(isinstance(level.order, str) for level in self.levels.budgets):
            return self._weighted(mechanism, weights)  # as the prices of whole plans do
        for _ in range(_ROUNDS):
            weighted = self._weighted(mechanism, weights)
            load = self._loads(weighted, n_columns)
            if not np.isfinite(load).all() or load.max() <= load.min() * (1 + _EVEN):
                break
            weights = weights / np.sqrt(load / load.min())
        return weighted

    def _loads(self, mechanism: Any, n_columns: int) -> NDArray[np.float64]:
        """Return the share of its budget that the dearest vote costs each kind."""
        loads = []
        for kind in self.kinds:
            level = self.levels.budgets[kind]
            assert not isinstance(level.order, str)
            most = mechanism.max_cost(n_columns, order=level.order)[level.name]
            loads.append(float(most.at(level.order)) / level.amount)
        return np.array(loads)

    def _weighted(self, mechanism: Any, weights: NDArray[np.float64]) -> Any:
        if getattr(mechanism, "whole_counts", False):
            raise ValueError(
                f"mechanism={mechanism!r} takes whole numbers of votes, and individualization="
                "Weighting() makes ballots of fractions; use Upsampling() or Vanishing(), or "
                "ExponentialTopK."
            )
        normal = weights * self.n_teachers / (weights * self.n_each).sum()
        by_level = dict(zip(self.levels.names, self.spread(normal.tolist()), strict=True))
        return replace(mechanism, weight=by_level)

    def weight(self, group: str, mechanism: Any) -> float:
        return float(mechanism.weight[group])
