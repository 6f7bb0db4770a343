"""Upsampling: rows with larger budgets go to several teachers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._base._numbers import check_integer
from secretballot.ensemble._partition import Shards, SplitRows
from secretballot.ensemble.individual._assignment import Assignment, Individualization
from secretballot.mechanisms._base import Mechanism
from secretballot.tables._levels import Levels, affordable
from secretballot.tables._randomness import Randomness

#: Fewer copies, which are faster to train, are taken for this share of the most answers.
_ENOUGH = 0.9


@dataclass(frozen=True, kw_only=True)
class Upsampling(Individualization):
    """Individual budgets by copies: rows with larger budgets go to several teachers.

    No teacher has a row twice. The number of teachers grows with the data, and the noise and the
    threshold of the mechanism grow with it. So the ratio of votes to noise is that without copies;
    a row with a strict budget has less influence.

    Parameters
    ----------
    copies : dict of str to int, default=None
        Number of teachers of a row, per level. None: small whole numbers with which the most rows
        can be labelled before any level has spent its budget.
    max_copies : int, default=8
        Largest number of copies that is considered.

    See Also
    --------
    Weighting : Ballots of different weight; trains nothing twice.
    Vanishing : Teachers of rows with strict budgets sit out some votes.

    References
    ----------
    Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE: Differentially Private
    Machine Learning with Individual Privacy Guarantees" (PoPETs 2023), Algorithm 1. There the
    number of copies has no bound for budgets that are no simple multiples.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, Upsampling
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> levels = np.where(rng.random(600) < 0.5, "strict", "generous")
    >>> ensemble = PrivateTeacherEnsemble(
    ...     DecisionTreeClassifier(max_depth=2),
    ...     n_teachers=30,
    ...     individualization=Upsampling(),
    ...     classes=[0, 1],
    ...     accountant=PrivacyAccountant({"strict": 1.0, "generous": 2.0}, delta=1e-5),
    ... )
    >>> ensemble = ensemble.fit(X, y, budgets=levels)
    >>> ensemble.n_teachers_ > 30
    True
    """

    copies: Mapping[str, int] | None = None
    max_copies: int = 8

    def assignment(self, levels: Levels, n_teachers: int) -> Assignment:
        """Choose the copies of each level, and with them the number of teachers."""
        copies = self._choose(levels)
        if copies.max() == copies.min():
            return Assignment(n_teachers)
        growth = float((copies * levels.people).sum() / levels.people.sum())
        grown = round(n_teachers * growth)
        if copies.max() > grown:
            raise ValueError(
                f"n_teachers={n_teachers} grow to {grown}, fewer than the {copies.max()} copies of "
                "a row; use more teachers, or fewer copies (max_copies)."
            )
        return _UpsamplingAssignment(grown, n_teachers, levels, tuple(copies.tolist()))

    def _choose(self, levels: Levels) -> NDArray[np.intp]:
        if self.copies is not None:
            return self._checked(self.copies, levels)
        check_integer("max_copies", self.max_copies)
        share = levels.people / levels.people.sum()
        rates = levels.rates
        choices = affordable(rates, np.arange(1.0, self.max_copies + 1), power=2)
        growth = choices @ share
        answers = growth**2 * (rates / choices**2).min(axis=1)
        good = np.flatnonzero(answers >= _ENOUGH * answers.max())
        return choices[good[np.argmin(growth[good])]].astype(np.intp)

    @staticmethod
    def _checked(copies: Mapping[str, int], levels: Levels) -> NDArray[np.intp]:
        if not isinstance(copies, Mapping) or set(copies) != set(levels.names):
            raise ValueError(
                f"copies={copies!r} must be a dict of the levels "
                f"{', '.join(map(repr, levels.names))}."
            )
        check_integer("copies", copies, per_level=True)
        return np.array([copies[name] for name in levels.names], dtype=np.intp)


@dataclass(frozen=True)
class _UpsamplingAssignment(Assignment):
    """Assignment with more teachers, and with several teachers for rows of some levels."""

    n_plain: int
    levels: Levels
    copies: tuple[int, ...]

    @property
    def n_equal(self) -> int:
        return self.n_plain

    @property
    def ledger_note(self) -> dict[str, Any]:
        return {"variant": "upsampling", **self.levels.described(copies=self.copies)}

    def rows_per_teacher(self, n_people: int) -> int:
        del n_people
        return int(self.levels.people @ np.array(self.copies)) // self.n_teachers

    def assign(self, rows: SplitRows, randomness: Randomness) -> Shards:
        copies = np.array(self.copies)[rows.levels]
        return rows.spread(copies, self.n_teachers, randomness.partition())

    def individualize(
        self, mechanism: Mechanism, n_columns: int, first_row: int = 0, division: str = ""
    ) -> Mechanism:
        del n_columns, first_row, division
        ballots = dict(zip(self.levels.names, self.copies, strict=True))
        return replace(mechanism.scaled(self.n_teachers / self.n_plain), ballots=ballots)
