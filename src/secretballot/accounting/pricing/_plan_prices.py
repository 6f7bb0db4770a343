"""Prices of plans as shares of what a budget has left."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar, cast

from secretballot.accounting._limits import Limits
from secretballot.accounting._protocol import game_laws
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.divergences import Cost, Costs
from secretballot.games import FINE, Fineness, PlannedMechanism, PlanPiece, SplitPlan
from secretballot.ledger import Totals

#: What each payer has left: an amount of the budget's currency, and delta.
Headroom = Mapping[str, tuple[float, float]]


class PlanPrices(ABC):
    """Prices of one mechanism's rows as plans.

    Payers are the levels of the budget, or parts of levels. Everything is a share of what payers
    have left, the same of the budget's currency and of delta.

    Parameters
    ----------
    limits : Limits
    priced : PricedRows
    fineness : Fineness, default=FINE
        The grids of the games that price the plans.
    """

    #: The amount that the budget adds up.
    currency: ClassVar[str]

    #: About how the logarithm of a share falls with the logarithm of the noise.
    slope: ClassVar[float]

    def __init__(self, limits: Limits, priced: PricedRows, fineness: Fineness = FINE) -> None:
        self._limits, self._priced, self._fineness = limits, priced, fineness

    @cached_property
    def _plan(self) -> SplitPlan | None:
        """The rows as plans that games price; None if there is no game for them."""
        priced = self._priced
        if priced.is_parallel or not game_laws(priced.mechanism, priced.n_columns):
            return None
        planned = cast("PlannedMechanism", priced.mechanism)
        return SplitPlan(planned, priced.n_rows, priced.n_columns, priced.votes)

    @property
    def has_game(self) -> bool:
        """Whether a game prices the rows."""
        return self._plan is not None

    @property
    def has_threshold(self) -> bool:
        """Whether thresholds and answers are paid for apart."""
        return False

    def span(self, n_rows: int) -> Span:
        """Return the span of the first rows, each of which may be answered."""
        return Span((0, n_rows), (0, n_rows) if self.has_threshold else None)

    @property
    @abstractmethod
    def payers(self) -> tuple[str, ...]:
        """The levels of the budget, or the parts of them, that are charged."""

    @abstractmethod
    def headroom(self, totals: Totals) -> Headroom:
        """Return what each payer has left."""

    @abstractmethod
    def shares(self, span: Span, headroom: Headroom) -> dict[str, float]:
        """Compute the share of what each payer has left that rows take."""

    @abstractmethod
    def charges(self, span: Span, headroom: Headroom) -> dict[str, Cost] | None:
        """Compute the charges of rows, or return None if they don't fit."""

    @abstractmethod
    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the refund for rows and answers that were paid for and not drawn."""

    @abstractmethod
    def _share_of_mu2(self, mu2: float, amount: float, delta: float) -> float:
        """Compute the share of an amount and delta that Gaussian noise of mu^2 takes."""

    @abstractmethod
    def _payers(self, group: str) -> tuple[str, ...]:
        """Return who pays for a group of the mechanism."""

    def _available(self, amount: float, delta: float) -> tuple[float, float]:
        """Return the amount and the delta that rows may take of what is left."""
        return amount, delta

    def own_delta_fault(self, n_rows: int, headroom: Headroom) -> str:
        """Describe why rows' own deltas don't fit what is left; "" if they do."""
        deltas = {payer: self._available(*pair)[1] for payer, pair in headroom.items()}
        return self._priced.own_delta_fault(n_rows, deltas)

    def noise_share(self, span: Span, headroom: Headroom) -> float:
        """Compute the share that the noise behind the outcomes would take if it were released.

        Plans cost less, but not half as much.
        """
        return self._largest_share(span, headroom, lambda piece, _: piece.noisy_numbers_mu2)

    def expected_share(self, span: Span, headroom: Headroom) -> float:
        """Estimate the share that rows take; NaN where there is no estimate."""

        def estimate(piece: PlanPiece, delta: float) -> float:
            mu2 = piece.estimate_mu2(delta)
            return math.nan if mu2 is None else mu2

        return self._largest_share(span, headroom, estimate)

    def _largest_share(
        self, span: Span, headroom: Headroom, mu2_of: Callable[[PlanPiece, float], float]
    ) -> float:
        assert self._plan is not None
        pieces = [self._plan.pieces(*piece) for piece in span]
        shares = []
        for group in self._plan.groups:
            for payer in self._payers(group):
                amount, delta = self._available(*headroom[payer])
                mu2 = sum(mu2_of(piece[group], delta / len(pieces)) for piece in pieces)
                shares.append(self._share_of_mu2(mu2, amount, delta))
        return max(shares) if not any(map(math.isnan, shares)) else math.nan
