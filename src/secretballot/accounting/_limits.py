"""Limits of a release: privacy filters of the budget and its scopes, and caps of equal fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import BudgetExceededError
from secretballot.costs._cost import (
    Cost,
    RenyiCost,
    add_up,
    sums_before,
)
from secretballot.costs._groups import (
    EVERYONE,
    Costs,
    check_groups,
    group_division,
    is_part,
    level_cost,
    split_group,
)
from secretballot.costs._orders import Order
from secretballot.ledger._budget import Budget, LevelBudget, Scope
from secretballot.ledger._totals import Totals

#: An amount of one cost, or of each row's.
Amount = float | NDArray[np.float64]

#: Calibration keeps this share of what is left free: sums of very many rows are rounded, and the
#: last row must still fit.
_CALIBRATION_MARGIN = 1e-9

#: A smaller share of a budget is what calibration and rounding have left over: it would buy answers
#: under thirty times the noise.
WORTH_SPENDING = 3e-3

#: Relative rounding of the sum of many charges.
_ROUNDING = 1e-9

#: Sums of charges are rounded up, and parts of a budget, such as sevenths of it, to the nearest
#: float. All of the parts fit nevertheless: limits have this to spare. Those of mu^2 and of Renyi
#: divergences are rounded down by more when a budget is opened.
_SPARE = 1 + 2.0**-41

#: The name of a filter's limit on deltas.
DELTA_LIMIT = "delta for approximations"


@dataclass(frozen=True)
class PrivacyFilter:
    """The limits of one level: `amount` at a Renyi order, or of mu^2, and `delta`.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan, "Privacy Odometers and Filters" (2016); Feldman and Zrnic,
    "Individual Privacy Accounting via a Renyi Filter" (2021).
    """

    level: str
    order: Order
    amount: float
    delta: float

    def count_rows(self, spent: Costs, costs: Costs, most: Costs, n_rows: int) -> int:
        """Count the rows, in order, whose `most` fits on top of the `costs` of earlier ones."""
        return min(
            _prefix(already_spent, cost, row_most, limit, n_rows)
            for name, limit in self._named_limits()
            for already_spent, (cost, row_most) in self._payers(name, spent, costs, most)
        )

    def shortfall(self, spent: Costs, charges: Costs) -> str:
        """Name the limit that the charges exceed: what they ask, what is spent of it, and left."""
        for name, limit in self._named_limits():
            for already_spent, (charge,) in self._payers(name, spent, charges):
                if not add_up(already_spent, charge) <= limit * _SPARE:
                    remaining = max(limit - already_spent, 0)
                    return (
                        f"{float(charge):.6g} of {name}, of which {float(already_spent):.6g} is "
                        f"spent and {remaining:.6g} is left"
                    )
        return "nothing"

    def share_of_headroom(self, spent: Costs, charges: Costs) -> float:
        """Compute the largest share of what is left that charges take; infinite if none is."""
        largest = 0.0
        for name, limit in self._named_limits():
            for already_spent, (charge,) in self._payers(name, spent, charges):
                headroom = (limit - already_spent) * (1 - _CALIBRATION_MARGIN) - 4e-16 * limit
                if charge > 0:
                    largest = max(largest, float(charge) / headroom if headroom > 0 else math.inf)
        return largest

    def headroom(self, spent: Costs, group: str) -> tuple[float, float]:
        """Return the amount and the delta that may still be charged to a group of the level."""
        left = []
        for name, limit in self._named_limits():
            spent_by_all, _ = self._spent_by_others(name, spent, {group})
            used = 0.0
            if is_part(group, self.level) and group in spent:
                used = float(self._read(name, spent[group]))
            left.append(limit - float(add_up(spent_by_all, used)))
        amount, *delta = left
        return amount, delta[0] if delta else math.inf

    def amount_spent(self, spent: Costs) -> float:
        return float(level_cost(spent, self.level, self.order).at(self.order))

    def _named_limits(self) -> list[tuple[str, float]]:
        is_gaussian = isinstance(self.order, str)
        currency = "mu^2" if is_gaussian else f"divergence at the Renyi order {self.order:g}"
        limits = [(currency, self.amount)]
        return limits if self.delta == math.inf else [*limits, (DELTA_LIMIT, self.delta)]

    def _read(self, name: str, cost: Cost) -> Amount:
        """Return the amount that a cost adds to a limit."""
        return cost.delta if name == DELTA_LIMIT else cost.at(self.order)

    def _of_level(self, name: str, costs: Costs) -> Amount:
        """Add up the amounts of everyone and of the level."""
        total: Amount = 0.0
        for group in (EVERYONE, self.level):
            if group in costs:
                total = add_up(total, self._read(name, costs[group]))
        return total

    def _spent_by_others(
        self, name: str, spent: Costs, parts: Collection[str]
    ) -> tuple[float, float]:
        """Return the amount spent by all of a level, and the most that another part has on top.

        In the division that pays, parts without a charge differ only in what they have spent: the
        part that has spent most stands for them. In every other division, whoever is in a part may
        be in the part that has spent most.
        """
        # One at most: `check_groups` refuses more.
        paying_divisions = {group_division(part) for part in parts if is_part(part, self.level)}
        idle_part, other_divisions = 0.0, dict[str, float]()
        for group, cost in spent.items():
            if not is_part(group, self.level) or group in parts:
                continue
            used, division = float(self._read(name, cost)), group_division(group)
            if division in paying_divisions:
                idle_part = max(idle_part, used)
            else:
                other_divisions[division] = max(other_divisions.get(division, 0.0), used)
        spent_by_all = float(self._of_level(name, spent))
        for largest_part in other_divisions.values():
            spent_by_all = float(add_up(spent_by_all, largest_part))
        return spent_by_all, idle_part

    def _payers(
        self, name: str, spent: Costs, *charges: Costs
    ) -> Iterator[tuple[float, list[Amount]]]:
        """Yield what each payer of the level has spent of a limit, and what each charge adds.

        Payers are the parts that a charge names, and one for all others of the level.
        """
        parts = {group for cost in charges for group in cost if is_part(group, self.level)}
        spent_by_all, idle_part = self._spent_by_others(name, spent, parts)
        level_charges = [self._of_level(name, charge) for charge in charges]
        yield float(add_up(spent_by_all, idle_part)), level_charges
        for part in parts:
            used = float(self._read(name, spent[part])) if part in spent else 0.0
            yield (
                float(add_up(spent_by_all, used)),
                [
                    add_up(level_charge, self._read(name, charge[part]))
                    if part in charge
                    else level_charge
                    for level_charge, charge in zip(level_charges, charges, strict=True)
                ],
            )


def _prefix(already_spent: float, cost: Amount, most: Amount, limit: float, n_rows: int) -> int:
    """Count the leading rows whose `most` fits the limit on top of all earlier costs."""
    before = sums_before(np.broadcast_to(cost, n_rows))
    fits = add_up(add_up(already_spent, before), most) <= limit * _SPARE
    return n_rows if fits.all() else int(np.argmin(fits))


def budget_filters(budget: Budget) -> list[PrivacyFilter]:
    return [
        PrivacyFilter(level.name, level.order, level.amount, level.approximation_delta)
        for level in budget.levels
    ]


def scope_filters(budget: Budget, scope: Scope) -> list[PrivacyFilter]:
    """Return the filters of what one scope may spend, for each level with a cap.

    A filter counts the order that is best for the scope's (epsilon, delta), which is fixed before
    anything is released. Deltas are capped by the budget's; under Gaussian DP by the same part of
    it as of its mu^2.
    """
    filters = []
    for level in budget.levels:
        share = scope.share_of(level.name)
        if share is not None:
            amount, delta = share * level.amount, share * level.approximation_delta
            filters.append(PrivacyFilter(level.name, level.order, amount, delta))
    for level in budget.levels:
        cap = scope.cap(level.name)
        if cap is None:
            continue
        is_gaussian, delta = isinstance(level.order, str), math.inf
        order, amount = level.amount_of(
            cap, level.order if is_gaussian or level.order == math.inf else "renyi"
        )
        if is_gaussian:
            delta = min(amount / level.amount, 1.0) * level.approximation_delta
        if order == level.order and cap <= level.epsilon:
            # A child has less of the approximation delta than its amount was computed with.
            amount = min(amount, level.amount)
        filters.append(PrivacyFilter(level.name, order, amount, delta))
    return filters


def overspent(filters: list[PrivacyFilter], charges: Costs, allowing: str) -> str:
    """Name a level that has spent more than its filter allows; "" if there is none."""
    limit = 1 + _ROUNDING
    for filter_ in filters:
        cost = level_cost(charges, filter_.level, filter_.order)
        if cost.at(filter_.order) > filter_.amount * limit or cost.delta > filter_.delta * limit:
            return f"spends more than {allowing} allows for the level {filter_.level!r}"
    return ""


def share_of(level: LevelBudget, charges: Costs) -> float:
    """Compute the share of a level's budget that charges take; above 1 where they exceed it."""
    cost = level_cost(charges, level.name, level.order)
    amount, delta = float(cost.at(level.order)), float(cost.delta)
    share = max(amount / level.amount, delta / level.approximation_delta if delta else 0.0)
    return share if share > 1 + _ROUNDING else min(share, 1.0)


#: Halvings of the interval in which the largest epsilon lies.
_HALVINGS = 60


def largest_epsilon(most: float, fits: Callable[[float], bool]) -> float:
    """Compute the largest epsilon, up to `most`, that fits, by bisection; smaller ones fit too."""
    if fits(most):
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


#: The advice where a scope's cap is used up, where the budget is, where it is not, and where
#: nothing was spent.
_LARGER_SCOPE = (
    "another fit with a larger epsilon gets more of the budget, while that lasts. An ensemble with "
    "a pool uses its epsilon up: give it the number of rows that follow, reservation=."
)
USED_UP = (
    "this budget is used up, and what was released from it stays free to use. Where more is to "
    "follow, give each fit or answer an amount beforehand: epsilon=, or share= of an answer."
)
#: The advice to copies of an estimator.
EQUAL_FITS = (
    "This is a copy of the estimator, one of n_fits that a search, a calibration or a stack fits: "
    "give each an equal part, epsilon=accountant.epsilon_per_fit(n_fits), before the first of "
    "them. A search has n_fits = settings x folds + 1."
)
_CHEAPER_RELEASES = (
    "what is left stays for releases that cost less, or for counts of more rows: the noise for few "
    "rows has to be small."
)
_LARGER_BUDGET = (
    "open a budget with a larger epsilon (or delta): nothing of this one has been spent."
)

#: Share of a budget that is not used up.
_MUCH_LEFT = 0.01

#: The advice where rows' own deltas don't fit.
LESS_DELTA = (
    "Ask for fewer rows, use a smaller delta_t, or open the budget with a larger "
    "approximation_delta (or delta, where there is none)."
)

#: The advice where a cost is infinite.
_FINITE = (
    "No amount of noise makes that finite: leave order as it is when the budget is opened, or use "
    "a mechanism that is (epsilon, delta)-DP."
)

#: The problem and the advice in a budget whose costs depend on the votes. Neither depends on what
#: was spent, nor on the votes.
_WITHHELD = (
    "The rows don't fit what is left {where}. The figures are withheld: accounting is data "
    "dependent, so they are themselves sensitive"
)
_ANY_REMEDY = (
    "Use more noise, fewer rows, or another mechanism if its cost has no bound at the budget's "
    "order or its delta_t is too large; otherwise this budget, or the epsilon of this fit, is used "
    "up, and what was released from it stays free to use."
)


class Limits:
    """The filters of a budget and of one scope, against the totals of a ledger."""

    def __init__(self, budget: Budget, scope: Scope | None = None) -> None:
        self.budget = budget
        self._scope = scope
        self._filters = budget_filters(budget)
        self._scope_filters = scope_filters(budget, scope) if scope else []
        #: The scope that the totals have to include.
        self.scope_id = scope.id if scope else None
        #: The budget or the scope that plans are priced against, for messages.
        self.where = "of the budget"
        if scope and self._scope_filters:
            cap = f"epsilon={scope.epsilon!r}" if scope.share is None else f"share={scope.share!r}"
            self.where = f"of {cap} for this part of the run"

    def advice(self, headroom: Mapping[str, tuple[float, float]]) -> str:
        amounts = {level.name: level.amount for level in self.budget.levels}
        share_left = min(amount / amounts[split_group(g)[0]] for g, (amount, _) in headroom.items())
        return _LARGER_SCOPE if self._scope_filters else _advice_of(share_left)

    def refusal(self, problem: str, remedy: str) -> BudgetExceededError:
        """Build the error of rows that don't fit; `problem` has no full stop.

        Where costs depend on the votes, the error has one text for any problem: even the limit that
        is exceeded tells about the votes.
        """
        if self.budget.is_sensitive:
            where = self.where if not self._scope_filters else f"of the budget or {self.where}"
            problem, remedy = _WITHHELD.format(where=where), _ANY_REMEDY
        return BudgetExceededError(f"{problem}. Nothing was released or recorded. {remedy}")

    def check_costs(self, most: Costs) -> None:
        """Refuse a mechanism whose costs don't suit the budget, whatever is left of it."""
        check_groups(most, self.budget.names, "max_cost()")
        has_delta = any((cost.delta > 0).any() for cost in most.values())
        if has_delta and self.budget.levels[0].approximation_delta == 0:
            raise ValueError(
                "the mechanism has a delta of its own, and this budget has set none aside: "
                f"approximation_delta=0.0 of delta={self.budget.delta:g}. Open a budget with "
                "approximation_delta=, or with order=inf (basic composition)."
            )

    def check_finite(self, most: Costs) -> None:
        """Refuse a mechanism whose costs no amount of noise makes finite at the budget's order."""
        if any(
            math.isinf(float(cost.at(f.order))) for cost in most.values() for f in self._filters
        ):
            raise self.refusal("A row has no finite cost at the budget's order", _FINITE)

    def check_realised(self, costs: Costs, most: Costs, n_rows: int) -> None:
        """Refuse realised costs that are not one per row, or above what was promised."""
        check_groups(costs, self.budget.names, "cost()")
        for group, cost in costs.items():
            if cost.shape != (n_rows,):
                raise RuntimeError(
                    f"the mechanism's cost() has shape {cost.shape} for {group!r} instead of "
                    f"({n_rows},), one cost per row. Nothing was released or recorded."
                )
            promised = most.get(group, RenyiCost.zero())
            pairs = [(cost.at(f.order), promised.at(f.order)) for f in self._filters]
            for amount, promised_amount in [*pairs, (cost.delta, promised.delta)]:
                if np.any(amount > promised_amount * (1 + _ROUNDING)):
                    raise RuntimeError(
                        f"the mechanism charges more to {group!r} than its max_cost() allows, "
                        "which is a fault of the mechanism. Nothing was released or recorded."
                    )

    def admit(self, totals: Totals, costs: Costs, most: Costs, n_rows: int) -> int:
        """Count the leading rows that fit the budget; BudgetExceededError if not even one does.

        A row fits if its largest possible cost (`most`) fits on top of the actual costs (`costs`)
        of the rows before it.
        """
        admitted = n_rows
        for filter_, spent in self._spent(totals):
            admitted = min(admitted, filter_.count_rows(spent, costs, most, n_rows))
            if not admitted:
                first = {group: cost[0] if cost.shape else cost for group, cost in most.items()}
                short, remedy = self._shortfall(filter_, spent, first)
                raise self.refusal(
                    f"The first row does not fit what is left {self._of(filter_)}: it can cost "
                    f"{short}",
                    remedy,
                )
        return admitted

    def check_charges(self, totals: Totals, charges: Costs, *, child: str = "") -> None:
        """Raise BudgetExceededError if charges, of rows or of a child, don't fit together."""
        for filter_, spent in self._spent(totals):
            if filter_.count_rows(spent, {}, charges, 1):
                continue
            short, remedy = self._shortfall(filter_, spent, charges)
            if child:
                raise self.refusal(
                    f"The child {child!r} does not fit what is left {self._of(filter_)}: it takes "
                    f"{short}",
                    "Give it a smaller epsilon, or close a child that is done.",
                )
            raise self.refusal(
                f"The rows don't fit what is left {self._of(filter_)}: together they can cost "
                f"{short}",
                remedy if remedy == _FINITE else f"Fewer rows may fit. {remedy}",
            )

    def check_headroom(self, totals: Totals) -> None:
        for filter_, spent in self._spent(totals):
            if filter_.amount_spent(spent) >= filter_.amount * (1 - WORTH_SPENDING):
                raise self.refusal(
                    f"Next to nothing is left {self._of(filter_)}",
                    "Noise that fits it would drown every answer; " + self._advice(filter_, spent),
                )

    def share_of_headroom(self, totals: Totals, charges_at: Callable[[Order], Costs]) -> float:
        """Compute the largest share of what is left that charges take; at most 1 fits.

        `charges_at` returns the charges with the amount at a filter's order.
        """
        return max(
            filter_.share_of_headroom(spent, charges_at(filter_.order))
            for filter_, spent in self._spent(totals)
        )

    def headroom(self, totals: Totals, groups: Iterable[str]) -> dict[str, tuple[float, float]]:
        """Return the amount and the delta that levels, or parts of levels, have left."""
        filters = list(self._spent(totals))
        headroom = {}
        for group in groups:
            amount = delta = math.inf
            for filter_, spent in filters:
                if filter_.level == split_group(group)[0]:
                    amount_left, delta_left = filter_.headroom(spent, group)
                    amount, delta = min(amount, amount_left), min(delta, delta_left)
            headroom[group] = max(amount, 0.0), max(delta, 0.0)
        return headroom

    def used_up_level(self, headroom: Mapping[str, tuple[float, float]]) -> str | None:
        """Return a level with no mu^2 left except for rounding; None if there is none."""
        filters = [*self._filters, *self._scope_filters]
        for group, (mu2, _) in headroom.items():
            level = split_group(group)[0]
            if any(mu2 <= _ROUNDING * f.amount for f in filters if f.level == level):
                return level
        return None

    def _spent(self, totals: Totals) -> Iterator[tuple[PrivacyFilter, Costs]]:
        """Yield each filter, and what was spent on those whom it protects."""
        charges = totals.charges_with_parts(self.scope_id)
        for filter_ in self._filters:
            yield filter_, charges
        recorded = None if self._scope is None else totals.scopes.get(self._scope.id)
        if recorded and self._scope and recorded.epsilon != self._scope.epsilon:
            raise ValueError(
                f"scope={self._scope!r} is in the ledger with epsilon={recorded.epsilon!r}; a "
                "scope's cap is fixed by its first release. Make another one with "
                "accountant.scope(epsilon)."
            )
        for filter_ in self._scope_filters:
            yield filter_, recorded.charges if recorded else {}

    def _of(self, filter_: PrivacyFilter) -> str:
        where = self.where if filter_ in self._scope_filters else "of the budget"
        one_level = len(self.budget.levels) == 1
        return where if one_level else f"{where} (level {filter_.level!r})"

    def _advice(self, filter_: PrivacyFilter, spent: Costs) -> str:
        if filter_ in self._scope_filters:
            return _LARGER_SCOPE
        return _advice_of(1 - filter_.amount_spent(spent) / filter_.amount)

    def tightest(self, totals: Totals, group: str) -> tuple[str, str]:
        """Return the tightest limit of a group, that of the budget or of the scope, and advice."""
        amounts = [
            (filter_.headroom(spent, group)[0], self._of(filter_), self._advice(filter_, spent))
            for filter_, spent in self._spent(totals)
            if filter_.level == split_group(group)[0]
        ]
        _, where, advice = min(amounts)
        return where, advice

    def _shortfall(self, filter_: PrivacyFilter, spent: Costs, charges: Costs) -> tuple[str, str]:
        short = filter_.shortfall(spent, charges)
        if any(math.isinf(float(cost.at(filter_.order))) for cost in charges.values()):
            return short, _FINITE
        if DELTA_LIMIT in short:
            return short, LESS_DELTA
        return short, f"Use more noise; otherwise {self._advice(filter_, spent)}"


def _advice_of(share_left: float) -> str:
    if share_left >= 1:
        return _LARGER_BUDGET
    return _CHEAPER_RELEASES if share_left > _MUCH_LEFT else USED_UP


#: The relative rounding of a price, and of each term of a sum of charges.
_PRICE_ROUNDING, _SUM_ROUNDING = 1e-9, 2.0**-50


def less_rounding(share: float, n_charges: int) -> float:
    """Reduce a share of what is left by the rounding of a price and of a sum of charges."""
    return share * (1 - _PRICE_ROUNDING - n_charges * _SUM_ROUNDING)


#: Largest part of a fit's charge that may be missing from the budget: rounding of other charges.
_SHORTFALL = 1e-6


def equal_caps(budget: Budget, totals: Totals, n_fits: int, share: float) -> dict[str, float]:
    """Compute the epsilon of each of `n_fits` fits that take a share of what is left, by level.

    BudgetExceededError if a fit would get too little to calibrate noise to.
    """
    if budget.is_sensitive and totals.n_releases:
        raise ValueError(
            "accounting='data_dependent': what is left depends on the votes, and would be seen in "
            "the epsilon of each fit. Compute it before the first release."
        )
    headroom = Limits(budget).headroom(totals, budget.names)
    part = less_rounding(share / n_fits, n_fits)
    caps = {}
    for level in budget.levels:
        amount, delta = headroom[level.name]
        if part * amount <= WORTH_SPENDING * level.amount:
            raise _too_little(level, amount, n_fits, share)
        caps[level.name] = _largest_cap(budget, level, part * amount, part * delta)
    return caps


def _too_little(
    level: LevelBudget, amount_left: float, n_fits: int, share: float
) -> BudgetExceededError:
    """Build the error of equal fits that would get too little to calibrate noise to."""
    left = amount_left / level.amount
    if left <= WORTH_SPENDING * (1 + _SHORTFALL):
        return BudgetExceededError(
            f"Next to nothing is left of the budget of {level.name!r}. Nothing was released or "
            f"spent; {USED_UP}"
        )
    most = int(share * left / WORTH_SPENDING * (1 - _SHORTFALL))
    given, remedy = f"n_fits={n_fits}", f"at most {most} fits have so much"
    if not most:
        given = f"share={share:g} of what is left"
        thousandths = math.floor(1e3 * n_fits * WORTH_SPENDING / left) + 1
        remedy = f"pass a share of {thousandths / 1e3:g} or more"
        if thousandths > 1e3:
            remedy = f"a larger share is enough for at most {int(left / WORTH_SPENDING)} fits"
    fit = "each fit" if n_fits > 1 else "the fit"
    return BudgetExceededError(
        f"{given}: {fit} would get {share / n_fits * left:.2g} of the budget of {level.name!r}, "
        f"and needs more than {WORTH_SPENDING:g}: under less, noise drowns every answer. Nothing "
        f"was released or spent; {remedy}."
    )


def check_left(budget: Budget, totals: Totals, scope: Scope, is_copy: bool) -> None:
    """Refuse a new scope whose epsilon, or share, is more than what is left of the budget.

    Copies of an estimator are fitted several times: each needs its own part of what is left.
    """
    if budget.is_sensitive:
        return  # what is left depends on the votes
    headroom = Limits(budget).headroom(totals, budget.names)
    for level in budget.levels:
        cap, share = scope.cap(level.name), scope.share_of(level.name)
        if cap is not None:
            amount_text = f"epsilon={scope.epsilon!r}"
            remedy = "epsilon=accountant.epsilon_per_fit()"
            amount, _ = _largest_charge(budget, level, min(cap, level.epsilon))
        elif share is not None:
            amount_text, amount = f"share={scope.share!r}", share * level.amount
            remedy = "share='rest'"
        else:
            continue
        remaining, _ = headroom[level.name]
        if amount * (1 - _SHORTFALL) > remaining:
            price, share_left = (
                min(max(part / level.amount, 0), 1) for part in (amount, remaining)
            )
            is_used_up = any(
                headroom[other.name][0] <= WORTH_SPENDING * other.amount for other in budget.levels
            )
            advice = f"T{USED_UP[1:]}" if is_used_up else f"Pass {remedy} for what is left."
            if is_copy:
                advice = EQUAL_FITS if not is_used_up else f"{advice} {EQUAL_FITS}"
            of_level = f" of {level.name!r}" if len(budget.levels) > 1 else ""
            raise BudgetExceededError(
                f"{amount_text} takes {price:.1%} of the budget{of_level}, and {share_left:.1%} is "
                f"left. Nothing was released or spent. {advice}"
            )


def _largest_cap(budget: Budget, level: LevelBudget, amount: float, delta: float) -> float:
    """Compute the largest epsilon of a fit that takes at most so much of a level's amounts."""

    def fits(cap: float) -> bool:
        charged_amount, charged_delta = _largest_charge(budget, level, cap)
        return charged_amount <= amount and charged_delta <= delta

    return largest_epsilon(level.epsilon, fits)


def _largest_charge(budget: Budget, level: LevelBudget, cap: float) -> tuple[float, float]:
    """Compute the amount and the delta that a fit takes of a level at most, under a cap.

    At Renyi orders it is that of Gaussian noise, whose divergences are proportional to the order:
    the filter of a fit has another order than that of the budget.
    """
    one_level = replace(budget, levels=(level,))
    (filter_,) = scope_filters(one_level, Scope("equal fit", cap))
    if isinstance(filter_.order, str):
        return filter_.amount, filter_.delta
    if budget.kind == "pairs":
        return filter_.amount, cap / level.epsilon * level.delta
    assert not isinstance(level.order, str)
    return filter_.amount * level.order / filter_.order, 0.0
