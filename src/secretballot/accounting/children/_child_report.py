"""Reports of child budgets: what each may spend and has spent, and its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from secretballot._tables import percent
from secretballot._views import Bar, Cell, Key, Segment, Table
from secretballot.accounting._report import PrivacySpent, spent_on
from secretballot.ledger import PATH_SEPARATOR, ChildTotals, Grant, Ledger, Totals

#: Text for what a sealed child has spent, whose releases are made elsewhere.
_ELSEWHERE = "elsewhere"


@dataclass(frozen=True, kw_only=True)
class ChildReport:
    """Report of one child budget.

    Attributes
    ----------
    path : str
        Names of the children that lead to it, joined by ``"/"``.
    grant : Grant
        Its part of the budget.
    state : {"open", "sealed", "begun", "closed"}
        ``"begun"`` is a sealed child whose releases have begun.
    n_releases : int
        Releases that were charged to it.
    spent : dict of str to PrivacySpent
        Spend by level, children of its own included; empty for a sealed child.
    """

    path: str
    grant: Grant
    state: str
    n_releases: int
    spent: Mapping[str, PrivacySpent]

    @classmethod
    def of_totals(cls, path: str, totals: Totals) -> Self:
        """Report a child by the totals of its ledger."""
        child, within = totals.children[path], totals.of_child(path)
        levels = () if child.grant.is_sealed else child.grant.levels
        return cls(
            path=path,
            grant=child.grant,
            state=_state(child),
            n_releases=child.n_releases,
            spent={level.name: spent_on(level, within) for level in levels},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        levels = [
            {
                "level": level.name,
                "epsilon": level.epsilon,
                "delta": level.delta,
                "share_spent": self.spent[level.name].share if self.spent else None,
            }
            for level in self.grant.levels
        ]
        return {
            "path": self.path,
            "state": self.state,
            "sealed": self.grant.is_sealed,
            "group": None if self.grant.group is None else list(self.grant.group),
            "n_releases": self.n_releases,
            "levels": levels,
        }

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return a row for each level: its name, epsilon, share spent, releases and state."""
        releases = _ELSEWHERE if self.grant.is_sealed else f"{self.n_releases:,}"
        return [
            (level.name, f"{level.epsilon:g}", self._share(level.name), releases, self.state)
            for level in self.grant.levels
        ]

    def cells(self) -> list[Sequence[Cell]]:
        """Return the rows for a page, each with a bar."""
        return [
            (self.path, level, epsilon, self._bar(level), spent, releases, state)
            for level, epsilon, spent, releases, state in self.rows()
        ]

    def _share(self, level: str) -> str:
        return percent(self.spent[level].share) if self.spent else _ELSEWHERE

    def _bar(self, level: str) -> Cell:
        if not self.spent:
            return ""
        share = self.spent[level].share
        return Bar((Segment("this", share, "spent"), Segment("", max(1 - share, 0.0), "left")))


def child_reports(ledger: Ledger) -> list[ChildReport]:
    """Report the child budgets of a ledger, each child before its own children."""
    totals = ledger.totals()
    paths = sorted(totals.children, key=lambda path: path.split(PATH_SEPARATOR))
    return [ChildReport.of_totals(path, totals) for path in paths]


def children_table(reports: Sequence[ChildReport]) -> Table:
    """Lay out child budgets with bars of what they have spent."""
    columns = ("child", "level", "epsilon", "budget", Key("spent", "this"), "releases", "state")
    return Table(columns, [row for report in reports for row in report.cells()])


def _state(child: ChildTotals) -> str:
    if child.is_closed:
        return "closed"
    if child.grant.is_sealed:
        return "begun" if child.is_begun else "sealed"
    return "open"
