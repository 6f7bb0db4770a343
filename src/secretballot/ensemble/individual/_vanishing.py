"""Vanishing: teachers of strict rows take turns, and sit out the other votes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import GROUP_SEPARATOR
from secretballot.ensemble.individual._levels import Levels, affordable
from secretballot.ensemble.individual._plan import Individualization, Plan
from secretballot.ensemble.individual._weighting import OneLevelPlan, one_level_teachers
from secretballot.mechanisms import RoundRobin

_PARTS = 8
#: Shares of the votes that teachers can take part in.
_TURNS = sorted({Fraction(k, of) for of in range(1, _PARTS + 1) for k in range(1, of + 1)})


@dataclass(frozen=True, kw_only=True)
class Vanishing(Individualization):
    """Individual budgets by turns: teachers of strict rows vote on a part of the rows only.

    Each teacher has rows of one level. Those of a level vote in turns, decided beforehand, so that
    about the same number is there on every row; each teacher pays for the rows it voted on. Noise
    and threshold of the mechanism shrink with the number of voters. Rows of a level that is too
    small for a teacher of its own join the next stricter level.

    Turns are worth less than weights: what a level can spend goes with the square of a weight, but
    with the share of turns itself.

    See Also
    --------
    Upsampling : Copies of rows instead of turns.
    Weighting : Weights instead of turns.

    References
    ----------
    Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE: Differentially Private
    Machine Learning with Individual Privacy Guarantees" (PoPETs 2023), Appendix B, Algorithm 3,
    where the voters of each query are drawn at random.

    Examples
    --------
    >>> from secretballot import Vanishing
    >>> Vanishing()
    Vanishing()
    """

    def plan(self, levels: Levels, n_teachers: int) -> Plan:
        """Divide the teachers among the levels, and choose the turns of each."""
        merged = one_level_teachers(levels, n_teachers)
        whole = OneLevelPlan(n_teachers, levels, merged)
        found = affordable(whole.rates, np.array(_TURNS, dtype=float), power=1)
        voters = found @ whole.n_each
        answers = voters**2 * (whole.rates / found).min(axis=1)
        best = found[np.argmax(answers)]
        turns = tuple(Fraction(share).limit_denominator(_PARTS) for share in best.tolist())
        if set(turns) == {Fraction(1)} and len(whole.kinds) == 1:
            return Plan(n_teachers)
        return _VanishingPlan(n_teachers, levels, merged, turns)


def _group(level: str, number: int, of: int) -> str:
    """Return the name of the teachers that vote together: a part of a level."""
    return level if of == 1 else f"{level}{GROUP_SEPARATOR}{number}"


@dataclass(frozen=True)
class _VanishingPlan(OneLevelPlan):
    turns: tuple[Fraction, ...]  # of each kind of teacher

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(
            _group(self.levels.names[kind], index % turn.denominator, turn.denominator)
            for kind, turn, n_teachers in zip(self.kinds, self.turns, self.n_each, strict=True)
            for index in range(n_teachers)
        )

    @property
    def ledger_note(self) -> dict[str, Any]:
        return {
            "variant": "vanishing",
            **self.levels.described(turns=self.spread([str(turn) for turn in self.turns])),
        }

    def presence(self, mechanism: Any, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        there = mechanism.participation(n_rows)
        return {
            _group(level, number, of): there[mechanism.part(level, number)]
            for level, (present, of) in mechanism.turns.items()
            for number in range(of)
            if present < of
        }

    def individualize(
        self, mechanism: Any, n_columns: int, first_row: int = 0, division: str = ""
    ) -> Any:
        del n_columns
        voters = sum(
            float(turn) * n_teachers
            for turn, n_teachers in zip(self.turns, self.n_each, strict=True)
        )
        turns = self.spread([(turn.numerator, turn.denominator) for turn in self.turns])
        labels = getattr(mechanism, "multilabel", False)
        counts_ballots = labels and getattr(mechanism, "n_votes", None) is not None
        if counts_ballots:
            # As many as ever vote on a row, which are not always whole ballots: see `add_up`.
            mechanism = replace(mechanism, weight=dict.fromkeys(self.levels.names, 1.0))
        in_turns = RoundRobin(
            mechanism=mechanism.scaled(voters / self.n_teachers),
            turns=dict(zip(self.levels.names, turns, strict=True)),
            first_row=first_row,
            division=division,
        )
        if not counts_ballots:
            return in_turns
        of_all = replace(in_turns.mechanism, n_votes=self._most_voters(in_turns))
        return replace(in_turns, mechanism=of_all)

    def _most_voters(self, in_turns: RoundRobin) -> float:
        """Return the most ballots on a row."""
        there = self.presence(in_turns, math.lcm(*range(1, _PARTS + 1)))
        sizes = Counter(self.groups)
        return float(np.max(sum(sizes[each] * there.get(each, np.ones(1)) for each in sizes)))
