"""Tables of a budget: the shares that were spent and that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from secretballot._tables import WITHHELD, percent
from secretballot._views import Bar, Cell, Key, Part, Prose, Segment, Table, View
from secretballot.accounting._report import UNREADABLE, PrivacySpent, promise
from secretballot.ledger import Budget

Spent = Mapping[str, PrivacySpent]


def budget_view(budget: Budget, spent: Spent | None, ledger: str) -> View:
    """Lay out the budget of an accountant; `spent` is None if its ledger can't be read."""
    rows: list[Sequence[Cell]] = []
    for level in budget.levels:
        fixed = (level.name, f"{level.epsilon:g}")
        if spent is None or budget.accounting == "data_dependent":
            rows.append((*fixed, "", *[_unknown(spent)] * 3))
            continue
        share, n_rows = spent[level.name].share, spent[level.name].n_rows
        remaining = max(1 - share, 0.0)
        bar = Bar((Segment("this", share, "spent"), Segment("", remaining, "left")))
        rows.append((*fixed, bar, percent(share), percent(remaining), f"{n_rows:,}"))
    keys = (Key("spent", "this"), Key("left", ""))
    table = Table(("level", "epsilon", "budget", *keys, "rows"), rows)
    parts = [table, *_remarks(budget, spent), Prose.of(f"ledger: {ledger}", quiet=True)]
    return View("PrivacyAccountant", tuple(parts), about=promise(budget))


def fit_view(budget: Budget, spent: Spent | None, fit: Spent | None) -> View:
    """Lay out the budget of an estimator.

    Parameters
    ----------
    budget : Budget
    spent : dict of str to PrivacySpent or None
        Spent by all fits, for each level; None if the ledger can't be read.
    fit : dict of str to PrivacySpent or None
        Spent by this fit, for each level.
    """
    rows: list[Sequence[Cell]] = []
    for level in budget.levels:
        fixed = (level.name, f"{level.epsilon:g}")
        if spent is None or fit is None or budget.accounting == "data_dependent":
            rows.append((*fixed, "", *[_unknown(spent)] * 3))
            continue
        total = spent[level.name].share
        of_fit = min(fit[level.name].share, total)
        shares = (total - of_fit, of_fit, max(1 - total, 0.0))
        bar = Bar(
            (
                Segment("spent", shares[0], "spent before or elsewhere"),
                Segment("this", shares[1], "spent by this fit"),
                Segment("", shares[2], "left"),
            )
        )
        rows.append((*fixed, bar, *map(percent, shares)))
    keys = (Key("elsewhere", "spent"), Key("this fit", "this"), Key("left", ""))
    table = Table(("level", "epsilon", "budget", *keys), rows)
    return View("Budget", (table, *_remarks(budget, spent)), about=promise(budget))


def _unknown(spent: Spent | None) -> str:
    return "?" if spent is None else WITHHELD


def _remarks(budget: Budget, spent: Spent | None) -> list[Part]:
    if spent is None:
        return [Prose.of(f"{UNREADABLE}.")]
    if budget.accounting == "data_dependent":
        return [Prose.of("Data dependent: what was spent is itself sensitive, and not shown here.")]
    if any(report.share > 1 for report in spent.values()):
        return [Prose.of("Overspent: the statement says by how much.")]
    return []
