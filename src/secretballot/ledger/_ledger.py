"""The file in which every spend is recorded before anything is returned."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from secretballot._errors import LedgerError
from secretballot.ledger._budget import Budget
from secretballot.ledger._entry import LedgerEntry, Totals
from secretballot.ledger._file import (
    PROCESS_LOCK,
    TemporaryFile,
    connection,
    create_exclusively,
    temporary_file,
)
from secretballot.ledger._format import (
    Header,
    insert_entry,
    meaning,
    read_entries,
    read_header,
    write_new,
)
from secretballot.ledger._place import check_file_system, check_place, place_of


class Head(NamedTuple):
    """How many entries a ledger has, and the digest of the last: it stands for all of them."""

    n_entries: int
    digest: str


class Ledger:
    """A handle on a ledger file; it can be pickled, copied and forked, the file is one.

    Make one with `create`, `temporary` or `open`.
    """

    def __init__(self, path: str, budget: Budget, genesis: str, is_temporary: bool = False) -> None:
        self.path = path
        self.budget = budget
        self.genesis = genesis
        # Held for its lifetime: in the process that made it, the file goes with its last handle.
        self._temporary = temporary_file(path)
        self.is_temporary = is_temporary or self._temporary is not None
        self._totals = Totals(digest=genesis)

    @classmethod
    def create(cls, path: str | os.PathLike[str], budget: Budget) -> Ledger:
        """Make a new named ledger; LedgerError if the file exists."""
        name = os.path.realpath(path)
        # Costs that depend on the data are for its owner's eyes, and so is the journal (SQLite
        # gives it the mode of the file).
        create_exclusively(name, 0o600 if budget.accounting == "data_dependent" else 0o666)
        try:
            with meaning(name):
                check_file_system(name, os.stat(name).st_dev)
            return cls(name, budget, write_new(name, budget))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @classmethod
    def temporary(cls, budget: Budget) -> Ledger:
        """Make a ledger in a private file that goes with this process's last handle."""
        # The local name keeps the file until the handle does.
        file = TemporaryFile()
        with meaning(file.path):
            check_file_system(file.path, os.stat(file.path).st_dev)
        return cls(file.path, budget, write_new(file.path, budget))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger and check all of its entries."""
        name = os.path.realpath(path)
        with connection(name, begin="DEFERRED") as opened, meaning(name):
            header = read_header(opened)
        ledger = cls(name, header.budget, header.digest)
        ledger.verify()
        return ledger

    def __reduce__(self) -> tuple[type[Ledger], tuple[str, Budget, str, bool]]:
        # No file is touched: an object whose ledger is gone can still be unpickled.
        return Ledger, (self.path, self.budget, self.genesis, self.is_temporary)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the ledger: nobody else spends meanwhile; leaving commits, an exception doesn't."""
        with PROCESS_LOCK:
            with connection(self.path, begin="IMMEDIATE") as opened:
                header = self._catch_up(opened)
                with meaning(self.path):
                    check_place(self.path, self._totals.place or header.place)
                transaction = Transaction(opened, self._totals)
                yield transaction
            # Only now is it certain. Knowing one's own entries, one misses them if they go.
            for entry in transaction.appended:
                self._totals.add(entry)

    def settle(self, *, moved: bool) -> None:
        """Check that this is the original in its place; with `moved`, record the one it is in."""
        with connection(self.path, begin="IMMEDIATE" if moved else "DEFERRED") as opened:
            header = self._catch_up(opened)
            recorded, here = self._totals.place or header.place, place_of(self.path)
            with meaning(self.path):
                check_place(self.path, here if moved else recorded)
            if here != recorded:
                Transaction(opened, self._totals).append(LedgerEntry.move(here))

    def totals(self) -> Totals:
        """Return the sums over all entries, those of other processes included."""
        with connection(self.path, begin="DEFERRED") as opened:
            self._catch_up(opened)
            return self._totals.snapshot()

    def header(self) -> Header:
        """Return what the ledger fixes, and which ledger it is."""
        with connection(self.path, begin="DEFERRED") as opened:
            return self._catch_up(opened)

    def entries(self) -> list[LedgerEntry]:
        """Return all entries, checked."""
        return self.walk()[1]

    def verify(self) -> Head:
        """Check the whole chain and the file; LedgerError names the first entry that is wrong."""
        return self.walk()[0]

    def walk(self) -> tuple[Head, list[LedgerEntry]]:
        """Return the head and all entries, read at one moment and checked."""
        with connection(self.path, begin="DEFERRED") as opened:
            with meaning(self.path):
                damage = opened.execute("PRAGMA quick_check(1)").fetchone()[0]
                if damage != "ok":
                    raise LedgerError(f"it is corrupt ({damage}); restore it from a copy")
            # What this handle has seen before must still be there: that catches a file that was
            # cut off, or replaced by an older copy of itself.
            self._catch_up(opened)
            with meaning(self.path):
                totals, entries = Totals(digest=self.genesis), []
                for entry in read_entries(opened, after=0):
                    totals.add(entry)
                    entries.append(entry)
        return Head(totals.sequence, totals.digest), entries

    def _catch_up(self, opened: sqlite3.Connection) -> Header:
        """Check that this is still the same ledger, and add its new entries to the totals."""
        with meaning(self.path):
            header = read_header(opened)
            if header.digest != self.genesis:
                raise LedgerError(
                    "another ledger is in its place; PrivacyAccountant.open continues that one"
                )
            last = self._totals.sequence
            if last:
                found = opened.execute("SELECT digest FROM entry WHERE sequence = ?", (last,))
                if found.fetchone() != (self._totals.digest,):
                    raise LedgerError(
                        f"entry {last}, which was there before, is gone or was altered; restore "
                        "it from a copy"
                    )
            for entry in read_entries(opened, after=last):
                self._totals.add(entry)
        return header


class Transaction:
    """What can be done while the ledger is held: read the totals, append one entry."""

    def __init__(self, opened: sqlite3.Connection, totals: Totals) -> None:
        self._opened = opened
        self.totals = totals
        self.appended: list[LedgerEntry] = []

    def append(self, entry: LedgerEntry) -> None:
        """Write an entry after the last; it is recorded once the transaction has been left."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        placed = entry.chained(self.totals.sequence + 1, now, self.totals.digest)
        insert_entry(self._opened, placed)
        self.appended.append(placed)
