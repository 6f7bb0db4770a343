"""Reports of child budgets: what each may spend and has spent, and its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from secretballot._base._tables import percent
from secretballot._base._view_cells import Bar, Cell, Key, Segment
from secretballot._base._view_parts import Table
from secretballot.accounting._report import PrivacySpent, spent_on
from secretballot.ledger._child import Grant
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._totals import Totals


@dataclass(frozen=True, kw_only=True)
class ChildReport:
    """Report of one child budget.

    Attributes
    ----------
    name : str
    grant : Grant
        Its part of the budget.
    state : {"open", "closed"}
    n_releases : int
        Releases that were charged to it.
    spent : dict of str to PrivacySpent
        Spend by level.
    """

    name: str
    grant: Grant
    state: str
    n_releases: int
    spent: Mapping[str, PrivacySpent]

    @classmethod
    def of_totals(cls, name: str, totals: Totals) -> Self:
        """Report a child by the totals of its ledger."""
        child, within = totals.children[name], totals.of_child(name)
        return cls(
            name=name,
            grant=child.grant,
            state="closed" if child.is_closed else "open",
            n_releases=child.n_releases,
            spent={level.name: spent_on(level, within) for level in child.grant.levels},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        levels = [
            {
                "level": level.name,
                "epsilon": level.epsilon,
                "delta": level.delta,
                "share_spent": self.spent[level.name].share,
            }
            for level in self.grant.levels
        ]
        return {
            "name": self.name,
            "state": self.state,
            "n_releases": self.n_releases,
            "levels": levels,
        }

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return a row for each level: its name, epsilon, share spent, releases and state."""
        return [
            (
                level.name,
                f"{level.epsilon:g}",
                percent(self.spent[level.name].share),
                f"{self.n_releases:,}",
                self.state,
            )
            for level in self.grant.levels
        ]

    def cells(self) -> list[Sequence[Cell]]:
        """Return the rows for a page, each with a bar."""
        return [
            (self.name, level, epsilon, self._bar(level), spent, releases, state)
            for level, epsilon, spent, releases, state in self.rows()
        ]

    def _bar(self, level: str) -> Cell:
        share = self.spent[level].share
        return Bar((Segment("this", share, "spent"), Segment("", max(1 - share, 0.0), "left")))


def child_reports(ledger: Ledger) -> list[ChildReport]:
    """Report the child budgets of a ledger."""
    totals = ledger.totals()
    return [ChildReport.of_totals(name, totals) for name in sorted(totals.children)]


def children_table(reports: Sequence[ChildReport]) -> Table:
    """Lay out child budgets with bars of what they have spent."""
    columns = ("child", "level", "epsilon", "budget", Key("spent", "this"), "releases", "state")
    return Table(columns, [row for report in reports for row in report.cells()])
