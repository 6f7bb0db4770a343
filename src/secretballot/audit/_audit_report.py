"""Results of an audit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from secretballot._views import Bar, Cell, Items, Prose, Shown, Table, View
from secretballot.audit._neighbours import Neighbours
from secretballot.divergences import EVERYONE

#: Exact figures are floating-point sums.
_ROUNDING = 1 + 1e-9

_HEADINGS = ("group", "claim", "lower bound", "exact", "bound / claim", "")
_VERDICTS = {True: "the claim holds", False: "the claim is refuted"}


@dataclass(frozen=True, kw_only=True)
class PairAudit(Shown):
    """Result of an audit on one pair of neighbours.

    Attributes
    ----------
    neighbours : Neighbours
    claim, lower_bound : float
        Claimed epsilon at the audit's delta, and a lower bound of the true one.
    exact, renyi_share : float or None
        Where outcomes can be enumerated, the exact epsilon, and the largest share, over all Renyi
        orders, of the exact divergence in the claimed one.
    """

    neighbours: Neighbours
    claim: float
    lower_bound: float
    exact: float | None = None
    renyi_share: float | None = None

    @property
    def share(self) -> float:
        """The share of the claim that is proven to be spent."""
        if self.claim > 0:
            return self.lower_bound / self.claim
        return math.inf if self.lower_bound > 0 else 0.0

    @property
    def faults(self) -> list[str]:
        """Contradictions of the claim; empty if there are none."""
        faults = []  # "not below" rather than "above": NaN proves nothing
        if not self.lower_bound <= self.claim:
            faults.append(f"outcomes prove epsilon >= {self.lower_bound:.4g}")
        if self.exact is not None and not self.exact <= self.claim * _ROUNDING:
            faults.append(f"the exact epsilon is {self.exact:.4g}")
        if self.renyi_share is not None and not self.renyi_share <= _ROUNDING:
            faults.append(f"a Renyi divergence is {self.renyi_share:.4g} times what is claimed")
        return faults

    def _view(self) -> View:
        faults = [Items(tuple(self.faults))] if self.faults else []
        summary = Prose.of(f"{_VERDICTS[not self.faults]}: {self._summary()}")
        table = Table(_HEADINGS, [self._cells()], "as a table")
        return View("PairAudit", (summary, *faults, table), between="\n")

    def _summary(self) -> str:
        exact = "" if self.exact is None else f", exactly {self.exact:.4g}"
        return f"epsilon >= {self.lower_bound:.4g}{exact}, of {self.claim:.4g} claimed"

    def _cells(self) -> tuple[Cell, ...]:
        epsilons = (self.claim, self.lower_bound, self.exact)
        cells = ("-" if epsilon is None else f"{epsilon:.4g}" for epsilon in epsilons)
        return (self.neighbours.group, *cells, f"{self.share:.3f}", Bar.of(self.share))


@dataclass(frozen=True, kw_only=True)
class Audit(Shown):
    """Result of an audit on a family of neighbours.

    Attributes
    ----------
    pairs : tuple of PairAudit
        One for each pair of neighbours.
    delta, confidence : float
        The delta of claims and bounds, and the probability that no lower bound is too high.
    n_draws : int
        Draws on each data set.
    """

    pairs: tuple[PairAudit, ...]
    delta: float
    confidence: float
    n_draws: int

    @property
    def holds(self) -> bool:
        """True if nothing contradicts the claim."""
        return not any(pair.faults for pair in self.pairs)

    @property
    def tightest(self) -> PairAudit:
        """The pair whose lower bound is the largest share of its claim."""
        return max(self.pairs, key=lambda pair: pair.share)

    @property
    def share(self) -> float:
        """The largest share of a claim that is proven to be spent: 1 is a tight claim."""
        return self.tightest.share

    def check(self) -> None:
        """Raise `AssertionError`, with the contradictions, unless the claim holds."""
        for pair in self.pairs:
            if pair.faults:
                data, neighbour, group = pair.neighbours
                whose = "" if group == EVERYONE else f" for group {group!r}"
                raise AssertionError(
                    f"epsilon = {pair.claim:.4g} is claimed at delta={self.delta:g}{whose}, but "
                    f"{'; '.join(pair.faults)} (confidence {self.confidence:.10g}, "
                    f"{self.n_draws:,} draws), on the data\n{data}\nand the neighbour\n{neighbour}"
                )

    def _view(self) -> View:
        summary = (
            f"{_VERDICTS[self.holds]}: {self.tightest._summary()} at "
            f"delta={self.delta:g} ({len(self.pairs)} pairs, {self.n_draws} draws each)"
        )
        pairs = Table(_HEADINGS, [pair._cells() for pair in self.pairs], "all pairs")
        return View("Audit", (Prose.of(summary), pairs))
