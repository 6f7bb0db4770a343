"""Settings that published tables on individual budgets compare, and the figures in them.

Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE" (PoPETs 2023). Budgets are
epsilons; the stricter level comes first, and its budget is log 2 in the tables of two levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot import ConfidentGNMax, PrivacyAccountant, Upsampling, Weighting
from secretballot.ensemble.individual import Assignment
from secretballot.tables._levels import Levels, check_levels

DELTA, N_TEACHERS = 1e-5, 250
STRICT = float(np.log(2))
HIGHER = (4, 8, 16)  # the other level's budget is the log of one of these
SHARES = (25, 50, 75)  # per cent of the rows that have it
MECHANISMS = {
    "adult": ConfidentGNMax(sigma=40.0, sigma_threshold=200.0, threshold=300.0),
    "mnist": ConfidentGNMax(sigma=40.0, sigma_threshold=150.0, threshold=200.0),
}
N_CLASSES = {"adult": 2, "mnist": 10}


@dataclass(frozen=True)
class Setting:
    """Budgets of the levels, ascending, the shares of their rows, and the way to keep them.

    `percent` is of the rows of class `within` unless that is None; others are in the first level.
    """

    data: str
    way: str = "plain"
    epsilons: tuple[float, ...] = (STRICT,)
    percent: tuple[int, ...] = (100,)
    within: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels."""
        return tuple(f"level{number}" for number in range(1, len(self.epsilons) + 1))

    @property
    def copies(self) -> tuple[int, ...]:
        """Copies of a row in each level: the ratio of the budgets, as published."""
        return tuple(round(epsilon / self.epsilons[0]) for epsilon in self.epsilons)

    @property
    def teachers(self) -> str:
        """Name of the teachers that are needed. Weights change no teacher."""
        if self.way == "plain":
            return f"{self.data}_plain"
        parts = [self.data, self.way, "-".join(map(str, self.percent))]
        if self.way == "upsampling":
            parts.append("x".join(map(str, self.copies)))
        if self.within is not None:
            parts.append(f"class{self.within}")
        return "_".join(parts)

    @property
    def individualization(self) -> Upsampling | Weighting | None:
        """The library's parameter, with the copies or weights that were published."""
        if self.way == "upsampling":
            return Upsampling(copies=dict(zip(self.names, self.copies, strict=True)))
        return Weighting(balance=False) if self.way == "weighting" else None

    def accountant(self, accounting: str = "worst_case") -> PrivacyAccountant:
        """Return a new budget of the levels."""
        levels = dict(zip(self.names, self.epsilons, strict=True))
        return PrivacyAccountant(levels, delta=DELTA, order="renyi", accounting=accounting)

    def levels_of(self, y: NDArray[np.integer], seed: int) -> NDArray[np.object_]:
        """Draw the level of each row."""
        chosen = np.arange(len(y)) if self.within is None else np.flatnonzero(y == self.within)
        order = np.random.default_rng([seed, 1]).permutation(chosen)
        ends = np.rint(np.cumsum(self.percent) / 100 * len(order)).astype(int)
        level = np.full(len(y), self.names[0], dtype=object)
        for name, rows in zip(self.names, np.split(order, ends[:-1]), strict=True):
            level[rows] = name
        return level

    def levels(self, y: NDArray[np.integer], seed: int) -> Levels:
        """Return what the library's assignments start from."""
        return check_levels(self.levels_of(y, seed), len(y), None, self.accountant())

    def assignment(self, levels: Levels, individualization: Upsampling | Weighting) -> Assignment:
        """Return who votes and what a ballot counts."""
        return individualization.assignment(levels, N_TEACHERS)


def two_levels(data: str, way: str, higher: int, share: int) -> Setting:
    """A share of the rows at log `higher`, the others at log 2."""
    return Setting(data, way, (STRICT, float(np.log(higher))), (100 - share, share))


def minority(higher: int, share: int) -> Setting:
    """A share of Adult's people with high income at log `higher`, everybody else at log 2."""
    epsilons = (STRICT, float(np.log(higher)))
    return Setting("adult", "upsampling", epsilons, (100 - share, share), within=1)


def three_levels(way: str, percent: tuple[int, int, int]) -> Setting:
    """MNIST, budgets 1, 2 and 3; the plain ensemble keeps to the first."""
    if way == "plain":
        return Setting("mnist", epsilons=(1.0,))
    return Setting("mnist", way, (1.0, 2.0, 3.0), percent)
