"""Pricing of rows: one class for each kind of budget."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from secretballot._base._objects import cached_property
from secretballot.accounting._limits import LESS_DELTA, Limits
from secretballot.accounting._protocol import (
    ReleaseMechanism,
    SelfPriced,
    StatesLaws,
    game_laws,
    row_laws,
)
from secretballot.costs._cost import (
    Cost,
    GaussianCost,
    HasGaussianCost,
    Profile,
    RenyiCost,
    gaussian_share,
)
from secretballot.costs._grid import FINE, Fineness
from secretballot.costs._groups import EVERYONE, Costs, check_groups, check_overlap, split_group
from secretballot.costs._law import PlannedMechanism, vector_mu2, worst_case_cost
from secretballot.costs._orders import GAUSSIAN
from secretballot.costs._price import find_most_rows
from secretballot.costs._selection import PureRelease
from secretballot.costs._split_plan import (
    PlanPiece,
    RowPart,
    SplitPlan,
    answer_steps,
    has_game,
    threshold_steps,
)
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Transaction
from secretballot.ledger._totals import Totals


@dataclass(frozen=True)
class Span:
    """Half-open ranges of rows, and of answers where a threshold is paid for apart."""

    rows: tuple[int, int]
    answers: tuple[int, int] | None = None

    @property
    def n_rows(self) -> int:
        return self.rows[1] - self.rows[0]

    @property
    def n_answers(self) -> int | None:
        return None if self.answers is None else self.answers[1] - self.answers[0]

    def apart(self) -> list[Span]:
        """Return the rows, and the answers behind their threshold, as spans of their own."""
        if self.answers is None:
            return [self]
        rows, answers = Span(self.rows, (0, 0)), Span((self.rows[1],) * 2, self.answers)
        return [span for span in (rows, answers) if span.n_rows or span.n_answers]

    def __iter__(self) -> Iterator[tuple[RowPart, int, int]]:
        if self.answers is None:
            yield "rows", *self.rows
        else:
            yield "thresholds", *self.rows
            yield "answers", *self.answers


@dataclass(frozen=True, kw_only=True)
class PricedRows:
    """Rows of one mechanism that are to be priced."""

    mechanism: ReleaseMechanism
    n_rows: int
    n_columns: int | None = None  # None: any number
    votes: NDArray[Any] | None = None  # known votes, at a Renyi order; None: the worst case

    @property
    def is_parallel(self) -> bool:
        """True where the rows are disjoint people, who are all charged at once."""
        return self.mechanism.rows == "parallel"

    def max_cost(self, *, order: float | None = None) -> Costs:
        return self.mechanism.max_cost(self.n_columns, order=order)

    def turns(self, group: str, span: Span) -> int:
        """Count the rows of a span in which a group takes part; parallel rows count as one."""
        if self.is_parallel:
            return 1
        start, stop = span.rows
        rows = self.mechanism.participation(stop).get(group, np.ones(stop, dtype=bool))
        return int(rows[start:].sum())

    def own_delta_fault(self, n_rows: int, deltas_left: Mapping[str, float]) -> str:
        """Describe why the deltas that rows have at any noise don't fit; "" if they do.

        `deltas_left` is the delta that each payer has left.
        """
        count = "one" if n_rows == 1 else n_rows
        for group, cost in self.max_cost(order=2.0).items():
            own_delta = self.turns(group, Span((0, n_rows))) * float(np.max(cost.delta))
            for payer, delta in deltas_left.items():
                pays = group == EVERYONE or split_group(group)[0] == split_group(payer)[0]
                if pays and own_delta > delta:
                    return (
                        f"Rows have a delta of their own, {own_delta:.3g} for {count}, and of what "
                        f"is left to {payer!r} only {max(delta, 0):.3g} may go to that"
                    )
        return ""


class Pricing(ABC):
    """Pricing of one mechanism's rows in one kind of budget.

    A reservation asks for `price` and, when it is settled, for `refund`. A release asks for `admit`
    before the draw, for `observe` after it, and for `charge` in the ledger's transaction.

    Example with all functions and figures: docs/development/how-a-release-is-charged.md.
    """

    #: True if thresholds and answers are paid for separately.
    has_threshold: bool = False

    #: Words that are added to the note of a release.
    note: Mapping[str, str] = {}

    _limits: Limits

    #: True if a sanitized budget keeps a record of the votes.
    keeps_private = True

    def span(self, n_rows: int) -> Span:
        """Return the span of the first `n_rows` rows, with an answer for each."""
        return Span((0, n_rows), (0, n_rows) if self.has_threshold else None)

    @abstractmethod
    def price(self, totals: Totals, span: Span) -> Costs:
        """Compute the charges of rows that are paid for before they are drawn.

        BudgetExceededError if they don't fit the budget.
        """

    def payments(self, totals: Totals, span: Span) -> list[tuple[Span, Costs]]:
        """Compute separate prices of rows and of the answers behind their threshold.

        They add up to `price`.
        """
        return [(span, self.price(totals, span))]

    def prepare(self, span: Span) -> None:  # noqa: B027
        """Compute what is slow in the price of rows, before others wait for the ledger."""

    @abstractmethod
    def unchecked_price(self, span: Span) -> Costs:
        """Compute the charges in an unspent budget of the same size, whether they fit or not."""

    @abstractmethod
    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the refund for rows and answers that were paid for and not drawn."""

    @abstractmethod
    def admit(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits the budget."""

    def observe(self, outcome: NDArray[Any]) -> None:  # noqa: B027
        """Read from the outcome what the charge depends on; nothing if the price is fixed."""

    @abstractmethod
    def charge(self, totals: Totals) -> tuple[int, Costs]:
        """Count the rows that are begun, and compute their charges."""

    def record(self, transaction: Transaction, entry: LedgerEntry) -> LedgerEntry:
        """Return the entry of a release with the rows that are begun, and their charges."""
        n_rows, charges = self.charge(transaction.totals(self._limits.scope_id))
        return replace(entry, n_rows=n_rows, charges=charges)


class RenyiPricing(Pricing):
    """Pricing under Renyi DP: admit rows in order, and charge what each of them costs.

    A row is begun if the most it can cost fits on top of what the rows before it did cost. Parallel
    rows are begun together, and cost what the most expensive does. At order infinity this is basic
    composition of pairs (epsilon, delta), and Gaussian noise costs infinitely much.
    """

    def __init__(self, limits: Limits, priced: PricedRows) -> None:
        self._limits, self._priced = limits, priced
        self._mechanism = priced.mechanism
        self._costs: Costs = {}

    @cached_property
    def has_threshold(self) -> bool:
        laws = row_laws(self._mechanism, self._priced.n_columns)
        return bool(laws) and all(map(answer_steps, laws.values()))

    def price(self, totals: Totals, span: Span) -> Costs:
        charges = self._cost(span)
        self._limits.check_charges(totals, charges)
        return charges

    def payments(self, totals: Totals, span: Span) -> list[tuple[Span, Costs]]:
        self.price(totals, span)
        return [(part, self._cost(part)) for part in span.apart()]

    def prepare(self, span: Span) -> None:
        self._cost(span)

    def unchecked_price(self, span: Span) -> Costs:
        return self._cost(span)

    def refund(self, span: Span, paid: Costs) -> Costs:
        if self.has_infinite_rows:
            return {}  # only an earlier version reserved such rows, and their plan was begun
        return self._cost(span)  # the whole price of undrawn rows comes back

    @property
    def has_infinite_rows(self) -> bool:
        """True at order infinity, where Gaussian noise has no price."""
        if self._limits.budget.kind != "pairs":
            return False
        costs = (cost for part in self._reserved for cost in part.values())
        return any(math.isinf(float(cost.at(math.inf))) for cost in costs)

    def admit(self, totals: Totals) -> None:
        first = {group: cost[:1] if cost.shape else cost for group, cost in self._most.items()}
        self._limits.admit(totals, {}, first, 1)

    def observe(self, outcome: NDArray[Any]) -> None:
        priced = self._priced
        self._costs = self._mechanism.cost(outcome, priced.votes, n_columns=priced.n_columns)
        self._limits.check_realised(self._costs, self._most_by_row, priced.n_rows)

    def charge(self, totals: Totals) -> tuple[int, Costs]:
        n_rows = self._priced.n_rows
        if self._priced.is_parallel:
            charges = _most_expensive(self._costs)
            return n_rows * self._limits.admit(totals, charges, self._most, 1), charges
        n_rows = self._limits.admit(totals, self._costs, self._most, n_rows)
        return n_rows, {group: cost[:n_rows].sum() for group, cost in self._costs.items()}

    @cached_property
    def _most_by_row(self) -> Costs:
        priced = self._priced
        costs = dict(self._mechanism.max_cost(priced.n_columns, priced.votes))
        self._limits.check_costs(costs)
        for group, rows in self._mechanism.participation(priced.n_rows).items():
            costs[group] = costs[group] * rows
        return costs

    @cached_property
    def _most(self) -> Costs:
        """Largest cost of rows that are begun together, per group."""
        return _most_expensive(self._most_by_row) if self._priced.is_parallel else self._most_by_row

    @cached_property
    def _reserved(self) -> tuple[Costs, Costs]:
        """The most that a row (or its threshold) can cost, and the most that an answer can."""
        rows: Costs = {}
        answers: Costs = {}
        if not self.has_threshold:
            rows = self._priced.max_cost()
        else:
            laws = row_laws(self._mechanism, self._priced.n_columns)
            rows = {group: worst_case_cost(threshold_steps(law)) for group, law in laws.items()}
            answers = {group: worst_case_cost(answer_steps(law)) for group, law in laws.items()}
        self._limits.check_costs(rows)
        return rows, answers

    def _cost(self, span: Span) -> Costs:
        """Compute the most that the rows and answers of a span can cost each group."""
        rows, answers = self._reserved
        charges = {group: self._priced.turns(group, span) * cost for group, cost in rows.items()}
        if span.n_answers is None:
            return charges
        # Nobody knows beforehand which rows are answered: every group pays for all answers.
        return {group: cost + span.n_answers * answers[group] for group, cost in charges.items()}


def _most_expensive(costs: Costs) -> Costs:
    """Return the largest cost of a row per group: parallel composition over disjoint people."""
    return {group: cost.max() if cost.shape else cost for group, cost in costs.items()}


#: The mu^2 and the delta that each payer has left.
Headroom = Mapping[str, tuple[float, float]]

#: Charges are multiplied by this, so that a plan that takes all of what is left still fits when the
#: ledger adds them up. Prices of games and of Renyi curves are rounded up by 1e-9, and budgets of
#: mu^2 down by as much, which covers it.
_ROUNDING = 1 - 1e-12


class GaussianPricing(Pricing):
    """Pricing under Gaussian DP: admit the longest prefix that fits, and charge all of it.

    mu^2 adds up, and a delta beside it. The charge is fixed before the draw, whatever comes out.
    Payers are the levels of the budget, or parts of levels; each pays the same share of the mu^2
    and of the delta that it has left. Plans have the prices of their games, and mechanisms without
    a game those that they state or that their Renyi curves imply.
    """

    note = {"priced": "as one plan"}

    def __init__(self, limits: Limits, priced: PricedRows, fineness: Fineness = FINE) -> None:
        self._limits, self._priced, self._fineness = limits, priced, fineness
        names = limits.budget.names
        self._payers = {g: names if g == EVERYONE else (g,) for g in self._groups()}
        self._all_payers = [payer for payers in self._payers.values() for payer in payers]
        check_groups(self._all_payers, names, "laws()")
        # The transaction asks again for what was computed before the draw.
        self._longest_plan = lru_cache(maxsize=2)(self._find_longest_plan)

    def _groups(self) -> Iterable[str]:
        return self._plan.groups if self._plan else self._priced.max_cost()

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
        return self._plan is not None

    def price(self, totals: Totals, span: Span) -> Costs:
        headroom = self.headroom(totals)
        charges = self._charges(span, headroom)
        if charges is None:
            self._check_own_delta(span.n_rows, headroom)
            shares = self.shares_of_remaining(span, headroom)
            payer = max(shares, key=shares.__getitem__)
            amount, delta = headroom[payer]
            where, advice = self._limits.tightest(totals, payer)
            raise self._limits.refusal(
                f"The rows cost {shares[payer]:.4g} times the mu^2 of {amount:.4g} (and "
                f"the delta of {delta:.3g}) that is left to {payer!r} {where}",
                f"Take fewer rows, or use more noise; otherwise {advice}",
            )
        return charges

    def prepare(self, span: Span) -> None:
        if self._plan is not None:
            self.shares_of_remaining(span, self.headroom(Totals(digest="")))

    def unchecked_price(self, span: Span) -> Costs:
        charges = self._charges(span, self.headroom(Totals(digest="")), math.inf)
        assert charges is not None
        return charges

    def admit(self, totals: Totals) -> None:
        self.charge(totals)

    def charge(self, totals: Totals) -> tuple[int, Costs]:
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
        return self._limits.headroom(totals, self._all_payers)

    def shares_of_remaining(self, span: Span, headroom: Headroom) -> dict[str, float]:
        shares: dict[str, float] = {}
        for group, prices in self._prices(span).items():
            for payer in self._payers[group]:
                mu2, delta = self._available(*headroom[payer])
                parts = parts_of_delta(prices, delta)
                share = gaussian_share(list(zip(parts, prices, strict=True)), mu2, delta)
                shares[payer] = max(shares.get(payer, 0.0), share)
        return shares

    def noisy_numbers_share(self, span: Span, headroom: Headroom) -> float:
        """Compute the share that a release of the noisy numbers themselves would take.

        Plans cost less than that, but more than half of it.
        """
        return self._largest_share(span, headroom, lambda piece, _: piece.noisy_numbers_mu2)

    def expected_share(self, span: Span, headroom: Headroom) -> float:
        """Estimate the share that rows take; NaN where there is no estimate."""

        def estimate(piece: PlanPiece, delta: float) -> float:
            mu2 = piece.estimate_mu2(delta)
            return math.nan if mu2 is None else mu2

        return self._largest_share(span, headroom, estimate)

    def own_delta_fault(self, n_rows: int, headroom: Headroom) -> str:
        deltas = {payer: self._available(*pair)[1] for payer, pair in headroom.items()}
        return self._priced.own_delta_fault(n_rows, deltas)

    def _available(self, amount: float, delta: float) -> tuple[float, float]:
        """Return the mu^2 and the delta that rows may take of what is left.

        Plans take half of the delta at most, which hardly costs more mu^2: their delta doesn't come
        back, and the mu^2 that does needs some to be spent again.
        """
        return (amount, delta / 2) if self.has_game else (amount, delta)

    def _prices(self, span: Span) -> dict[str, list[HasGaussianCost]]:
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
                # The cost is exact: it does not depend on what is left.
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
        laws = row_laws(self._priced.mechanism, self._priced.n_columns)
        moves = [step.move for law in laws.values() for step in law]
        noise_advice = "Use more noise"
        if moves and all(isinstance(move, PureRelease) for move in moves):
            noise_advice += (
                ", or order='renyi' when a budget is opened, in which a few purely private rows "
                "cost less"
            )
        raise self._limits.refusal(
            f"Not even one row fits the mu^2 and the delta that are left "
            f"{self._limits.where}: {amounts}",
            f"{noise_advice}; otherwise {self._limits.advice(headroom)}",
        )


class VectorPricing(GaussianPricing):
    """Pricing of vectors with Gaussian noise: an exact mu^2, the same on all data, and no delta.

    The mu^2 of a row is (largest distance between neighbours / standard deviation of the noise)^2.
    """

    _plan = None  # the price is a closed form, not a game

    @cached_property
    def _row_mu2(self) -> dict[str, float]:
        laws = row_laws(self._priced.mechanism, self._priced.n_columns)
        check_overlap(laws)
        prices = {}
        for group, law in laws.items():
            mu2 = vector_mu2(law)
            prices[group] = math.inf if mu2 is None else mu2
        return prices

    def _groups(self) -> Iterable[str]:
        return self._row_mu2

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the mu^2 that comes back, at most what was paid."""
        return {
            payer: GaussianCost(min(mu2, float(paid[payer].at(GAUSSIAN))))
            for payer, mu2 in self._mu2(span).items()
            if payer in paid  # an entry by hand may have charged less
        }

    def shares_of_remaining(self, span: Span, headroom: Headroom) -> dict[str, float]:
        shares = {}
        for payer, mu2 in self._mu2(span).items():
            amount, _ = headroom[payer]
            nothing_left = 0.0 if mu2 == 0 else math.inf
            shares[payer] = mu2 / amount if amount > 0 else nothing_left
        return shares

    def own_delta_fault(self, n_rows: int, headroom: Headroom) -> str:
        return ""

    def _charges(self, span: Span, headroom: Headroom, most: float = 1.0) -> dict[str, Cost] | None:
        if max(self.shares_of_remaining(span, headroom).values()) > most:
            return None
        return {payer: GaussianCost(mu2) for payer, mu2 in self._mu2(span).items()}

    def _mu2(self, span: Span) -> dict[str, float]:
        mu2: dict[str, float] = {}
        for group, payers in self._payers.items():
            n_rows = self._priced.turns(group, span)
            mu2.update(dict.fromkeys(payers, float(self._row_mu2[group] * n_rows)))
        return mu2


def parts_of_delta(prices: list[HasGaussianCost], delta: float) -> list[float]:
    """Divide a delta among plans about as their mu^2 is divided."""
    mu2 = [float(price.gaussian_cost(delta / len(prices)).mu2) for price in prices]
    total = sum(mu2)
    return [m / total if 0 < total < math.inf else 1 / len(mu2) for m in mu2]


#: Prior guess of the number of rows per answer, and its weight as a number of answers.
_ROWS_PER_ANSWER, _PRIOR_ANSWERS = 3.0, 5.0

#: Largest number of rounds of a release.
_MOST_ROUNDS = 16


class ThresholdPricing(GaussianPricing):
    """Pricing of thresholds and answers as two plans, in rounds.

    A round pays for all remaining rows and an answer for each, if they fit. Otherwise it pays for
    as many answers as fit, and for the rows that they are expected to need: rows per answer are
    estimated from the outcomes so far and a prior guess of three. When rows or answers are used up,
    the rest of the other kind is refunded, less a little, and the next round begins. Rounds depend
    on recorded outcomes alone, so each price is fixed before the rows that it pays for are drawn.
    """

    has_threshold = True
    note = {}

    _answered: NDArray[np.bool_]

    def payments(self, totals: Totals, span: Span) -> list[tuple[Span, Costs]]:
        # Rows cost their price at their part of the delta; answers cost the rest of the charge.
        charges = self.price(totals, span)
        apart = span.apart()
        if len(apart) == 1:
            return [(span, charges)]
        headroom = self.headroom(totals)
        of_rows: dict[str, Cost] = {}
        of_answers: dict[str, Cost] = {}
        for payer, charge in cast("dict[str, GaussianCost]", charges).items():
            rows_cost = GaussianCost.zero()
            for group, prices in self._prices(span).items():
                if payer in self._payers[group]:
                    part, _ = parts_of_delta(prices, self._available(*headroom[payer])[1])
                    rows_cost = rows_cost.parallel(
                        prices[0].gaussian_cost(part * float(charge.delta))
                    )
            of_rows[payer], of_answers[payer] = rows_cost, charge.without(rows_cost)
        return list(zip(apart, (of_rows, of_answers), strict=True))

    def admit(self, totals: Totals) -> None:
        headroom = self.headroom(totals)
        if self._affordable(0, _ROWS_PER_ANSWER, headroom) is None:
            self._refuse(headroom)

    def observe(self, outcome: NDArray[Any]) -> None:
        self._answered = answered_rows(self._priced.mechanism, outcome)

    def charge(self, totals: Totals) -> tuple[int, Costs]:
        headroom = dict(self.headroom(totals))
        start, n_answers, charges = 0, 0, {payer: GaussianCost.zero() for payer in headroom}
        for _ in range(_MOST_ROUNDS):
            rate = (start + _ROWS_PER_ANSWER * _PRIOR_ANSWERS) / (n_answers + _PRIOR_ANSWERS)
            span, paid = self._round(start, rate, headroom)
            if paid is None:
                break
            assert span.answers is not None
            # A row is begun while there is an answer left for it.
            answers = self._answered[slice(*span.rows)].cumsum()
            drawn = min(int(np.searchsorted(answers, span.answers[1])) + 1, len(answers))
            used = int(answers[drawn - 1])
            undrawn = Span((start + drawn, span.rows[1]), (used, span.answers[1]))
            refund = self.refund(undrawn, paid)
            for payer, cost in paid.items():
                net = GaussianCost(cost.without(refund[payer]).at(GAUSSIAN), cost.delta)
                charges[payer] = charges[payer] + net
                mu2, delta = headroom[payer]
                headroom[payer] = (mu2 - float(net.mu2), delta - float(net.delta))
            start, n_answers = start + drawn, n_answers + used
            if start == self._priced.n_rows:
                break
        if not start:
            self._refuse(headroom)
        return start, charges

    def _round(self, start: int, rate: float, headroom: Headroom) -> tuple[Span, Costs | None]:
        """Return the rows and answers of the next round, and their charges if any fit."""
        n_rows = self._priced.n_rows
        remaining = Span((start, n_rows), (0, n_rows - start))
        if self.noisy_numbers_share(remaining, headroom) <= 2:
            charges = self._charges(remaining, headroom)
            if charges is not None:
                return remaining, charges
        span = self._affordable(start, rate, headroom)
        return (remaining, None) if span is None else (span, self._charges(span, headroom))

    def _affordable(self, start: int, rate: float, headroom: Headroom) -> Span | None:
        """Return the largest span of rows and answers that fits, at `rate` rows for an answer."""
        n_rest = self._priced.n_rows - start

        def span(n_answers: int) -> Span:
            n_rows = min(n_rest, max(n_answers, math.ceil(rate * n_answers)))
            return Span((start, start + n_rows), (0, n_answers))

        n_answers = self._most_rows(span, n_rest, headroom)
        return span(n_answers) if n_answers else None


def answered_rows(mechanism: ReleaseMechanism, outcome: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the rows that passed their threshold."""
    stated = cast("StatesLaws", mechanism)
    law = next(iter(stated.laws().values()))
    follows = next(step.name for step in law if step.after is not None)
    return np.asarray(stated.executed(outcome)[follows] > 0)


def plan_pricing(limits: Limits, priced: PricedRows) -> type[GaussianPricing] | None:
    """Return the pricing of rows as plans; None where the budget charges them one by one."""
    if limits.budget.kind != "gaussian":
        return None
    laws = row_laws(priced.mechanism, priced.n_columns)
    if priced.is_parallel or not laws:
        return GaussianPricing
    if None not in map(vector_mu2, laws.values()):
        return VectorPricing
    is_split = all(has_game(law) and answer_steps(law) for law in laws.values())
    return ThresholdPricing if is_split else GaussianPricing


def pricing_for(limits: Limits, priced: PricedRows) -> Pricing:
    """Return the pricing of rows for the kind of budget of these limits."""
    return (plan_pricing(limits, priced) or RenyiPricing)(limits, priced)
