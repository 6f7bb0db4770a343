"""How much of a budget is spent and left, for people."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from secretballot._errors import PrivacyLeakWarning
from secretballot._tables import html_table, html_text
from secretballot.divergences import Cost, Order, level_cost
from secretballot.ledger import Budget, Ledger, LevelBudget, Totals

#: What sums in another order than the gate's may differ by.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class PrivacySpent:
    """What has been spent on the people of one level.

    Attributes
    ----------
    level : str
        The level, ``"everyone"`` for a budget without levels.
    epsilon : float
        What the cost so far converts to. A reading, not a guarantee: which costs occur depends on
        what was released, and only the budget was fixed before.
    delta : float
        The delta of the reading, the budget's.
    share : float
        Share of the budget that is used up, between 0 and 1. (Above 1 for a ledger that a version
        with a fault let overspend.)
    order : float or "gaussian"
        The Renyi order at which the budget gates; ``"gaussian"`` where it counts mu^2.
    amount : float
        What was spent: at that Renyi order, or as mu^2.
    n_releases : int
        Releases recorded.
    n_rows : int
        Rows answered or begun in them.
    cost : RenyiCost or GaussianCost
        The whole cost.
    """

    level: str
    epsilon: float
    delta: float
    share: float
    order: Order
    amount: float
    n_releases: int
    n_rows: int
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class PrivacyRemaining:
    """What is left for the people of one level.

    Attributes
    ----------
    level : str
        The level, ``"everyone"`` for a budget without levels.
    share : float
        Share of the budget that is left, between 0 and 1.
    amount : float
        What may still be spent at that order, or as mu^2.
    order : float or "gaussian"
        The Renyi order at which the budget gates; ``"gaussian"`` where it counts mu^2.
    delta : float
        What is left of the delta set aside for approximations.
    """

    level: str
    share: float
    amount: float
    order: Order
    delta: float


def spent_on(level: LevelBudget, totals: Totals) -> PrivacySpent:
    """Sum up one level of a ledger."""
    cost = level_cost(totals.charges, level.name, level.order)
    amount, approximate = float(cost.at(level.order)), float(cost.delta)
    shares = [amount / level.amount]
    if approximate:
        shares.append(approximate / level.approximation_delta)
    share = max(shares)
    return PrivacySpent(
        level=level.name,
        epsilon=float(cost.epsilon(level.delta)),
        delta=level.delta,
        share=share if share > 1 + ROUNDING else min(share, 1.0),
        order=level.order,
        amount=amount,
        n_releases=totals.n_releases,
        n_rows=totals.n_rows,
        cost=cost,
    )


def remaining_for(level: LevelBudget, totals: Totals) -> PrivacyRemaining:
    """Say what is left of one level of a ledger."""
    spent = spent_on(level, totals)
    return PrivacyRemaining(
        level=level.name,
        share=max(1 - spent.share, 0.0),
        amount=max(level.amount - spent.amount, 0.0),
        order=level.order,
        delta=max(level.approximation_delta - float(spent.cost.delta), 0.0),
    )


def as_text(budget: Budget, spent: Mapping[str, PrivacySpent] | None) -> str:
    """Describe a budget in one line; `spent` is None if its ledger can't be read."""
    return f"<PrivacyAccountant: {_promise(budget)}, {_progress(budget, spent)}>"


def as_html(budget: Budget, spent: Mapping[str, PrivacySpent] | None, ledger: str) -> str:
    """Return a small table, escaped."""
    headings = ("level", "epsilon", "delta", "share spent", "rows")
    caption = f"PrivacyAccountant: {_promise(budget)}"
    return html_table(
        headings,
        [_cells(level, spent or {}) for level in budget.levels],
        f"{html_text(caption)}<br>{html_text(f'ledger: {ledger}')}",
    )


def _promise(budget: Budget) -> str:
    epsilon = budget.epsilon
    amounts = (
        "{" + ", ".join(f"{name!r}: {amount:g}" for name, amount in epsilon.items()) + "}"
        if isinstance(epsilon, dict)
        else f"{epsilon:g}"
    )
    return f"epsilon={amounts}, delta={budget.delta:g} per {budget.unit} ({budget.relation})"


def _progress(budget: Budget, spent: Mapping[str, PrivacySpent] | None) -> str:
    if spent is None:
        return "its ledger can't be read"
    shares = ", ".join(
        f"{one.share:.1%} spent" + (f" of {name!r}" if len(spent) > 1 else "")
        for name, one in spent.items()
    )
    if budget.accounting == "data_dependent":
        shares += " (data dependent: itself sensitive)"
    return shares


def _cells(level: LevelBudget, spent: Mapping[str, PrivacySpent]) -> list[str]:
    fixed = [level.name, f"{level.epsilon:g}", f"{level.delta:g}"]
    if level.name not in spent:
        return [*fixed, "?", "?"]
    return [*fixed, f"{spent[level.name].share:.1%}", str(spent[level.name].n_rows)]


def warn_data_dependent(budget: Budget) -> None:
    """Say that costs of actual votes are sensitive themselves."""
    if budget.accounting == "data_dependent":
        warnings.warn(
            "accounting='data_dependent' charges what the actual votes cost: the epsilon it "
            "reports, and where a run stops, are themselves sensitive and must not be published "
            "as they are.",
            PrivacyLeakWarning,
            stacklevel=3,
        )


def warn_overspent(ledger: Ledger) -> None:
    """Say which levels a ledger of a version with a fault has overspent."""
    totals = ledger.totals()
    for level in ledger.budget.levels:
        spent = spent_on(level, totals)
        if spent.share > 1:
            warnings.warn(
                f"the ledger {ledger.path!r} has overspent: {spent.share:.1%} of the budget of "
                f"{level.name!r} is gone. Parts of a level are other people in every fit, and a "
                "version before this one let each of them pay anew. Nothing more is released for "
                f"that level; what was released amounts to an epsilon of {spent.epsilon:.4g} "
                f"instead of {level.epsilon:g}, and the statement says so.",
                PrivacyLeakWarning,
                stacklevel=3,
            )
