"""The file in which every spend is recorded before anything is returned."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
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
from secretballot.ledger._rows import (
    check_private_records,
    digest_at,
    last_checkpoint,
    last_sequence,
    load_scope,
    read_entries,
    read_private_records,
    read_totals,
    reservation_entries,
)
from secretballot.ledger._slots import SLOTS, Mark
from secretballot.ledger._temporary import TemporaryFile, temporary_file
from secretballot.ledger._totals import CHECKPOINT_EVERY, Totals
from secretballot.ledger._transaction import Transaction

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
        """Make a new named ledger; LedgerError if the file exists, or the mark of an earlier one.

        It is made whole or not at all, also when Ctrl-C comes meanwhile.
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
        """Make a ledger in a private file that goes with this process's last handle."""
        # The local name keeps the file until the handle does.
        file = TemporaryFile()
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
        """Act while the ledger is held, and nobody else spends; then commit what was appended.

        An exception of `act` commits nothing. Ctrl-C is held back from the commit on, to the end of
        the block of `interrupts`, or to the end of this call.

        Parameters
        ----------
        act : callable
            Is given the transaction; what it returns is returned.
        scope : str, default=None
            The totals hold this scope.
        moved : bool, default=False
            Whether a copy is no error.
        interrupts : HeldInterrupts, default=None
            The block of the caller, which is to get the answer out.
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
            # Only now is it certain. Knowing one's own entries, one misses them if they go.
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
        """Check that this is the original in its place; with `moved`, record the one it is in.

        Returns
        -------
        str
            What is to be said of a mark that is damaged; empty if it is not.
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
            # The mark was read first, as it may be moved on once the ledger has been read.
            if fault := self._copied(opened, header, slots.mark):
                raise LedgerError(fault)

        _read(self.path, check)
        return damage or ""

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

    def _same_header(self, opened: sqlite3.Connection) -> Header:
        """Check that this is still the same ledger, with the budget that this handle knows."""
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

    def answer(opened: sqlite3.Connection) -> T:
        with meaning(path):
            return ask(opened)

    check_not_foreign(path)
    try:
        return transact(path, answer, to="read")
    except LedgerError as error:
        if not any(map(os.path.exists, (mark_path(path), f"{path}-journal"))):
            raise  # nobody writes there
        wrong = str(error)
    is_held = False

    def again(_: HeldMark) -> T:
        nonlocal is_held
        is_held = True
        check_journal(path)
        return transact(path, answer, to="recover")

    try:
        return holding(path, again)
    except LedgerError:
        if is_held:
            raise
        raise LedgerError(wrong) from None
