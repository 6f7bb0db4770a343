"""Reports of the spent and the remaining budget, and the replay of a ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from secretballot._base._errors import LedgerError, PrivacyLeakWarning, warn
from secretballot._base._view import (
    WITHHELD,
    Bar,
    Cell,
    Key,
    Part,
    Prose,
    Segment,
    Shown,
    Table,
    View,
    order_text,
    percent,
)
from secretballot.accounting._limits import (
    PrivacyFilter,
    budget_filters,
    overspent,
    scope_filters,
    share_of,
)
from secretballot.costs._cost import Cost
from secretballot.costs._groups import level_cost
from secretballot.costs._orders import Order
from secretballot.ledger._budget import Budget, LevelBudget, Scope
from secretballot.ledger._entry import LedgerEntry, charge_digits
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._totals import Totals

#: The text for a budget whose file is gone.
_UNREADABLE = "its ledger can't be read"

#: The largest epsilon that is opened without a warning.
LARGE_EPSILON = 10


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
    cost = level_cost(totals.charges, level.name, level.order)
    return PrivacySpent(
        level=level.name,
        epsilon=float(cost.epsilon(level.delta)),
        delta=level.delta,
        share=share_of(level, totals.charges),
        order=level.order,
        amount=float(cost.at(level.order)),
        n_releases=totals.n_releases,
        n_rows=totals.n_rows,
        cost=cost,
        sensitive=sensitive,
    )


def remaining_for(
    level: LevelBudget, totals: Totals, is_closed: bool = False, *, sensitive: bool = False
) -> PrivacyRemaining:
    """Report what is left of a level: nothing, if the budget `is_closed`."""
    spent = spent_on(level, totals)
    left = 0.0 if is_closed else 1.0
    return PrivacyRemaining(
        level=level.name,
        share=left * max(1 - spent.share, 0.0),
        amount=left * max(level.amount - spent.amount, 0.0),
        order=level.order,
        delta=left * max(level.approximation_delta - float(spent.cost.delta), 0.0),
        sensitive=sensitive,
    )


def as_text(budget: Budget, spent: Mapping[str, PrivacySpent] | None) -> str:
    """Describe a budget in one line; `spent` is None if its ledger can't be read."""
    if spent is None:
        progress = _UNREADABLE
    elif budget.is_sensitive:
        progress = f"share spent {WITHHELD} (data dependent: itself sensitive)"
    else:
        progress = ", ".join(
            f"{percent(report.share)} spent" + (f" of {name!r}" if len(spent) > 1 else "")
            for name, report in spent.items()
        )
    return f"<PrivacyAccountant: {_promise(budget)}, {progress}>"


def _promise(budget: Budget) -> str:
    epsilon = budget.epsilon
    amounts = (
        "{" + ", ".join(f"{name!r}: {amount:g}" for name, amount in epsilon.items()) + "}"
        if isinstance(epsilon, dict)
        else f"{epsilon:g}"
    )
    return f"epsilon={amounts}, delta={budget.delta:g} per {budget.unit} ({budget.relation})"


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


def spent_by_level(budget: Budget, totals: Totals) -> dict[str, PrivacySpent]:
    sensitive = budget.is_sensitive
    return {level.name: spent_on(level, totals, sensitive=sensitive) for level in budget.levels}


def replay(ledger: Ledger) -> dict[str, PrivacySpent]:
    """Sum up a ledger, and raise LedgerError if one of its entries was not allowed.

    The hash chain proves that nothing was changed. This proves that what was recorded was allowed:
    at every entry the budget of each level holds, and the cap of the entry's scope. (That no entry
    draws or gives back what nobody paid for is checked wherever entries are added up.)
    """
    budget, walk = ledger.budget, ledger.walk()
    of_budget = budget_filters(budget)
    of_scopes, of_children = dict[str, list[PrivacyFilter]](), dict[str, list[PrivacyFilter]]()
    for entry in walk:
        is_free = entry.is_release and not entry.charges and entry.reservation is None
        faults = [
            "releases rows that nobody paid for" if is_free else "",
            _child_fault(entry, walk.totals, budget, of_children),
            overspent(of_budget, walk.totals.charges, "the budget"),
        ]
        if entry.scope_id is not None and entry.charges:
            scope = walk.totals.scopes[entry.scope_id]
            if entry.scope_id not in of_scopes:
                recorded, limited = Scope(entry.scope_id, scope.epsilon), budget
                if entry.child is not None:
                    limited = walk.totals.children[entry.child.name].grant.budget(budget)
                of_scopes[entry.scope_id] = scope_filters(limited, recorded)
            if entry.scope_epsilon != scope.epsilon:
                faults.append("changes the cap of its scope")
            faults.append(overspent(of_scopes[entry.scope_id], scope.charges, "its scope"))
        for fault in filter(None, faults):
            raise LedgerError(
                f"The ledger {ledger.name!r} is wrong: entry {entry.sequence} {fault}. No version "
                "records that."
            )
    return spent_by_level(budget, walk.totals)


def _child_fault(
    entry: LedgerEntry, totals: Totals, budget: Budget, filters: dict[str, list[PrivacyFilter]]
) -> str:
    """Describe what an entry does against the limits of a child; "" if nothing.

    `totals` are the sums after the entry, and `filters` those of children that were met before.
    """
    if entry.child is None:
        return ""
    name, event = entry.child.name, entry.child.event
    state, charges = totals.children[name], charge_digits(entry.charges)
    if event == "close" and charges != charge_digits(state.grant.refund(state)):
        return f"gives back other than the rest of the child {name!r}"
    if event != "spend":
        return ""
    if name not in filters:
        filters[name] = budget_filters(state.grant.budget(budget))
    return overspent(filters[name], state.charges, f"the child {name!r}")


Spent = Mapping[str, PrivacySpent]

#: Heading of each share, kind of its segment in the bar, and name for screen readers.
_SHARES = (("spent", "this", "spent"), ("left", "", "left"))
_SHARES_OF_FIT = (
    ("elsewhere", "spent", "spent before or elsewhere"),
    ("this fit", "this", "spent by this fit"),
    ("left", "", "left"),
)


def budget_view(budget: Budget, spent: Spent | None, ledger: str) -> View:
    """Lay out the budget of an accountant; `spent` is None if its ledger can't be read."""
    table = _level_table(budget, spent, None)
    parts = (table, *_remarks(budget, spent), Prose.of(f"ledger: {ledger}", quiet=True))
    return View("PrivacyAccountant", parts, about=_promise(budget))


def fit_view(budget: Budget, spent: Spent | None, fit: Spent | None) -> View:
    """Lay out the budget of an estimator, with the spend of one fit apart from all others'."""
    spent = None if fit is None else spent
    table = _level_table(budget, spent, fit or {})
    return View("Budget", (table, *_remarks(budget, spent)), about=_promise(budget))


def _level_table(budget: Budget, spent: Spent | None, fit: Spent | None) -> Table:
    columns = _SHARES if fit is None else _SHARES_OF_FIT
    rows: list[Sequence[Cell]] = []
    for level in budget.levels:
        fixed = (level.name, f"{level.epsilon:g}")
        if spent is None or budget.is_sensitive:
            rows.append((*fixed, "", *["?" if spent is None else WITHHELD] * 3))
            continue
        share, n_rows = spent[level.name].share, spent[level.name].n_rows
        of_fit = () if fit is None else (min(fit[level.name].share, share),)
        shares = (share - sum(of_fit), *of_fit, max(1 - share, 0.0))
        segments = [
            Segment(kind, part, name) for (_, kind, name), part in zip(columns, shares, strict=True)
        ]
        counts = [f"{n_rows:,}"] if fit is None else []
        rows.append((*fixed, Bar(tuple(segments)), *map(percent, shares), *counts))
    keys = [Key(heading, kind) for heading, kind, _ in columns]
    return Table(("level", "epsilon", "budget", *keys, *(["answers"] if fit is None else [])), rows)


def _remarks(budget: Budget, spent: Spent | None) -> list[Part]:
    if spent is None:
        return [Prose.of(f"{_UNREADABLE}.")]
    if budget.is_sensitive:
        return [Prose.of("Data dependent: what was spent is itself sensitive, and not shown here.")]
    is_overspent = any(report.share > 1 for report in spent.values())
    return [Prose.of("Overspent: the statement says by how much.")] if is_overspent else []
