"""Entries that somebody inserts who knows the published format, without the library's checks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from datetime import UTC, datetime


def digest_of(content):
    """Return the digest of nested lists as `docs/theory/ledger-format.md` has it."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


class Forger:
    """Connection that inserts rows into a ledger, a file or on a server, and changes none.

    Parameters
    ----------
    opened : connection
    number : int or None
        Number of a ledger on a server; None for a file.
    """

    def __init__(self, opened, number=None):
        self._opened, self._number = opened, number

    def fetch(self, columns, table, condition="TRUE"):
        """Return rows of a table."""
        if self._number is not None:
            condition = f"{condition} AND ledger = {self._number}"
        return self._opened.execute(f"SELECT {columns} FROM {table} WHERE {condition}").fetchall()

    def insert(self, table, *values):
        """Insert one row."""
        if self._number is not None:
            values = (self._number, *values)
        places = ", ".join(["?" if self._number is None else "%s"] * len(values))
        self._opened.execute(f"INSERT INTO {table} VALUES ({places})", values)

    def charges(self, sequence):
        """Return the charges of an entry: pairs of delta and curve by group."""
        return {
            level + ("/" + member if member else ""): (delta, bytes(curve))
            for level, member, delta, curve in self.fetch(
                "level, member, delta, (SELECT value FROM curve WHERE number = charge.curve AND "
                f"{'TRUE' if self._number is None else f'curve.ledger = {self._number}'})",
                "charge",
                f"sequence = {sequence}",
            )
        }

    def reservation(self, sequence):
        """Return id, event and state of an entry of a reservation."""
        return self.fetch("id, event, state", "reservation", f"sequence = {sequence}")[0]

    def scope(self, sequence):
        """Return the scope of an entry."""
        return self.fetch("scope_id", "entry", f"sequence = {sequence}")[0][0]

    def append(
        self,
        *,
        charges=None,
        n_rows=0,
        scope_id=None,
        reservation=None,
        child=None,
        mechanism='{"mechanism": "GNMax"}',
        sums=None,
        stored_delta=None,
        changes=None,
        cap_digits=None,
    ):
        """Insert the next entry, with a digest to match.

        `sums` make it a checkpoint: numbers of releases and rows, and charges, which are
        stored with `stored_delta`, if it is given, in place of their own. `changes` are of its
        columns, and `cap_digits` what the digest has of its cap.
        """
        charges = charges or {}
        last = self.fetch(
            "sequence, digest", "entry", "sequence = (SELECT max(sequence) FROM entry)"
        )
        if self._number is not None:
            last = sorted(self.fetch("sequence, digest", "entry"))[-1:]
        ((sequence, previous),) = last or [(0, self.fetch("digest", "header")[0][0])]
        entry = {
            "sequence": sequence + 1,
            "time": datetime.now(UTC).isoformat(timespec="microseconds"),
            "mechanism": mechanism,
            "n_rows": n_rows,
            "scope_id": scope_id,
            "scope_epsilon": None,
            "seeded": 0,
            "note": "{}",
            "previous": previous,
            **(changes or {}),
        }
        checkpoint = None
        if sums is not None:
            *counted, summed = sums
            counted = [entry["sequence"], *counted, None]
            checkpoint = digest_of(["secretballot checkpoint", counted, _digits(summed), [], []])
        digested = {**entry, "scope_epsilon": cap_digits or entry["scope_epsilon"]}
        content = [*list(digested.values())[:8], _digits(charges), reservation, checkpoint, child]
        content.append(entry["previous"])
        digest = digest_of(["secretballot entry", *content])
        self.insert("entry", *entry.values(), digest)
        sequence = entry["sequence"]
        for group, (delta, curve) in charges.items():
            level, _, member = group.partition("/")
            self.insert("charge", sequence, level, member, delta, self._curve(curve))
        if reservation is not None:
            self.insert("reservation", sequence, *reservation)
        if child is not None:
            self.insert("child", sequence, *child)
        if sums is not None:
            self.insert("checkpoint", *counted, checkpoint)
            for group, (delta, curve) in summed.items():
                level, _, member = group.partition("/")
                number = self._curve(curve)
                delta = delta if stored_delta is None else stored_delta
                self.insert("total", sequence, "", level, member, delta, number, None)
        return sequence

    def _curve(self, curve):
        known = {bytes(value): number for number, value in self.fetch("number, value", "curve")}
        if curve not in known:
            number = max(known.values(), default=0) + 1
            self.insert("curve", number, hashlib.sha256(curve).digest(), curve)
            return number
        return known[curve]


def _digits(charges):
    return [
        [group, float(delta).hex(), curve.hex()]
        for group, (delta, curve) in sorted(charges.items())
    ]


@contextlib.contextmanager
def forging(name):
    """Insert into a ledger in one transaction."""
    if "://" not in name:
        with contextlib.closing(sqlite3.connect(name)) as opened:
            yield Forger(opened)
            opened.commit()
        return
    import psycopg

    database, ledger = name.split("&ledger=")
    with psycopg.connect(database) as opened:
        opened.execute("SET search_path = secretballot")
        query = "SELECT number FROM ledger WHERE name = %s"
        ((number,),) = opened.execute(query, (ledger,)).fetchall()
        yield Forger(opened, number)
