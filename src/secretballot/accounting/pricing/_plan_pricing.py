"""Pricing of each batch as one plan, fixed before it is drawn."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import ClassVar, NoReturn, cast

from secretballot._cached_property import cached_property
from secretballot.accounting._limits import LESS_DELTA, Limits
from secretballot.accounting._protocol import game_laws
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.divergences import Cost, Costs, HasGaussianCost, PlannedMechanism, check_groups
from secretballot.games import FINE, Fineness, PlanPiece, SplitPlan, find_most_rows
from secretballot.ledger import Totals

#: What each payer has left: an amount of the budget's currency, and delta.
Headroom = Mapping[str, tuple[float, float]]

#: Charges are multiplied by this, so that a plan that takes all of what is left still fits when the
#: ledger adds them up. Prices of games and of Renyi curves are rounded up by 1e-9, and budgets of
#: mu^2 down by as much, which covers it.
_ROUNDING = 1 - 1e-12


class PlanPricing(Pricing):
    """Pricing of each batch as one plan: admit the longest prefix that fits, and charge all of it.

    The charge is fixed before the draw, whatever comes out. Payers are the levels of the budget, or
    parts of levels; each pays the same share of the currency and of the delta that it has left.
    """

    note = {"priced": "as one plan"}

    #: The name of the amount that the budget adds up.
    currency: ClassVar[str]

    #: About how the logarithm of a share falls with the logarithm of the noise.
    slope: ClassVar[float]

    def __init__(self, limits: Limits, priced: PricedRows, fineness: Fineness = FINE) -> None:
        self._limits, self._priced, self._fineness = limits, priced, fineness
        groups = self._plan.groups if self._plan else priced.max_cost()
        self._payers = {group: self._payers_of(group) for group in groups}
        check_groups(
            (p for payers in self._payers.values() for p in payers), limits.budget.names, "laws()"
        )
        # The transaction asks again for what was computed before the draw.
        self._longest_plan = lru_cache(maxsize=2)(self._find_longest_plan)

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
        """True where a game prices the rows."""
        return self._plan is not None

    def price(self, totals: Totals, span: Span) -> Costs:
        """Compute the charges of rows that are paid for before they are drawn."""
        headroom = self.headroom(totals)
        charges = self._charges(span, headroom)
        if charges is None:
            self._check_own_delta(span.n_rows, headroom)
            shares = self.shares_of_remaining(span, headroom)
            payer = max(shares, key=shares.__getitem__)
            amount, delta = headroom[payer]
            raise self._limits.refusal(
                f"The rows cost {shares[payer]:.4g} times the {self.currency} of {amount:.4g} (and "
                f"the delta of {delta:.3g}) that is left to {payer!r}",
                "Take fewer rows, or use more noise.",
            )
        return charges

    def unchecked_price(self, span: Span) -> Costs:
        """Compute the charges in an unspent budget of the same size, whether they fit or not."""
        charges = self._charges(span, self.headroom(Totals(digest="")), math.inf)
        assert charges is not None
        return charges

    def admit(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits the budget."""
        self.charge(totals)

    def charge(self, totals: Totals) -> tuple[int, Costs]:
        """Count the rows of the longest plan that fits, and compute its charges."""
        return self._longest_plan(tuple(self.headroom(totals).items()))

    @abstractmethod
    def headroom(self, totals: Totals) -> Headroom:
        """Return the amount and the delta that each payer has left."""

    def shares_of_remaining(self, span: Span, headroom: Headroom) -> dict[str, float]:
        """Compute the share of what each payer has left that rows take."""
        shares: dict[str, float] = {}
        for group, prices in self._prices(span).items():
            for payer in self._payers[group]:
                share = self._share(prices, *self._available(*headroom[payer]))
                shares[payer] = max(shares.get(payer, 0.0), share)
        return shares

    def noisy_numbers_share(self, span: Span, headroom: Headroom) -> float:
        """Compute the share that the noisy numbers would take if they were released.

        Plans cost less, but not half as much.
        """
        return self._largest_share(span, headroom, lambda piece, _: piece.noisy_numbers_mu2)

    def expected_share(self, span: Span, headroom: Headroom) -> float:
        """Estimate the share that rows take; NaN where there is no estimate."""

        def estimate(piece: PlanPiece, delta: float) -> float:
            mu2 = piece.estimate_mu2(delta)
            return math.nan if mu2 is None else mu2

        return self._largest_share(span, headroom, estimate)

    def own_delta_fault(self, n_rows: int, headroom: Headroom) -> str:
        """Describe why rows' own deltas don't fit what is left; "" if they do."""
        deltas = {payer: self._available(*pair)[1] for payer, pair in headroom.items()}
        return self._priced.own_delta_fault(n_rows, deltas)

    @property
    def _noise_advice(self) -> str:
        """The advice where not one row fits, for messages."""
        return "Use more noise"

    @abstractmethod
    def _payers_of(self, group: str) -> tuple[str, ...]:
        """Return the payers for a group of the mechanism."""

    @abstractmethod
    def _share(self, prices: list[HasGaussianCost], amount: float, delta: float) -> float:
        """Compute the share of an amount and a delta that plans take together."""

    @abstractmethod
    def _share_of_mu2(self, mu2: float, amount: float, delta: float) -> float:
        """Compute the share of an amount and a delta that Gaussian noise takes."""

    @abstractmethod
    def _cost(self, amount: float, delta: float) -> Cost:
        """Return the cost of an amount and a delta."""

    def _available(self, amount: float, delta: float) -> tuple[float, float]:
        """Return the amount and the delta that rows may take of what is left."""
        return amount, delta

    def _prices(self, span: Span) -> dict[str, list[HasGaussianCost]]:
        """Return the prices of the plans that each group's rows are made of."""
        assert self._plan is not None
        pieces = [self._plan.pieces(*piece, self._fineness) for piece in span]
        return {group: [piece[group] for piece in pieces] for group in self._plan.groups}

    def _charges(self, span: Span, headroom: Headroom, most: float = 1.0) -> dict[str, Cost] | None:
        """Compute the charges of rows, or return None if they exceed this share of what is left."""
        charges = {}
        for payer, share in self.shares_of_remaining(span, headroom).items():
            if share > most:
                return None
            amount, delta = self._available(*headroom[payer])
            charges[payer] = self._cost(share * amount * _ROUNDING, share * delta * _ROUNDING)
        return charges

    def _largest_share(
        self, span: Span, headroom: Headroom, mu2_of: Callable[[PlanPiece, float], float]
    ) -> float:
        assert self._plan is not None
        pieces = [self._plan.pieces(*piece) for piece in span]
        shares = []
        for group, payers in self._payers.items():
            for payer in payers:
                amount, delta = self._available(*headroom[payer])
                mu2 = sum(mu2_of(piece[group], delta / len(pieces)) for piece in pieces)
                shares.append(self._share_of_mu2(mu2, amount, delta))
        return max(shares) if not any(map(math.isnan, shares)) else math.nan

    def _find_longest_plan(
        self, headroom_items: tuple[tuple[str, tuple[float, float]], ...]
    ) -> tuple[int, Costs]:
        headroom, n_rows = dict(headroom_items), self._priced.n_rows
        if not self._priced.is_parallel:
            n_rows = self._most_rows(lambda n: Span((0, n)), n_rows, headroom)
        charges = self._charges(Span((0, n_rows)), headroom) if n_rows else None
        if charges is None:
            self._refuse(headroom)
        return n_rows, charges

    def _most_rows(self, span: Callable[[int], Span], most: int, headroom: Headroom) -> int:
        """Return the largest number, up to `most`, whose span fits what is left."""

        def largest_share(n_rows: int) -> float:
            return max(self.shares_of_remaining(span(n_rows), headroom).values())

        return find_most_rows(largest_share, most)

    def _check_own_delta(self, n_rows: int, headroom: Headroom) -> None:
        if fault := self.own_delta_fault(n_rows, headroom):
            raise self._limits.refusal(fault, LESS_DELTA)

    def _refuse(self, headroom: Headroom) -> NoReturn:
        self._check_own_delta(1, headroom)
        if (level := self._limits.used_up_level(headroom)) is not None:
            raise self._limits.refusal(
                f"Nothing of the {self.currency} is left {self._limits.where} (level {level!r})",
                f"No noise is enough; {self._limits.advice(headroom)}",
            )
        amounts = "; ".join(
            f"{amount:.4g} beside {delta:.3g} for {payer!r}"
            for payer, (amount, delta) in headroom.items()
        )
        raise self._limits.refusal(
            f"Not even one row fits the {self.currency} and the delta that are left "
            f"{self._limits.where}: {amounts}",
            f"{self._noise_advice}; otherwise {self._limits.advice(headroom)}",
        )
