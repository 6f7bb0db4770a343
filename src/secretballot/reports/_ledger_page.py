"""Page of a ledger: its state, its budget, child budgets and entries."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from secretballot._base._tables import WITHHELD, entry_count, mechanism_text, visible
from secretballot._base._view import View
from secretballot._base._view_cells import Cell
from secretballot._base._view_page import html_page
from secretballot._base._view_parts import Heading, Part, Prose, Table, facts
from secretballot.accounting._budget_view import budget_view
from secretballot.accounting._release_words import entry_text
from secretballot.accounting._replay import spent_by_level
from secretballot.accounting.children._child_report import child_reports, children_table
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._totals import Totals

#: Letters of a note that are shown.
_NOTE_LENGTH = 300

_COMPLETE = "complete, by the mark beside the ledger"


def ledger_page(
    ledger: Ledger, entries: Sequence[LedgerEntry], totals: Totals, completeness_note: str
) -> str:
    """Return a page of HTML that names no folder.

    `entries` are the latest of a walk over the whole ledger, and `totals` are its sums.
    """
    budget, name = ledger.budget, os.path.basename(ledger.name)
    reports = child_reports(ledger)
    children: list[Part] = [Heading("Child budgets"), children_table(reports)] if reports else []
    parts: list[Part] = [
        _state(ledger, totals, completeness_note),
        Heading("Budget"),
        *budget_view(budget, spent_by_level(budget, totals), name).parts,
        *children,
        Heading("Entries"),
        *_entries(entries, totals.sequence, budget.is_sensitive),
    ]
    return html_page(View(f"Budget of {name}", tuple(parts)))


def _state(ledger: Ledger, totals: Totals, completeness_note: str) -> Table:
    budget, now = ledger.budget, datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    head = WITHHELD if budget.is_sensitive else totals.digest
    return facts(
        ("chain", f"unaltered: {entry_count(totals.sequence)}, head digest {head}"),
        ("end", completeness_note or _COMPLETE),
        ("protects", f"one {budget.unit} ({budget.relation})"),
        ("accounting", budget.accounting),
        ("read", f"{now[:19]} UTC"),
    )


def _entries(entries: Sequence[LedgerEntry], n_entries: int, sensitive: bool) -> list[Part]:
    """Lay out entries, the latest first."""
    if not n_entries:
        return [Prose.of("None.")]
    rows = [_cells(entry, sensitive) for entry in reversed(entries)]
    n_earlier = n_entries - len(rows)
    earlier = f"{entry_count(n_earlier).replace(' ', ' earlier ')} not shown"
    return [
        Table(("entry", "time (UTC)", "what", "answers", "note"), rows),
        *([Prose.of(earlier, quiet=True)] if n_earlier else []),
    ]


def _cells(entry: LedgerEntry, sensitive: bool) -> tuple[Cell, ...]:
    note = "" if entry.note == "{}" else visible(entry.note)
    if len(note) > _NOTE_LENGTH:
        note = f"{note[:_NOTE_LENGTH]}..."
    if entry.seeded:
        note = f"REPRODUCIBLE NOISE {note}"
    what, answers = entry_text(entry), f"{entry.n_rows:,}"
    if sensitive:
        # As in the statement: parameters may be calibrated to what the votes left.
        described: dict[str, Any] = json.loads(entry.mechanism)
        public = {key: described[key] for key in ("mechanism", "event") if key in described}
        what, answers = mechanism_text(public), WITHHELD
    return (str(entry.sequence), entry.time[:16].replace("T", " "), what, answers, note)
