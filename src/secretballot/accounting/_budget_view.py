"""What is shown of a budget: who spent how much of it, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from secretballot._tables import WITHHELD, percent
from secretballot._views import Bar, Cell, Key, Part, Prose, Segment, Table, View
from secretballot.accounting._report import UNREADABLE, PrivacySpent, promise
from secretballot.ledger import Budget

Spent = Mapping[str, PrivacySpent]


def budget_view(budget: Budget, spent: Spent | None, ledger: str) -> View:
    """Return what is shown of an accountant; `spent` is None if its ledger can't be read."""
    rows: list[Sequence[Cell]] = []
    for level in budget.levels:
        fixed = (level.name, f"{level.epsilon:g}")
        if spent is None or budget.accounting == "data_dependent":
            rows.append((*fixed, "", *[_unknown(spent)] * 3))
            continue
        one = spent[level.name]
        left = max(1 - one.share, 0.0)
        bar = Bar((Segment("this", one.share, "spent"), Segment("", left, "left")))
        rows.append((*fixed, bar, percent(one.share), percent(left), f"{one.n_rows:,}"))
    spent_key, left_key = Key("spent", "this"), Key("left", "")
    table = Table(("level", "epsilon", "budget", spent_key, left_key, "rows"), rows)
    parts = [table, *_said(budget, spent), Prose.of(f"ledger: {ledger}", quiet=True)]
    return View("PrivacyAccountant", tuple(parts), about=promise(budget))


def fit_view(budget: Budget, spent: Spent | None, fit: Spent | None) -> View:
    """Return what is shown of the budget of an estimator.

    Parameters
    ----------
    budget : Budget
    spent : dict of str to PrivacySpent or None
        By everybody, for each level; None if the ledger can't be read.
    fit : dict of str to PrivacySpent or None
        By this fit alone, alike.
    """
    rows: list[Sequence[Cell]] = []
    for level in budget.levels:
        fixed = (level.name, f"{level.epsilon:g}")
        if spent is None or fit is None or budget.accounting == "data_dependent":
            rows.append((*fixed, "", *[_unknown(spent)] * 3))
            continue
        whole = spent[level.name].share
        this = min(fit[level.name].share, whole)
        shares = (whole - this, this, max(1 - whole, 0.0))
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
    return View("Budget", (table, *_said(budget, spent)), about=promise(budget))


def _unknown(spent: Spent | None) -> str:
    return "?" if spent is None else WITHHELD


def _said(budget: Budget, spent: Spent | None) -> list[Part]:
    if spent is None:
        return [Prose.of(f"{UNREADABLE}.")]
    if budget.accounting == "data_dependent":
        return [Prose.of("Data dependent: what was spent is itself sensitive, and not shown here.")]
    if any(one.share > 1 for one in spent.values()):
        return [Prose.of("Overspent: the statement says by how much.")]
    return []
