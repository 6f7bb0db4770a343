"""Tables of a budget: the shares that were spent and that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from secretballot._base._tables import WITHHELD, percent
from secretballot._base._view import View
from secretballot._base._view_cells import Bar, Cell, Key, Segment
from secretballot._base._view_parts import Part, Prose, Table
from secretballot.accounting._report import UNREADABLE, PrivacySpent, promise
from secretballot.ledger._budget import Budget

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
    return View("PrivacyAccountant", parts, about=promise(budget))


def fit_view(budget: Budget, spent: Spent | None, fit: Spent | None) -> View:
    """Lay out the budget of an estimator, with the spend of one fit apart from all others'."""
    spent = None if fit is None else spent
    table = _level_table(budget, spent, fit or {})
    return View("Budget", (table, *_remarks(budget, spent)), about=promise(budget))


def _level_table(budget: Budget, spent: Spent | None, fit: Spent | None) -> Table:
    """Make a table of the levels; `fit` is None for the budget as a whole."""
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
        return [Prose.of(f"{UNREADABLE}.")]
    if budget.is_sensitive:
        return [Prose.of("Data dependent: what was spent is itself sensitive, and not shown here.")]
    if any(report.share > 1 for report in spent.values()):
        return [Prose.of("Overspent: the statement says by how much.")]
    return []
