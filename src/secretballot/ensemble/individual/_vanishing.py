"""Vanishing: teachers of rows with strict budgets vote in turns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._groups import GROUP_SEPARATOR
from secretballot.ensemble._votes import Votes
from secretballot.ensemble.individual._assignment import Assignment, Individualization
from secretballot.ensemble.individual._weighting import OneLevelAssignment, merge_small_levels
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import Counting
from secretballot.mechanisms._round_robin import RoundRobin
from secretballot.tables._levels import Levels, affordable

#: Largest number of parts that take turns.
_MAX_PARTS = 8
#: Shares of the votes that teachers can take part in.
_TURNS = sorted({Fraction(k, n) for n in range(1, _MAX_PARTS + 1) for k in range(1, n + 1)})


@dataclass(frozen=True, kw_only=True)
class Vanishing(Individualization):
    """Individual budgets by turns: teachers of rows with strict budgets vote on some rows only.

    Each teacher has rows of one level. The teachers of a level vote in turns, fixed beforehand, so
    that about the same number votes on every row; each pays for the rows it voted on. Noise and
    threshold of the mechanism shrink with the number of voters. Rows of a level that is too small
    for a teacher join the next stricter level.

    Turns gain less than weights: the cost grows with the square of a weight, but in proportion to
    the share of turns.

    See Also
    --------
    Upsampling : Copies of rows in place of turns.
    Weighting : Weights in place of turns.

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

    def assignment(self, levels: Levels, n_teachers: int) -> Assignment:
        """Divide the teachers among the levels, and choose the turns of each."""
        merged = merge_small_levels(levels, n_teachers)
        full_time = OneLevelAssignment(n_teachers, levels, merged)
        choices = affordable(full_time.rates, np.array(_TURNS, dtype=float), power=1)
        voters = choices @ full_time.n_per_kind
        answers = voters**2 * (full_time.rates / choices).min(axis=1)
        best = choices[np.argmax(answers)]
        turns = tuple(Fraction(share).limit_denominator(_MAX_PARTS) for share in best.tolist())
        if set(turns) == {Fraction(1)} and len(full_time.kinds) == 1:
            return Assignment(n_teachers)
        return _VanishingAssignment(n_teachers, levels, merged, turns)


def _group(level: str, part: int, n_parts: int) -> str:
    """Return the name of the teachers that vote together: a part of a level."""
    return level if n_parts == 1 else f"{level}{GROUP_SEPARATOR}{part}"


@dataclass(frozen=True)
class _VanishingAssignment(OneLevelAssignment):
    turns: tuple[Fraction, ...]  # share of the votes, per kind of teacher

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(
            _group(self.levels.names[kind], index % turn.denominator, turn.denominator)
            for kind, turn, n_teachers in zip(self.kinds, self.turns, self.n_per_kind, strict=True)
            for index in range(n_teachers)
        )

    @property
    def ledger_note(self) -> dict[str, Any]:
        return {
            "variant": "vanishing",
            **self.levels.described(turns=self.spread([str(turn) for turn in self.turns])),
        }

    def presence(self, mechanism: Mechanism, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        assert isinstance(mechanism, RoundRobin)
        participation = mechanism.participation(n_rows)
        return {
            _group(level, part, n_parts): participation[mechanism.part(level, part)]
            for level, (n_present, n_parts) in mechanism.turns.items()
            for part in range(n_parts)
            if n_present < n_parts
        }

    def add_up(
        self, votes: Mapping[str, Votes], mechanism: Mechanism, counting: Counting | None = None
    ) -> Votes:
        counts = super().add_up(votes, mechanism, counting)
        if mechanism.expected_votes is None:
            return counts
        # The number of voters varies by one ballot. A missing one is half for each label.
        missing = mechanism.expected_votes - self.total_weight(mechanism, len(counts))
        return np.asarray(counts + missing[..., None] / 2)

    def individualize(
        self, mechanism: Mechanism, n_columns: int, first_row: int = 0, division: str = ""
    ) -> Mechanism:
        del n_columns
        voters = sum(
            float(turn) * n_teachers
            for turn, n_teachers in zip(self.turns, self.n_per_kind, strict=True)
        )
        turns = self.spread([(turn.numerator, turn.denominator) for turn in self.turns])
        out_of_votes = mechanism.expected_votes is not None
        if out_of_votes:
            # Halves stand for missing ballots (see `add_up`): counts are not whole ballots.
            mechanism = replace(mechanism, weight=dict.fromkeys(self.levels.names, 1.0))
        in_turns = RoundRobin(
            mechanism=mechanism.scaled(voters / self.n_teachers),
            turns=dict(zip(self.levels.names, turns, strict=True)),
            first_row=first_row,
            division=division,
        )
        if not out_of_votes:
            return in_turns
        # The largest number of ballots on a row, over a whole round of turns.
        most_votes = float(self.total_weight(in_turns, math.lcm(*range(1, _MAX_PARTS + 1))).max())
        return replace(in_turns, mechanism=replace(in_turns.mechanism, n_votes=most_votes))
