"""Reports of the spent and the remaining budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from secretballot._base._errors import PrivacyLeakWarning, warn
from secretballot._base._tables import WITHHELD, order_text, percent
from secretballot._base._view import Shown, View
from secretballot._base._view_cells import Bar, Cell
from secretballot._base._view_parts import Part, Prose, Table
from secretballot.costs._cost import Cost
from secretballot.costs._groups import level_cost
from secretballot.costs._orders import Order
from secretballot.ledger._budget import Budget, LevelBudget
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._totals import Totals

#: The text for a budget whose file is gone.
UNREADABLE = "its ledger can't be read"

#: The largest epsilon that is opened without a warning.
LARGE_EPSILON = 10

#: The largest delta that is opened without a warning beside a smaller epsilon.
LARGE_DELTA = 0.01

#: The relative difference of sums that were added up in another order.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class PrivacySpent(Shown):
    """Privacy spent on the people of one level.

    Attributes
    ----------
    level : str
        The level, ``"everyone"`` for a budget without levels.
    epsilon, delta : float
        The epsilon that the cost so far converts to at the budget's delta. A reading, not a
        guarantee: only the budget was fixed before the releases.
    share : float
        Share of the budget that is used up, between 0 and 1. (Above 1 where a fault or another
        program wrote entries that no release can have made.)
    order : float or "gaussian"
        The Renyi order at which the budget gates; ``"gaussian"`` where it counts mu^2.
    amount : float
        The amount that was spent: at that Renyi order, or as mu^2.
    n_releases, n_rows : int
        Releases recorded, and rows begun in them.
    cost : RenyiCost or GaussianCost
        The whole cost.
    sensitive : bool
        True under data-dependent accounting, where the costs reveal something about the votes.
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
    sensitive: bool = False

    def _view(self) -> View:
        return by_level_view([self])

    def _cells(self) -> Sequence[Cell]:
        share, bar = percent(self.share), Bar.of(self.share, "spent")
        reading = (f"{self.epsilon:.4g}", f"{self.delta:g}")
        return (self.level, bar, share, *reading, f"{self.n_releases:,}", f"{self.n_rows:,}")


@dataclass(frozen=True, kw_only=True)
class PrivacyRemaining(Shown):
    """Privacy left for the people of one level.

    Attributes
    ----------
    level : str
        The level, ``"everyone"`` for a budget without levels.
    share : float
        Share of the budget that is left, between 0 and 1.
    amount : float
        The amount that may still be spent: at that Renyi order, or as mu^2.
    order : float or "gaussian"
        As in `PrivacySpent`.
    delta : float
        The rest of the delta that was set aside for approximations.
    sensitive : bool
        As in `PrivacySpent`.
    """

    level: str
    share: float
    amount: float
    order: Order
    delta: float
    sensitive: bool = False

    def _view(self) -> View:
        return by_level_view([self])

    def _cells(self) -> Sequence[Cell]:
        share, bar = percent(self.share), Bar.of(self.share, "left")
        amounts = (f"{self.amount:.4g}", order_text(self.order), f"{self.delta:.3g}")
        return (self.level, bar, share, *amounts)


Report = TypeVar("Report", PrivacySpent, PrivacyRemaining)

_HEADINGS = {
    PrivacySpent: ("level", "", "spent", "epsilon so far", "delta", "releases", "rows"),
    PrivacyRemaining: ("level", "", "left", "amount", "order", "delta set aside"),
}


def by_level_view(reports: Sequence[PrivacySpent] | Sequence[PrivacyRemaining]) -> View:
    """Lay out the reports of all levels as one table."""
    kind = type(reports[0])
    parts: list[Part] = [Table(_HEADINGS[kind], [report._cells() for report in reports])]
    if reports[0].sensitive:
        parts.append(Prose.of("Data dependent: itself sensitive, and not to be published."))
    return View(kind.__name__, tuple(parts))


class ByLevel(dict[str, Report], Shown):
    """Reports by level: a dict that is shown as one table."""

    @property
    def share(self) -> float:
        """Share of the level that ends first: the most spent, or the least that remains."""
        shares = [report.share for report in self.values()]
        is_spent = any(isinstance(report, PrivacySpent) for report in self.values())
        return max(shares) if is_spent else min(shares)

    def _view(self) -> View:
        return by_level_view(list(self.values())) if self else View("ByLevel", ())


def spent_on(level: LevelBudget, totals: Totals, *, sensitive: bool = False) -> PrivacySpent:
    """Sum up one level of a ledger."""
    cost = level_cost(totals.charges, level.name, level.order)
    amount, delta = float(cost.at(level.order)), float(cost.delta)
    share = max(amount / level.amount, delta / level.approximation_delta if delta else 0.0)
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
        sensitive=sensitive,
    )


def remaining_for(
    level: LevelBudget, totals: Totals, *, sensitive: bool = False
) -> PrivacyRemaining:
    """Compute the rest of one level of a ledger."""
    spent = spent_on(level, totals)
    return PrivacyRemaining(
        level=level.name,
        share=max(1 - spent.share, 0.0),
        amount=max(level.amount - spent.amount, 0.0),
        order=level.order,
        delta=max(level.approximation_delta - float(spent.cost.delta), 0.0),
        sensitive=sensitive,
    )


def as_text(budget: Budget, spent: Mapping[str, PrivacySpent] | None) -> str:
    """Describe a budget in one line; `spent` is None if its ledger can't be read."""
    return f"<PrivacyAccountant: {promise(budget)}, {_progress(budget, spent)}>"


def promise(budget: Budget) -> str:
    """Describe the guarantee of a budget on one line."""
    epsilon = budget.epsilon
    amounts = (
        "{" + ", ".join(f"{name!r}: {amount:g}" for name, amount in epsilon.items()) + "}"
        if isinstance(epsilon, dict)
        else f"{epsilon:g}"
    )
    return f"epsilon={amounts}, delta={budget.delta:g} per {budget.unit} ({budget.relation})"


def _progress(budget: Budget, spent: Mapping[str, PrivacySpent] | None) -> str:
    if spent is None:
        return UNREADABLE
    if budget.is_sensitive:
        return f"share spent {WITHHELD} (data dependent: itself sensitive)"
    return ", ".join(
        f"{percent(report.share)} spent" + (f" of {name!r}" if len(spent) > 1 else "")
        for name, report in spent.items()
    )


def warn_weak_budget(budget: Budget) -> None:
    """Warn, when a budget is opened, that its epsilon or delta promises next to nothing."""
    level = max(budget.levels, key=lambda level: level.epsilon)
    if level.epsilon > LARGE_EPSILON:
        warn(
            f"epsilon={level.epsilon:g} is a weak guarantee: an outcome may be e^{level.epsilon:g} "
            "times as likely with one person's data as without. Budgets for people's data have "
            f"an epsilon of about 1, and of {LARGE_EPSILON} at most."
        )
    if budget.delta > max(level.epsilon, LARGE_DELTA):
        warn(
            f"delta={budget.delta:g} is above epsilon={level.epsilon:g}: were both swapped? The "
            "order is PrivacyAccountant(epsilon, delta). Somebody's whole record may be published "
            "with the probability delta, which must be well below one over the number of people, "
            "such as 1e-5."
        )


def warn_data_dependent(budget: Budget) -> None:
    """Warn that costs of actual votes are sensitive themselves."""
    if budget.is_sensitive:
        warn(
            "accounting='data_dependent' charges what the actual votes cost: the epsilon it "
            "reports, and where a run stops, are themselves sensitive and must not be published "
            "as they are.",
            PrivacyLeakWarning,
        )


def warn_overspent(ledger: Ledger) -> None:
    """Warn of levels whose entries cost more than the budget, which no release can have done."""
    totals = ledger.totals()
    for level in ledger.budget.levels:
        spent = spent_on(level, totals)
        if spent.share > 1:
            warn(
                f"the ledger {ledger.name!r} has overspent: {spent.share:.1%} of the budget of "
                f"{level.name!r} is gone, by a fault of the library or of another program that "
                "wrote to the file. Nothing more is released for that level; what was released "
                f"amounts to an epsilon of {spent.epsilon:.4g} instead of {level.epsilon:g}, and "
                "the statement says so.",
                PrivacyLeakWarning,
            )
