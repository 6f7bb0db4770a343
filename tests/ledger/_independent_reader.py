"""A reader of ledgers that is written from `docs/theory/ledger-format.md` alone.

It imports nothing of the library, so that the page and the files are held against each other.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

WHOLE = ""


class InvalidLedger(Exception):
    """Why a file is no ledger, or was altered."""


def check(condition, reason):
    if not condition:
        raise InvalidLedger(reason)


def digest(value):
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode("ascii")).hexdigest()


def number(value):
    return value if value == "gaussian" else float(value).hex()


def cap(stored):
    if isinstance(stored, str):
        return sorted([level, number(each)] for level, each in json.loads(stored).items())
    return None if stored is None else number(stored)


def charges(rows):
    """Build the list of charges from rows of (level, member, delta, value)."""
    groups = [(f"{level}/{member}" if member else level, *more) for level, member, *more in rows]
    return sorted([group, number(delta), value.hex()] for group, delta, value in groups)


class IndependentReader:
    """All rows of a ledger, checked when it is made; InvalidLedger if something is wrong."""

    def __init__(self, path):
        self.path = Path(path)
        content = self.path.read_bytes()
        check(content.startswith(b"SQLite format 3\0"), "no database")
        check(content[68:72] == b"SBLG", "no ledger")
        check(int.from_bytes(content[60:64], "big") == 1, "another format")
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            self.database = database
            self.curves = dict(database.execute("SELECT number, value FROM curve"))
            for row in self.rows("curve"):
                check(hashlib.sha256(row["value"]).digest() == row["digest"], "a curve")
            self.head = self._check_header()
            self.entries = self.rows("entry", "ORDER BY sequence")
            self._check_entries()
        self._check_mark()

    def rows(self, table, rest="", *values):
        return self.database.execute(f"SELECT * FROM {table} {rest}", values).fetchall()

    def charges(self, table, rest, *values):
        return charges(
            (row["level"], row["member"], row["delta"], self.curves[row["curve"]])
            for row in self.rows(table, rest, *values)
        )

    def _check_header(self):
        (header,) = self.rows("header")
        levels = [
            [
                level["name"],
                *(number(level[name]) for name in ("epsilon", "delta", "approximation_delta")),
                number(level["gate_order"]),
                number(level["amount"]),
            ]
            for level in self.rows("level", "ORDER BY position")
        ]
        identity = ["ledger_id", "created", "library_version", "place"]
        fixed = ["unit", "relation", "accounting", "allow_seeded"]
        expected = digest(
            [
                "secretballot ledger",
                [header[name] for name in identity],
                [header[name] for name in fixed],
                levels,
                header["orders"].hex(),
            ]
        )
        check(header["digest"] == expected, "the header")
        self.ledger_id = header["ledger_id"]
        return expected

    def _check_entries(self):
        of_entry = "WHERE sequence = ?"
        for sequence, entry in enumerate(self.entries, start=1):
            check(entry["sequence"] == sequence, "a gap")
            check(entry["previous"] == self.head, f"entry {sequence}")
            reservation = self.rows("reservation", of_entry, sequence)
            checkpoint = self.rows("checkpoint", of_entry, sequence)
            child = self.rows("child", of_entry, sequence)
            texts = ("time", "mechanism", "n_rows", "scope_id")
            self.head = digest(
                [
                    "secretballot entry",
                    sequence,
                    *(entry[name] for name in texts),
                    cap(entry["scope_epsilon"]),
                    entry["seeded"],
                    entry["note"],
                    self.charges("charge", of_entry, sequence),
                    [*reservation[0]][1:] if reservation else None,
                    checkpoint[0]["digest"] if checkpoint else None,
                    [*child[0]][1:] if child else None,
                    entry["previous"],
                ]
            )
            check(entry["digest"] == self.head, f"entry {sequence}")
            if checkpoint:
                self._check_checkpoint(checkpoint[0])
        tables = ("charge", "reservation", "child", "checkpoint", "total", "child_total")
        for table in (*tables, "private_record"):
            check(not self.rows(table, "WHERE sequence > ?", len(self.entries)), f"a {table}")

    def _check_checkpoint(self, checkpoint):
        sequence = checkpoint["sequence"]
        of_scope = "WHERE sequence = ? AND scope_id = ?"
        scopes = []
        for scope, stored in self.database.execute(
            "SELECT DISTINCT scope_id, scope_epsilon FROM total WHERE sequence = ? "
            "AND scope_id != '' AND scope_id NOT LIKE '/%' ORDER BY scope_id",
            [sequence],
        ).fetchall():
            scopes.append([scope, cap(stored), self.charges("total", of_scope, sequence, scope)])
        expected = digest(
            [
                "secretballot checkpoint",
                [checkpoint[name] for name in ("sequence", "n_releases", "n_rows", "place")],
                self.charges("total", of_scope, sequence, WHOLE),
                scopes,
                self._children(sequence),
            ]
        )
        check(checkpoint["digest"] == expected, f"the checkpoint of entry {sequence}")
        before = self.entries[:sequence]
        check(checkpoint["n_rows"] == sum(entry["n_rows"] for entry in before), "its rows")
        check(checkpoint["n_releases"] == sum(entry["n_rows"] > 0 for entry in before), "releases")

    def _children(self, sequence):
        """Build the list of child budgets at a checkpoint."""
        given, events = {}, {}
        for row in self.rows("child", "WHERE event != 'spend' AND sequence <= ?", sequence):
            given.setdefault(row["path"], row["given"])
            events.setdefault(row["path"], set()).add(row["event"])
        children = []
        for row in self.rows("child_total", "WHERE sequence = ? ORDER BY path", sequence):
            path = row["path"]
            state = [0, int("close" in events[path])]
            of_child = "WHERE sequence = ? AND scope_id = ?"
            counted = [row["n_releases"], row["n_rows"], *state]
            charges = self.charges("total", of_child, sequence, "/" + path)
            children.append([path, given[path], counted, charges])
        check(len(children) == len(given), f"the children of entry {sequence}")
        return children

    def _check_mark(self):
        content = Path(f"{self.path}.mark").read_bytes()
        slots = []
        for slot in (content[:512], content[512:]):
            if slot.strip(b"\0"):
                line, newline, rest = slot.partition(b"\n")
                text, _, checksum = line.rpartition(b" ")
                check(newline and not rest.strip(b" ") and len(slot) == 512, "a slot")
                check(hashlib.sha256(text).hexdigest().encode() == checksum, "a checksum")
                name, kind, generation, *last = text.decode("ascii").split(" ")
                check((name, kind) == ("secretballot", "mark"), "a slot")
                slots.append((int(generation), last))
        check(max(slots)[1] == [self.ledger_id, str(len(self.entries)), self.head], "the mark")
