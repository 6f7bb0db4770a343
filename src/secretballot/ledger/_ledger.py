"""The file in which every spend is recorded before anything is returned."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from secretballot._errors import LedgerError
from secretballot.ledger._budget import Budget, is_text
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._file import PROCESS_LOCK, connection, create_exclusively
from secretballot.ledger._header import Header, meaning, read_header, write_new
from secretballot.ledger._mark import Mark, held, mark_path, read_mark
from secretballot.ledger._place import check_file_system, check_spendable, place_of, same_place
from secretballot.ledger._rows import (
    check_private_records,
    digest_at,
    insert_entry,
    insert_private_record,
    last_checkpoint,
    last_sequence,
    load_scope,
    read_entries,
    read_private_records,
    read_totals,
    reservation_entries,
)
from secretballot.ledger._temporary import TemporaryFile, temporary_file
from secretballot.ledger._totals import CHECKPOINT_EVERY, Totals

T = TypeVar("T")
Step = tuple[LedgerEntry, Totals]

#: Entries read and checked in one transaction: a long walk lets writers in between.
_AT_ONCE = 64


class Head(NamedTuple):
    """How many entries a ledger has, and the digest of the last: it stands for all of them."""

    n_entries: int
    digest: str


class Ledger:
    """A handle on a ledger file; it can be pickled, copied and forked, the file is one.

    Make one with `create`, `temporary` or `open`. What it says of the budget is what the header of
    the file says, or nothing is read from the file and nothing written to it.
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
        create_exclusively(name)
        try:
            return cls._new(name, budget)
        except BaseException:
            for each in (name, mark_path(name)):
                Path(each).unlink(missing_ok=True)
            raise

    @classmethod
    def temporary(cls, budget: Budget) -> Ledger:
        """Make a ledger in a private file that goes with this process's last handle."""
        # The local name keeps the file until the handle does.
        file = TemporaryFile()
        return cls._new(file.path, budget)

    @classmethod
    def _new(cls, path: str, budget: Budget) -> Ledger:
        with meaning(path):
            check_file_system(path, os.stat(path).st_dev)
        with held(path) as right:
            header = write_new(path, budget)
            right.advance(Mark(header.ledger_id, 0, header.digest))
        return cls(path, budget, header.digest)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger, and check its budget and what follows its last checkpoint."""
        name = os.path.realpath(path)
        header = _read(name, read_header)
        ledger = cls(name, header.budget, header.digest)
        ledger.totals()
        return ledger

    def __reduce__(self) -> tuple[type[Ledger], tuple[str, Budget, str, bool]]:
        # No file is touched: an object whose ledger is gone can still be unpickled.
        return Ledger, (self.path, self.budget, self.genesis, self.is_temporary)

    @contextmanager
    def transaction(
        self, scope: str | None = None, *, moved: bool = False
    ) -> Iterator[Transaction]:
        """Hold the ledger: nobody else spends meanwhile; leaving commits, an exception doesn't.

        The totals hold one scope, if it is named. With `moved`, a copy is no error.
        """
        with PROCESS_LOCK, held(self.path) as right:
            with connection(self.path, to="write") as opened:
                with meaning(self.path):
                    check_spendable(self.path)
                    header = self._same_header(opened, upgrade=True)
                    self._catch_up(opened)
                    load_scope(opened, self._totals, scope)
                    fault = self._copied(opened, header, read_mark(self.path))
                    if fault and not moved:
                        raise LedgerError(fault)
                transaction = Transaction(opened, self._totals, self.budget)
                if fault:
                    transaction.append(LedgerEntry.move(place_of(self.path)))
                yield transaction
            # Only now is it certain. Knowing one's own entries, one misses them if they go.
            self._totals = transaction.totals
            right.advance(Mark(header.ledger_id, self._totals.sequence, self._totals.digest))

    def settle(self, *, moved: bool) -> None:
        """Check that this is the original in its place; with `moved`, record the one it is in."""
        if moved:
            with self.transaction(moved=True):
                return

        def check(opened: sqlite3.Connection) -> None:
            # First, as it may be moved on once the ledger has been read.
            mark = read_mark(self.path)
            header = self._same_header(opened)
            self._catch_up(opened)
            check_spendable(self.path)
            if fault := self._copied(opened, header, mark):
                raise LedgerError(fault)

        _read(self.path, check)

    def totals(self, scope: str | None = None) -> Totals:
        """Return the sums over all entries, those of other processes included.

        They hold one scope, if it is named.
        """

        def catch_up(opened: sqlite3.Connection) -> Totals | None:
            self._catch_up(opened, at_most=_AT_ONCE)
            if self._totals.sequence < last_sequence(opened):
                return None
            load_scope(opened, self._totals, scope)
            return self._totals.snapshot()

        while (totals := self._ask(catch_up)) is None:
            pass
        return totals

    def reservation(self, id: str) -> list[LedgerEntry]:
        """Return the entries that paid for a reservation, and then the last of it."""
        return self._ask(lambda opened: reservation_entries(opened, id))

    def private_records(self) -> Iterator[tuple[int, str]]:
        """Yield the number of an entry and what was kept for the owner with it, in order.

        Nothing else reads these texts: they tell of the votes, and belong in nothing that is shown.
        It ends with the entry that was the last when it began.
        """
        last, after = self.totals().sequence, 0
        while records := self._ask(
            partial(read_private_records, after=after, last=last, at_most=_AT_ONCE)
        ):
            yield from records
            after = records[-1][0]

    def header(self) -> Header:
        """Return what the ledger fixes, and which ledger it is."""
        return _read(self.path, self._same_header)

    def walk(self, n_entries: int | None = None) -> Walk:
        """Return a walk over all entries, or from the last checkpoint before the last few."""
        # What this handle has seen before must still be there: that catches a file that was cut
        # off, or replaced by an older copy of itself.
        last = self.totals().sequence
        start = 0 if n_entries is None else max(last - n_entries, 0)
        stored = self._ask(lambda opened: read_totals(opened, at_most=start))
        return Walk(self, stored or Totals(digest=self.genesis), last)

    def entries(self) -> list[LedgerEntry]:
        """Return all entries, checked."""
        return list(self.walk())

    def verify(self) -> Head:
        """Check every entry and checkpoint; LedgerError names the first that is wrong."""
        walk = self.walk()
        for _ in walk:
            pass
        return Head(walk.totals.sequence, walk.totals.digest)

    def next_steps(self, totals: Totals, last: int) -> list[Step]:
        """Return some entries after `totals` and up to the last, each with the totals after it."""

        def read(opened: sqlite3.Connection) -> list[Step]:
            at_most, after = min(_AT_ONCE, last - totals.sequence), totals.snapshot()
            entries = read_entries(opened, after=totals.sequence, at_most=at_most)
            if not entries:
                raise LedgerError(f"it ends after entry {totals.sequence}, and had {last}")
            steps = []
            for entry in entries:
                load_scope(opened, after, entry.scope_id)
                after = after.after(entry)
                steps.append((entry, after))
            return steps

        return self._ask(read)

    def _ask(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Read what is asked from this ledger and no other."""

        def checked(opened: sqlite3.Connection) -> T:
            self._same_header(opened)
            return ask(opened)

        return _read(self.path, checked)

    def _same_header(self, opened: sqlite3.Connection, *, upgrade: bool = False) -> Header:
        """Check that this is still the same ledger, with the budget that this handle knows."""
        header = read_header(opened, upgrade=upgrade)
        if header.digest != self.genesis:
            raise LedgerError(
                "another ledger is in its place; PrivacyAccountant.open continues that one"
            )
        if header.budget != self.budget:
            raise LedgerError(
                "it fixes another budget than this handle has, which was pickled with another and "
                "is not to be trusted; PrivacyAccountant.open continues the ledger"
            )
        return header

    def _catch_up(self, opened: sqlite3.Connection, *, at_most: int = 2**62) -> None:
        """Add new entries to the totals, after checking that those that were there still are."""
        last = self._totals.sequence
        if last and digest_at(opened, last) != self._totals.digest:
            raise LedgerError(
                f"entry {last}, which was there before, is gone or was altered; restore it from a "
                "copy"
            )
        check_private_records(opened)
        if last_checkpoint(opened) > last + CHECKPOINT_EVERY:
            self._totals = read_totals(opened) or self._totals
        entries = read_entries(opened, after=self._totals.sequence, at_most=at_most)
        for entry in entries:
            load_scope(opened, self._totals, entry.scope_id)
            self._totals = self._totals.after(entry)
        self._totals.forget()

    def _copied(self, opened: sqlite3.Connection, header: Header, mark: Mark | None) -> str:
        """Say why this may be a copy that lacks what the original has spent; else nothing."""
        if not same_place(self._totals.place or header.place, place_of(self.path)):
            why = "it is a copy, was restored from one, or was moved from another disk"
        elif mark is None or mark.ledger_id != header.ledger_id:
            return ""
        else:
            found = digest_at(opened, mark.sequence) if mark.sequence else header.digest
            if found == mark.digest:
                return ""
            why = (
                f"it was restored from a copy: {mark.sequence} entries had been recorded, as the "
                f"file {mark_path(self.path)!r} beside it says, and they are not in it"
            )
        return (
            f"{why}: what the original has spent since is not in it, and both together could spend "
            "the budget twice. If the original is gone and nothing was spent from it since, "
            f"PrivacyAccountant.open({self.path!r}, moved=True) continues here and records the "
            "move. Nothing was released"
        )


class Walk:
    """The entries of a ledger one after the other, checked; nobody is kept from spending meanwhile.

    It ends with the entry that was the last when it began.

    Attributes
    ----------
    totals : Totals
        The sums up to where it is.
    """

    def __init__(self, ledger: Ledger, start: Totals, last: int) -> None:
        self._ledger, self._last = ledger, last
        self.totals = start

    def __iter__(self) -> Iterator[LedgerEntry]:
        while self.totals.sequence < self._last:
            for entry, totals in self._ledger.next_steps(self.totals, self._last):
                self.totals = totals
                yield entry
            # Not before: what the last entry's scope has spent is asked for too.
            self.totals = self.totals.snapshot()
            self.totals.forget()


def _read(path: str, ask: Callable[[sqlite3.Connection], T]) -> T:
    """Read in a short transaction, which keeps nobody from writing for long.

    What seems wrong is looked at again while nobody can write: a writer's locks in the ledger
    itself may have been lost, or it was killed, and what it began has to be rolled back.
    """
    try:
        with connection(path, to="read") as opened, meaning(path):
            return ask(opened)
    except LedgerError as error:
        if not any(map(os.path.exists, (mark_path(path), f"{path}-journal"))):
            raise  # nobody writes there
        # Not the error itself: what it holds on to would keep the file open.
        wrong = str(error)
    with ExitStack() as stack:
        try:
            stack.enter_context(held(path))
        except LedgerError:
            raise LedgerError(wrong) from None
        with connection(path, to="recover") as opened, meaning(path):
            return ask(opened)


class Transaction:
    """What can be done while the ledger is held: read totals and reservations, append entries."""

    def __init__(self, opened: sqlite3.Connection, totals: Totals, budget: Budget) -> None:
        self._opened = opened
        self._budget = budget
        self.totals = totals

    def reservation(self, id: str) -> list[LedgerEntry]:
        """Return the entries that paid for a reservation, and then the last of it."""
        return reservation_entries(self._opened, id)

    def append(self, entry: LedgerEntry, private: str | None = None) -> None:
        """Write an entry after the last; it is recorded once the transaction has been left.

        With it goes a text for the owner only (`Ledger.private_records`), if there is one;
        ValueError unless the accounting is ``"sanitized"``.
        """
        if private is not None:
            self._check_private(private)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        sequence = self.totals.sequence + 1
        after = self.totals.added_up(replace(entry, sequence=sequence))
        if sequence - after.checkpoint >= CHECKPOINT_EVERY:
            entry = replace(entry, checkpoint=after.sums_digest())
        placed = entry.chained(sequence, now, self.totals.digest)
        insert_entry(self._opened, placed, after)
        if private is not None:
            insert_private_record(self._opened, sequence, private)
        self.totals = self.totals.after(placed)

    def _check_private(self, private: str) -> None:
        # Messages never repeat it: they end up in logs.
        if not self._budget.keeps_private:
            raise ValueError(
                f"private= is for a ledger with accounting='sanitized', and this one has "
                f"accounting={self._budget.accounting!r}, which keeps nothing of the votes; leave "
                "it out. Nothing was released."
            )
        if not is_text(private):
            raise ValueError(
                f"private= (a {type(private).__name__}, not shown) must be a non-empty string "
                "that a file can hold. Nothing was released."
            )
