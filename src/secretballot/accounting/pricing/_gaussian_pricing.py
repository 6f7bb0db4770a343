"""Pricing under Gaussian differential privacy: each batch is one plan, fixed before it is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NoReturn, cast

from secretballot._base._cached_property import cached_property
from secretballot.accounting._limits import LESS_DELTA, Limits
from secretballot.accounting._protocol import SelfPriced, game_laws, row_laws
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.costs._cost import (
    Cost,
    GaussianCost,
    HasGaussianCost,
    Profile,
    RenyiCost,
    gaussian_share,
)
from secretballot.costs._grid import FINE, Fineness
from secretballot.costs._groups import EVERYONE, Costs, check_groups
from secretballot.costs._law import PlannedMechanism
from secretballot.costs._orders import GAUSSIAN
from secretballot.costs._price import find_most_rows
from secretballot.costs._selection import PureRelease
from secretballot.costs._split_plan import PlanPiece, SplitPlan
from secretballot.ledger._totals import Totals

#: What each payer has left: mu^2, and delta.
Headroom = Mapping[str, tuple[float, float]]

#: Charges are multiplied by this, so that a plan that takes all of what is left still fits when the
#: ledger adds them up. Prices of games and of Renyi curves are rounded up by 1e-9, and budgets of
#: mu^2 down by as much, which covers it.
_ROUNDING = 1 - 1e-12


class GaussianPricing(Pricing):
    """Pricing under Gaussian DP: admit the longest prefix that fits, and charge all of it.

    mu^2 adds up, and a delta beside it. The charge is fixed before the draw, whatever comes out.
    Payers are the levels of the budget, or parts of levels; each pays the same share of the mu^2
    and of the delta that it has left. Noisy vectors have exact prices, plans of other moves those
    of their games, and mechanisms without a game the prices that they state or that their Renyi
    curves imply.
    """

    note = {"priced": "as one plan"}

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
        return SplitPlan(planned, priced.n_rows, priced.n_columns)

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
                f"The rows cost {shares[payer]:.4g} times the mu^2 of {amount:.4g} (and "
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

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the mu^2 that comes back, at most what was paid; the delta stays paid."""
        refunds: dict[str, float] = {}
        if self._plan is None:
            return {}
        for piece in span:
            for group, undrawn in self._plan.pieces(*piece).items():
                for payer in self._payers[group]:
                    refunds[payer] = refunds.get(payer, 0.0) + float(undrawn.refund().mu2)
        return {
            payer: GaussianCost(min(mu2, float(paid[payer].at(GAUSSIAN))))
            for payer, mu2 in refunds.items()
            if payer in paid  # an entry by hand may have charged less
        }

    def headroom(self, totals: Totals) -> Headroom:
        """Return the mu^2 and the delta for approximations that each payer has left."""
        return self._limits.headroom(totals, [p for ps in self._payers.values() for p in ps])

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
        laws = row_laws(self._priced.mechanism, self._priced.n_columns)
        moves = [step.move for law in laws.values() for step in law]
        if not moves or not all(isinstance(move, PureRelease) for move in moves):
            return "Use more noise"
        return (
            "Use more noise, or order='renyi' when a budget is opened, in which a few purely "
            "private rows cost less"
        )

    def _payers_of(self, group: str) -> tuple[str, ...]:
        """Return the payers for a group of the mechanism."""
        return self._limits.budget.names if group == EVERYONE else (group,)

    def _available(self, amount: float, delta: float) -> tuple[float, float]:
        """Return the mu^2 and the delta that rows may take of what is left.

        Plans take half of the delta at most, which hardly costs more mu^2: their delta doesn't come
        back, and the mu^2 that does needs some to be spent again.
        """
        return (amount, delta / 2) if self.has_game else (amount, delta)

    def _share(self, prices: list[HasGaussianCost], mu2: float, delta: float) -> float:
        """Compute the share of a mu^2 and a delta that plans take together."""
        parts = parts_of_delta(prices, delta)
        return gaussian_share(list(zip(parts, prices, strict=True)), mu2, delta)

    def _prices(self, span: Span) -> dict[str, list[HasGaussianCost]]:
        """Return the prices of the plans that each group's rows are made of."""
        if self._plan is None:
            return {group: [price] for group, price in self._prices_without_game(span).items()}
        pieces = [self._plan.pieces(*piece, self._fineness) for piece in span]
        return {
            group: [piece[group].exact_cost or piece[group] for piece in pieces]
            for group in self._plan.groups
        }

    def _prices_without_game(self, span: Span) -> dict[str, HasGaussianCost]:
        """Return the prices that mechanisms state themselves, or those of their Renyi curves."""
        priced = self._priced
        if isinstance(priced.mechanism, SelfPriced):
            price = priced.mechanism.priced(priced.n_columns)
            if priced.is_parallel:
                return {EVERYONE: price}
            if isinstance(price, GaussianCost):
                return {EVERYONE: span.n_rows * price}
        return {
            group: Profile.from_renyi(priced.turns(group, span) * cast("RenyiCost", cost))
            for group, cost in priced.max_cost().items()
        }

    def _charges(self, span: Span, headroom: Headroom, most: float = 1.0) -> dict[str, Cost] | None:
        """Compute the charges of rows, or return None if they exceed this share of what is left."""
        charges: dict[str, Cost] = {}
        for payer, share in self.shares_of_remaining(span, headroom).items():
            if share > most:
                return None
            amount, delta = self._available(*headroom[payer])
            charges[payer] = GaussianCost(share * amount * _ROUNDING, share * delta * _ROUNDING)
        for group, prices in self._prices(span).items():
            if len(prices) == 1 and isinstance(prices[0], GaussianCost):
                # Exact, whatever is left.
                charges.update(dict.fromkeys(self._payers[group], prices[0]))
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
                shares.append(mu2 / amount if amount > 0 else math.inf)
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
                f"Nothing of the mu^2 is left {self._limits.where} (level {level!r})",
                f"No noise is enough; {self._limits.advice(headroom)}",
            )
        amounts = "; ".join(
            f"{amount:.4g} beside {delta:.3g} for {payer!r}"
            for payer, (amount, delta) in headroom.items()
        )
        raise self._limits.refusal(
            f"Not even one row fits the mu^2 and the delta that are left "
            f"{self._limits.where}: {amounts}",
            f"{self._noise_advice}; otherwise {self._limits.advice(headroom)}",
        )


def parts_of_delta(prices: list[HasGaussianCost], delta: float) -> list[float]:
    """Divide a delta among plans about as their mu^2 is divided."""
    mu2 = [float(price.gaussian_cost(delta / len(prices)).mu2) for price in prices]
    total = sum(mu2)
    return [m / total if 0 < total < math.inf else 1 / len(mu2) for m in mu2]
