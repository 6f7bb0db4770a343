"""Handles on a ledger file, which records every spend before its answer is returned."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from secretballot._errors import LedgerError
from secretballot.ledger._budget import Budget
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._file import real_path, transact
from secretballot.ledger._foreign import check_journal, check_not_foreign
from secretballot.ledger._header import Header, meaning, read_header, write_new
from secretballot.ledger._interrupts import HeldInterrupts
from secretballot.ledger._mark import HeldMark, holding, mark_path, read_slots
from secretballot.ledger._new_files import check_name, create_files, delete_files
from secretballot.ledger._place import check_file_system, check_spendable, place_of, same_place
from secretballot.ledger._slots import SLOTS, Mark
from secretballot.ledger._stored_entries import (
    NO_LIMIT,
    check_private_records,
    digest_at,
    last_in,
    load_scope,
    read_entries,
    read_private_records,
    read_totals,
    reservation_entries,
)
from secretballot.ledger._temporary import TemporaryFile, temporary_file
from secretballot.ledger._totals import CHECKPOINT_EVERY, Totals
from secretballot.ledger._transaction import Transaction

T = TypeVar("T")
Step = tuple[LedgerEntry, Totals]

#: Entries read and checked in one transaction, so that writers wait for milliseconds.
_BATCH = 64

_UNCHECKED = (
    "That no entry is missing at its end can't be checked without the original and its mark, or "
    "the head digest of a statement (secretballot ledger verify FILE --head DIGEST)."
)


class Head(NamedTuple):
    """Number of entries of a ledger, and the digest of the last one, which covers all."""

    n_entries: int
    digest: str


class Ledger:
    """Handle on a ledger file. Copies, pickles and forks of a handle use the same file.

    Make one with `create`, `temporary` or `open`. If its budget differs from the header of the
    file, it neither reads nor writes.
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
        """Make a new named ledger, completely or not at all, also with Ctrl-C.

        LedgerError if the file or the mark of an earlier ledger exists.
        """
        name = real_path(path)
        check_name(name)
        with HeldInterrupts() as interrupts:
            interrupts.hold()
            create_files(name)
            try:
                return cls._new(name, budget)
            except BaseException:
                delete_files(name)
                raise

    @classmethod
    def temporary(cls, budget: Budget) -> Ledger:
        """Make a ledger in a private file, deleted with this process's last handle."""
        file = TemporaryFile()  # the local name keeps it alive until the handle does
        return cls._new(file.path, budget)

    @classmethod
    def _new(cls, path: str, budget: Budget) -> Ledger:
        with meaning(path):
            check_file_system(path, os.stat(path).st_dev)

        def write(held: HeldMark) -> Header:
            header = write_new(path, budget)
            held.advance(Mark(header.ledger_id, 0, header.digest), everywhere=True)
            return header

        return cls(path, budget, holding(path, write).digest)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger, and check its budget and what follows its last checkpoint."""
        name = real_path(path)
        header = _read(name, read_header)
        ledger = cls(name, header.budget, header.digest)
        ledger.totals()
        return ledger

    def __reduce__(self) -> tuple[type[Ledger], tuple[str, Budget, str, bool]]:
        # No file is touched: an object whose ledger is gone can still be unpickled.
        return Ledger, (self.path, self.budget, self.genesis, self.is_temporary)

    def transact(
        self,
        act: Callable[[Transaction], T],
        scope: str | None = None,
        *,
        moved: bool = False,
        interrupts: HeldInterrupts | None = None,
    ) -> T:
        """Run a function with the exclusive right to spend; then commit its entries.

        An exception of `act` commits nothing. Ctrl-C is delayed from the commit to the end of the
        block of `interrupts`, or of this call. The totals hold `scope`. `moved` accepts a copy as
        the ledger, and records the move.
        """

        def write(held: HeldMark) -> T:
            def record(opened: sqlite3.Connection) -> tuple[T, Totals, str, str]:
                with meaning(self.path):
                    check_spendable(self.path)
                    header = self._same_header(opened)
                    self._catch_up(opened)
                    load_scope(opened, self._totals, scope)
                    fault = self._copied(opened, header, held.mark)
                    if fault and not moved:
                        raise LedgerError(fault)
                transaction = Transaction(self.path, opened, self._totals, self.budget)
                if fault:
                    transaction.append(LedgerEntry.move(place_of(self.path)))
                answer = act(transaction)
                block.hold()
                return answer, transaction.totals, header.ledger_id, fault

            check_journal(self.path)
            answer, totals, ledger_id, fault = transact(self.path, record, to="write")
            # The commit is certain now. If these entries disappear, this handle notices.
            self._totals = totals
            mark = Mark(ledger_id, totals.sequence, totals.digest)
            held.advance(mark, everywhere=bool(fault))
            return answer

        check_not_foreign(self.path)
        if interrupts is not None:
            block = interrupts
            return holding(self.path, write)
        with HeldInterrupts() as block:
            return block.keep(holding(self.path, write))

    def settle(self, *, moved: bool) -> str:
        """Check that the file is the original in its place; with `moved`, record a new place.

        Return a warning about a damaged mark; "" if it is whole.
        """
        slots = read_slots(self.path)
        damage = slots.n_broken and (
            f"{slots.n_broken} of the {SLOTS} slots of {mark_path(self.path)!r}, the mark of the "
            "ledger, are damaged and count as none: if an old copy was put in the ledger's place, "
            "that may not be noticed. Compare the ledger with the digest of a statement. The next "
            "releases write the mark anew."
        )
        if moved:
            self.transact(lambda transaction: None, moved=True)
            return damage or ""

        def check(opened: sqlite3.Connection) -> None:
            header = self._same_header(opened)
            self._catch_up(opened)
            check_spendable(self.path)
            # The mark was read first: writers may advance it after the ledger is read.
            if fault := self._copied(opened, header, slots.mark):
                raise LedgerError(fault)

        _read(self.path, check)
        return damage or ""

    def completeness_note(self) -> str:
        """Explain why entries at the end may be missing; "" if the mark says that none is."""
        mark = read_slots(self.path).mark
        header, totals = self.header(), self.totals()
        if not same_place(totals.place or header.place, place_of(self.path)):
            why = "This file is a copy of a ledger, or was restored or moved"
        elif mark is None or mark.ledger_id != header.ledger_id:
            why = "The mark that belongs beside this ledger is missing or damaged"
        elif not self._ask(lambda opened: _lost(opened, header, mark)):
            return ""
        else:
            why = (
                f"Entries are missing: the mark beside this ledger says that {mark.sequence} had "
                "been recorded, and the last of these is not in it"
            )
        return f"{why}. {_UNCHECKED}"

    def totals(self, scope: str | None = None) -> Totals:
        """Return the sums over all entries, those of other processes included, and of a scope."""

        def catch_up(opened: sqlite3.Connection) -> Totals | None:
            self._catch_up(opened, at_most=_BATCH)
            if self._totals.sequence < last_in(opened, "entry"):
                return None
            load_scope(opened, self._totals, scope)
            return self._totals.snapshot()

        while (totals := self._ask(catch_up)) is None:
            pass
        return totals

    def reservation(self, id: str) -> list[LedgerEntry]:
        """Return the entries that paid for a reservation, and then its last entry."""
        return self._ask(lambda opened: reservation_entries(opened, id))

    def private_records(self) -> dict[int, str]:
        """Return the private records by number of entry. They depend on the votes: never shown."""
        self.totals()  # checks that each belongs to an entry
        return self._ask(read_private_records)

    def header(self) -> Header:
        """Read the budget and the identity from the file."""
        return _read(self.path, self._same_header)

    def walk(self, n_entries: int | None = None) -> Walk:
        """Return a walk over all entries, or from a checkpoint before the last `n_entries`."""
        # The totals detect a file that was cut off, or replaced by an older copy.
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

    def _ask(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Read from the file after checking that it is still this ledger."""

        def checked(opened: sqlite3.Connection) -> T:
            self._same_header(opened)
            return ask(opened)

        return _read(self.path, checked)

    def _same_header(self, opened: sqlite3.Connection) -> Header:
        """Check that the file is still the same ledger, with the budget of this handle."""
        header = read_header(opened)
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

    def _catch_up(self, opened: sqlite3.Connection, *, at_most: int = NO_LIMIT) -> None:
        """Add new entries to the totals, after checking that the earlier ones are unchanged."""
        last = self._totals.sequence
        if last and digest_at(opened, last) != self._totals.digest:
            raise LedgerError(
                f"entry {last}, which was there before, is gone or was altered; restore it from a "
                "copy"
            )
        check_private_records(opened)
        if last_in(opened, "checkpoint") > last + CHECKPOINT_EVERY:
            self._totals = read_totals(opened) or self._totals
        for _, totals in _steps(opened, self._totals, at_most):
            self._totals = totals
        self._totals.forget()

    def _copied(self, opened: sqlite3.Connection, header: Header, mark: Mark | None) -> str:
        """Explain why the file may be a copy that lacks later entries; empty if it is none."""
        if not same_place(self._totals.place or header.place, place_of(self.path)):
            why = "it is a copy, was restored from one, or was moved from another disk"
        elif mark is None or mark.ledger_id != header.ledger_id:
            return ""
        else:
            if not _lost(opened, header, mark):
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


def _lost(opened: sqlite3.Connection, header: Header, mark: Mark) -> bool:
    """Return True if the last entry by the mark is not in the file."""
    digest = digest_at(opened, mark.sequence) if mark.sequence else header.digest
    return digest != mark.digest


def _steps(opened: sqlite3.Connection, totals: Totals, at_most: int) -> Iterator[Step]:
    """Yield the entries after `totals`, checked, each with the totals after it."""
    for entry in read_entries(opened, after=totals.sequence, at_most=at_most):
        load_scope(opened, totals, entry.scope_id)
        totals = totals.after(entry)
        yield entry, totals


class Walk:
    """Iterator over the checked entries of a ledger, in short reads that let others spend.

    It ends with the entry that was the last when it began. `totals` are the sums up to the current
    entry.
    """

    def __init__(self, ledger: Ledger, start: Totals, last: int) -> None:
        self._ledger, self._last = ledger, last
        self.totals = start

    def __iter__(self) -> Iterator[LedgerEntry]:
        while self.totals.sequence < self._last:
            for entry, totals in self._ledger._ask(self._next_steps):
                self.totals = totals
                yield entry
            # Only now: callers ask for the sums of the last entry's scope.
            self.totals = self.totals.snapshot()
            self.totals.forget()

    def _next_steps(self, opened: sqlite3.Connection) -> list[Step]:
        at_most = min(_BATCH, self._last - self.totals.sequence)
        steps = list(_steps(opened, self.totals.snapshot(), at_most))
        if not steps:
            raise LedgerError(f"it ends after entry {self.totals.sequence}, and had {self._last}")
        return steps


def _read(path: str, query: Callable[[sqlite3.Connection], T]) -> T:
    """Run a query in a short transaction, so that writers wait for milliseconds.

    An error is checked again under the lock of the mark: SQLite's locks of a writer may have been
    lost, or a killed writer's transaction has to be rolled back.
    """

    def run_query(connection: sqlite3.Connection) -> T:
        with meaning(path):
            return query(connection)

    check_not_foreign(path)
    try:
        return transact(path, run_query, to="read")
    except LedgerError as error:
        if not any(map(os.path.exists, (mark_path(path), f"{path}-journal"))):
            raise  # there is no writer
        message = str(error)
    is_held = False

    def again(_: HeldMark) -> T:
        nonlocal is_held
        is_held = True
        check_journal(path)
        return transact(path, run_query, to="recover")

    try:
        return holding(path, again)
    except LedgerError:
        if is_held:
            raise
        raise LedgerError(message) from None
