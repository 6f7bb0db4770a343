"""What an audit found."""

from __future__ import annotations

import math
from dataclasses import dataclass

from secretballot.audit._neighbours import Neighbours

#: Exact figures are floating-point sums.
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, kw_only=True)
class PairAudit:
    """What was found on one pair of neighbours.

    Attributes
    ----------
    neighbours : Neighbours
    claim : float
        Epsilon that is claimed at the audit's delta.
    lower_bound : float
        Epsilon below which the claim can't lie, at the audit's confidence.
    exact : float or None
        The pair's exact epsilon, where its outcomes can be enumerated.
    renyi_share : float or None
        The largest share, over all Renyi orders, of the exact divergence in the claimed one.
    """

    neighbours: Neighbours
    claim: float
    lower_bound: float
    exact: float | None = None
    renyi_share: float | None = None

    @property
    def share(self) -> float:
        """The share of the claim that is proven to be spent."""
        if self.claim == 0:
            return math.inf if self.lower_bound > 0 else 0.0
        return self.lower_bound / self.claim

    @property
    def faults(self) -> list[str]:
        """What contradicts the claim; empty if nothing does."""
        found = []  # "not below" rather than "above": NaN proves nothing
        if not self.lower_bound <= self.claim:
            found.append(f"outcomes prove epsilon >= {self.lower_bound:.4g}")
        if self.exact is not None and not self.exact <= self.claim * _ROUNDING:
            found.append(f"the exact epsilon is {self.exact:.4g}")
        if self.renyi_share is not None and not self.renyi_share <= _ROUNDING:
            found.append(f"a Renyi divergence is {self.renyi_share:.4g} times what is claimed")
        return found


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit of a family of neighbours found.

    Attributes
    ----------
    pairs : tuple of PairAudit
        One for each pair of neighbours.
    delta : float
        The delta of claims and bounds.
    confidence : float
        Probability with which not one lower bound is above the true epsilon.
    n_draws : int
        Draws on each data set.
    """

    pairs: tuple[PairAudit, ...]
    delta: float
    confidence: float
    n_draws: int

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the claim."""
        return not any(pair.faults for pair in self.pairs)

    @property
    def most_telling(self) -> PairAudit:
        """The pair whose lower bound is the largest share of its claim."""
        return max(self.pairs, key=lambda pair: pair.share)

    @property
    def share(self) -> float:
        """The largest share of a claim that is proven to be spent: 1 is a tight claim."""
        return self.most_telling.share

    def check(self) -> None:
        """Raise `AssertionError`, naming what was found, unless the claim holds."""
        for pair in self.pairs:
            if pair.faults:
                data, neighbour, group = pair.neighbours
                raise AssertionError(
                    f"epsilon = {pair.claim:.4g} is claimed at delta={self.delta:g} for "
                    f"group {group!r}, but {'; '.join(pair.faults)} (confidence "
                    f"{self.confidence:g}, {self.n_draws} draws), on the data\n{data}\nand the "
                    f"neighbour\n{neighbour}"
                )

    def __str__(self) -> str:
        verdict = "the claim holds" if self.holds else "the claim is refuted"
        pair = self.most_telling
        exact = "" if pair.exact is None else f", exactly {pair.exact:.4g}"
        return (
            f"{verdict}: epsilon >= {pair.lower_bound:.4g}{exact}, of {pair.claim:.4g} claimed at "
            f"delta={self.delta:g} ({len(self.pairs)} pairs, {self.n_draws} draws each)"
        )
