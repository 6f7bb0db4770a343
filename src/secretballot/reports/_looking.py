"""Commands that show and verify a ledger, and its page."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from secretballot._base._errors import LedgerError
from secretballot._base._view import (
    WITHHELD,
    Bar,
    Cell,
    Heading,
    Key,
    Part,
    Prose,
    Segment,
    Table,
    View,
    entry_count,
    facts,
    html_page,
    mechanism_text,
    order_text,
    percent,
    plain_number,
    text_table,
    visible,
)
from secretballot.accounting._children import child_reports, children_rows
from secretballot.accounting._notes import entry_text
from secretballot.accounting._report import PrivacySpent, budget_view, spent_by_level
from secretballot.costs._groups import level_cost
from secretballot.ledger._budget import Budget, LevelBudget
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._totals import Totals
from secretballot.reports._console import print_json, print_note, put_page

#: What charges are amounts of, by kind of budget.
_CURRENCIES = {
    "gaussian": "mu^2",
    "renyi": "the Renyi divergence at the level's order",
    "pairs": "epsilon",
}

_CHILDREN = ("child", "level", "epsilon", "budget", Key("spent", "this"), "releases", "state")

#: Letters of a digest, and of a note that are shown.
_DIGEST_LENGTH = 64
_NOTE_LENGTH = 300


def _put_ledger_page(ledger: Ledger, options: argparse.Namespace, completeness_note: str) -> None:
    """Put out a page of HTML that names no folder."""
    walk = ledger.walk()
    n_shown = sys.maxsize if options.last is None else min(options.last, sys.maxsize)
    entries = deque(walk, maxlen=n_shown)
    budget, totals, name = ledger.budget, walk.totals, os.path.basename(ledger.name)
    head = None if budget.is_sensitive else totals.digest
    reports = child_reports(ledger)
    shares = [level["share_spent"] for report in reports for level in report["levels"]]
    rows: list[Sequence[Cell]] = []
    for share, row in zip(shares, children_rows(reports), strict=True):
        bar = Bar((Segment("this", share, "spent"), Segment("", max(1 - share, 0.0), "left")))
        rows.append((*row[:3], bar, *row[3:]))
    children: list[Part] = [Heading("Child budgets"), Table(_CHILDREN, rows)] if rows else []
    parts: list[Part] = [
        facts(
            ("chain", f"unaltered: {entry_count(totals.sequence)}, head digest {head or WITHHELD}"),
            ("end", completeness_note or "complete, by the mark beside the ledger"),
            ("protects", f"one {budget.unit} ({budget.relation})"),
            ("accounting", budget.accounting),
            ("read", f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"),
        ),
        Heading("Budget"),
        *budget_view(budget, spent_by_level(budget, totals), name).parts,
        *children,
        Heading("Entries"),
        *_entries(entries, totals.sequence, budget.is_sensitive),
    ]
    page = html_page(View(f"Budget of {name}", tuple(parts)))
    put_page(options.html, page, totals.sequence, head)


def _entries(entries: Sequence[LedgerEntry], n_entries: int, sensitive: bool) -> list[Part]:
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


def warn_of_copy(ledger: Ledger) -> str:
    """Print what is wrong with the place or the end of a ledger; return the note on its end."""
    completeness_note = ledger.completeness_note()
    try:
        other = ledger.settle()
    except LedgerError as error:
        # Commands that only read are told of it by the other note.
        other = "" if completeness_note else str(error).removesuffix(" Nothing was released.")
    for note in filter(None, (completeness_note, other)):
        print_note(note)
    return completeness_note


def show(ledger: Ledger, options: argparse.Namespace) -> None:
    completeness_note = warn_of_copy(ledger)
    if options.html is not None:
        _put_ledger_page(ledger, options, completeness_note)
        return
    walk, entries = ledger.walk(options.last), list[dict[str, Any]]()
    for entry in walk:
        entries.append(_entry_facts(entry, ledger.budget, walk.totals))
    if options.last is not None:
        entries = entries[len(entries) - min(options.last, len(entries)) :]
    spent = spent_by_level(ledger.budget, walk.totals)
    if options.json:
        print_json(_ledger_facts(ledger, walk.totals, spent) | {"entries": entries})
    else:
        _print_ledger(ledger, spent)
        _print_entries(ledger.budget, entries, walk.totals)


def _entry_facts(entry: LedgerEntry, budget: Budget, totals: Totals) -> dict[str, Any]:
    """Return the facts of an entry, and the shares of the budget that are spent after it."""
    levels = () if entry.is_declaration else budget.levels
    state = spent_by_level(budget, totals) if levels else {}
    return {
        "entry": entry.sequence,
        "time": entry.time,
        "what": entry_text(entry),
        "n_rows": entry.n_rows,
        "seeded": entry.seeded,
        "child": entry.child.name if entry.child else None,
        "charges": {level.name: plain_number(_charge(entry, level)) for level in levels},
        "shares_after": {name: reading.share for name, reading in state.items()},
    }


def _ledger_facts(
    ledger: Ledger, totals: Totals, spent: Mapping[str, PrivacySpent]
) -> dict[str, Any]:
    header, budget = ledger.header(), ledger.budget
    levels = [
        {
            "level": level.name,
            "epsilon": level.epsilon,
            "delta": level.delta,
            "order": plain_number(level.order),
            "share_spent": spent[level.name].share,
            "epsilon_so_far": plain_number(spent[level.name].epsilon),
        }
        for level in budget.levels
    ]
    return {
        "ledger": ledger.name,
        "ledger_id": header.ledger_id,
        "created": header.created,
        "unit": budget.unit,
        "relation": budget.relation,
        "accounting": budget.accounting,
        "sensitive": budget.is_sensitive,
        "charges_are": _CURRENCIES[budget.kind],
        "levels": levels,
        "n_entries": totals.sequence,
        "head": totals.digest,
    }


def _print_ledger(ledger: Ledger, spent: Mapping[str, PrivacySpent]) -> None:
    header, budget, levels = ledger.header(), ledger.budget, []
    print(f"{visible(ledger.name)}\n{visible(header.ledger_id)}, ", end="")
    print(f"opened {visible(header.created[:19])} UTC")
    print(f"protects one {budget.unit} ({budget.relation}); accounting {budget.accounting}")
    if budget.is_sensitive:
        print("These figures depend on the private data: they are sensitive themselves.")
    if budget.keeps_private:
        print(
            "The file keeps private records for its owner, not shown here: it is sensitive itself."
        )
    for level in budget.levels:
        fixed = (level.name, f"{level.epsilon:g}", f"{level.delta:g}", order_text(level.order))
        reading = spent[level.name]
        levels.append((*fixed, percent(reading.share), f"{reading.epsilon:.4g}"))
    headings = ("level", "epsilon", "delta", "order", "spent", "epsilon so far")
    print(f"\n{text_table(headings, levels)}")
    for name, reading in spent.items():
        if reading.share > 1:
            print(f"THE BUDGET OF {name!r} IS OVERSPENT; the statement explains it.")
    print()


def _print_entries(budget: Budget, entries: Sequence[dict[str, Any]], totals: Totals) -> None:
    # Shares of the budget after each entry: the last row has those of the table above.
    of_levels = [f"{name} {what}" for what in ("charge", "after") for name in budget.names]
    columns = ("entry", "time (UTC)", "what", "answers", "", *of_levels)
    print(f"A charge is the entry's own, in {_CURRENCIES[budget.kind]}.")
    if len(entries) < totals.sequence:
        n_earlier = totals.sequence - len(entries)
        verb = "is" if n_earlier == 1 else "are"
        print(f"({entry_count(n_earlier).replace(' ', ' earlier ')} {verb} not shown)")
    rows = []
    for entry in entries:
        charges, shares = entry["charges"], entry["shares_after"]
        rows.append(
            (
                *(str(entry["entry"]), entry["time"][:19], entry["what"], str(entry["n_rows"])),
                "SEEDED" if entry["seeded"] else "",
                *(f"{float(charges[name]):.4g}" if charges else "" for name in budget.names),
                *(percent(shares[name]) if shares else "" for name in budget.names),
            )
        )
    print(text_table(columns, rows))
    print(f"\n{entry_count(totals.sequence)}, head digest {totals.digest}")


def _charge(entry: LedgerEntry, level: LevelBudget) -> float:
    amount = float(level_cost(entry.charges, level.name, level.order).at(level.order))
    return -amount if entry.is_refund and amount else amount


def verify(ledger: Ledger, options: argparse.Namespace) -> None:
    completeness_note = warn_of_copy(ledger)
    walk = ledger.walk()
    places = {walk.totals.digest: 0} | {entry.digest: entry.sequence for entry in walk}
    totals = walk.totals
    place = None if options.head is None else _place_of(options.head, places, ledger)
    # A digest that somebody kept stands for the end as well.
    is_complete = place is not None or not completeness_note
    if options.json:
        print_json(
            {
                "ledger": ledger.name,
                "unaltered": True,
                "complete": is_complete,
                "note": completeness_note,
                "n_entries": totals.sequence,
                "head": totals.digest,
                "entry_of_statement": place,
            }
        )
        return
    if place is not None:
        since = totals.sequence - place
        verb = "was" if since == 1 else "were"
        print(f"the statement's head is entry {place}; {since} {verb} recorded since")
    result = "ok" if is_complete else "unaltered, but not checked at its end"
    print(f"{result}: {entry_count(totals.sequence)}, head digest {totals.digest}")


def _place_of(head: str, places: Mapping[str, int], ledger: Ledger) -> int:
    """Return the entry of a head, as N:DIGEST or DIGEST; LedgerError if it is not in the ledger."""
    number, colon, digest = head.strip().lower().rpartition(":")
    if len(digest) < _DIGEST_LENGTH:
        raise LedgerError(
            f"--head {head}: a digest has {_DIGEST_LENGTH} letters, and this has "
            f"{len(digest)}. Give it whole, as in the statement: entries can be made up whose "
            "digests begin alike."
        )
    if (place := places.get(digest)) is None:
        raise LedgerError(
            f"The ledger {ledger.name!r} is not, or no longer, what the statement was made "
            f"from: none of its entries has the digest {digest}. Its "
            "end was cut off, or it was written anew."
        )
    if colon and number != str(place):
        raise LedgerError(
            f"--head {head}: in the ledger {ledger.name!r} this is the digest of entry {place}, "
            f"not of entry {number!r}. Number and digest are not of one statement, or one of them "
            "was altered."
        )
    return place
