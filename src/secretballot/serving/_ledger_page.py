"""Page of a ledger: its state, its budget and its entries; and its statement."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from secretballot._tables import WITHHELD, entry_count, mechanism_text, visible
from secretballot._views import Cell, Heading, Part, Prose, Table, View, facts, html_page
from secretballot.accounting import (
    PrivacyStatement,
    Witness,
    WitnessError,
    budget_view,
    entry_text,
    spent_by_level,
)
from secretballot.accounting.children import child_reports, children_table
from secretballot.ledger import Ledger, LedgerEntry

#: Entries that are shown, and letters of a note.
_N_SHOWN, _NOTE_LENGTH = 50, 300

_LINKS = {"/statement": "The statement, to print and sign", "/statement.json": "The same as JSON"}

_COMPLETE = "complete, by the mark beside the ledger"
_LACKING = (
    "THE LEDGER LACKS WHAT ITS WITNESS SIGNED, OR THE WITNESS CAN'T BE READ. Spend nothing. "
    "secretballot ledger verify with --witness says what is wrong."
)


class LedgerPage:
    """Pages about one ledger, which is read anew for each. They name no folder of its machine.

    Parameters
    ----------
    path : path
        The ledger.
    witness : Witness, default=None
        Signed heads that it is checked against.
    complain : callable
        Called with a sentence about a fault, for whoever runs the server: pages don't detail it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        witness: Witness | None = None,
        complain: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._ledger = Ledger.open(path)
        self._name = os.path.basename(self._ledger.name)
        self._witness = witness
        self.complain = complain

    def overview(self) -> str:
        """Return the page of HTML that shows state, budget and entries."""
        try:
            statement, fault = self._statement(), ""
        except WitnessError as error:
            self.complain(str(error))
            statement, fault = PrivacyStatement.of(self._ledger), _LACKING
        budget = self._ledger.budget
        spent = spent_by_level(budget, self._ledger.totals())
        parts: list[Part] = [
            *([Prose.of(f"NOTE: {fault}")] if fault else []),
            self._state(statement, fault),
            Heading("Budget"),
            *budget_view(budget, spent, self._name).parts,
            *self._children(),
            Heading("Entries"),
            *self._entries(),
        ]
        return html_page(View(f"Budget of {self._name}", tuple(parts)), links=_LINKS)

    def statement_page(self) -> str:
        """Return the statement as a page to be printed and signed."""
        return self._statement().to_page()

    def statement_json(self) -> str:
        """Return the statement as JSON."""
        return f"{json.dumps(self._statement().to_dict(), allow_nan=False, indent=1)}\n"

    def _statement(self) -> PrivacyStatement:
        return PrivacyStatement.of(self._ledger, self._witness)

    def _state(self, statement: PrivacyStatement, fault: str) -> Table:
        """Make a table of the results of checks; the statement is from a check of all entries."""
        chain = f"unaltered: {entry_count(statement.n_entries)}, head digest "
        now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        return facts(
            ("chain", f"{chain}{statement.head or WITHHELD}"),
            ("end", statement.completeness_note or _COMPLETE),
            ("witness", fault or _witness_text(statement.witness)),
            ("protects", f"one {statement.unit} ({statement.relation})"),
            ("accounting", statement.accounting),
            ("read", f"{now[:19]} UTC"),
        )

    def _children(self) -> list[Part]:
        reports = child_reports(self._ledger)
        return [Heading("Child budgets"), children_table(reports)] if reports else []

    def _entries(self) -> list[Part]:
        walk, rows = self._ledger.walk(_N_SHOWN), list[tuple[Cell, ...]]()
        sensitive = self._ledger.budget.is_sensitive
        rows.extend(_cells(entry, sensitive) for entry in walk)
        n_entries, shown = walk.totals.sequence, rows[-_N_SHOWN:][::-1]
        if not shown:
            return [Prose.of("None.")]
        n_earlier = n_entries - len(shown)
        earlier = f"{entry_count(n_earlier).replace(' ', ' earlier ')} not shown"
        return [
            Table(("entry", "time (UTC)", "what", "answers", "note"), shown),
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


def _witness_text(witness: dict[str, Any] | None) -> str:
    if witness is None:
        return "none was given"
    if not witness["n_heads"]:
        return "no signed head yet: nothing was compared"
    return (
        f"signed heads: {witness['n_heads']}, all in this ledger; the newest, of "
        f"{entry_count(witness['n_entries'])}, is of {witness['time'][:19].replace('T', ' ')} UTC"
    )
