"""Handles on a ledger, and on a child budget in it: spends are recorded before answers return."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from secretballot._base._errors import LedgerError
from secretballot._base._interrupts import HeldInterrupts
from secretballot.ledger._budget import Budget, is_text
from secretballot.ledger._entry import Child, LedgerEntry, digest_of
from secretballot.ledger._file_store import FileStore, real_path
from secretballot.ledger._guard import SLOTS, Mark, clock_fault, same_place
from secretballot.ledger._server_connection import is_url
from secretballot.ledger._server_store import ServerStore
from secretballot.ledger._store import (
    NO_LIMIT,
    Header,
    Rows,
    Store,
    Written,
    check_private_records,
    digest_at,
    insert_entry,
    last_in,
    load_reservation,
    load_scope,
    meaning,
    read_checkpoint,
    read_entries,
    read_header,
    read_private_records,
    read_reservation,
    read_totals,
    write_new,
)
from secretballot.ledger._totals import CHECKPOINT_EVERY, ReservationTotals, Totals

P = ParamSpec("P")
T = TypeVar("T")
Step = tuple[LedgerEntry, Totals]


def copy_fault(store: Store, rows: Rows, header: Header, place: str, mark: Mark | None) -> str:
    """Explain why a ledger may be a copy that lacks later entries; empty if it is none.

    `place` is the last that was recorded.
    """
    accepting = (
        f"PrivacyAccountant.open({store.name!r}, accept='moved') (or 'secretballot ledger accept "
        "FILE --moved')"
    )
    if not same_place(place, rows.place()):
        return (
            "it is a copy, was restored from one, or was moved: what the original has spent since "
            "is not in it, and both together could spend the budget twice. If the original is gone "
            f"and nothing was spent from it since, {accepting} continues here and records the "
            "move. Nothing was released"
        )
    if mark is None or mark.ledger_id != header.ledger_id or not lacks_entry(rows, header, mark):
        return ""
    return (
        f"it was restored from a copy: {mark.sequence} entries had been recorded, as the mark "
        f"{store.mark_path()!r} says, and they are not in it, so that the budget could be spent "
        "twice. Put the newer one back. Only if that is gone, and nothing that the missing entries "
        f"released was handed out, {accepting} continues here and records that. Nothing was "
        "released"
    )


def lacks_entry(rows: Rows, header: Header, mark: Mark) -> bool:
    digest = digest_at(rows, mark.sequence) if mark.sequence else header.digest
    return digest != mark.digest


def check_no_original(rows: Rows, header: Header, place: str) -> None:
    """Refuse a copy while the file that it was made of lies where it was recorded, or beside it."""
    for name in rows.originals(place):
        head = _head(name, header.digest)
        if head is None:
            continue
        remedy = "Spend from that one, which has entries that this one lacks"
        if not lacks_entry(rows, header, head):
            remedy = "Spend from that one, or delete it with its mark before the copy is accepted"
        raise LedgerError(
            f"it is a copy, and the original still lies at {name!r}: both together could spend the "
            f"budget twice. {remedy}. Nothing was released"
        )


def _head(name: str, digest: str) -> Mark | None:
    """Read the last entry of a file that may be the original; None if it is another, or damaged."""
    store = FileStore(name)

    def ask(rows: Rows) -> Mark | None:
        with meaning(store):
            header = read_header(rows)
            last = last_in(rows, "entry")
            head = digest_at(rows, last) if last else header.digest
        return Mark(header.ledger_id, last, str(head)) if header.digest == digest else None

    with suppress(LedgerError):
        return store.read(ask)
    return None  # nobody spends from it as it is


@dataclass
class Transaction:
    """Totals, reservations and new entries of a ledger, while nobody else writes to it."""

    _store: Store
    _rows: Rows
    whole: Totals  # up to the last entry
    _budget: Budget
    _child: str = ""

    def totals(self, scope: str | None = None) -> Totals:
        """Return the totals of the whole budget, or of the child, and those of a scope."""
        with meaning(self._store):
            load_scope(self._rows, self.whole, scope)
        return self.whole.of_child(self._child) if self._child else self.whole

    def enter(self, child: str, budget: Budget) -> None:
        """Go on as a transaction of a child budget, whose entries are the child's."""
        self.whole.check_open(child)
        state = self.whole.children[child]
        if budget != state.grant.budget(self._budget):
            raise LedgerError(
                f"the child budget {child!r} has other limits than this handle, which was pickled "
                "with others and is not to be trusted; accountant.child(name) returns another. "
                "Nothing was released or recorded"
            )
        self._budget, self._child = budget, child

    def reservation(self, id: str) -> ReservationTotals | None:
        """Return the payments of a reservation and its state; None if this budget has none."""
        with meaning(self._store):
            found = load_reservation(self._rows, self.whole, id)
        return None if found is None or found.payments[0].account != self._child else found

    def append(self, entry: LedgerEntry, private: str | None = None, *, time: str = "") -> None:
        """Write an entry after the last one, to be committed at the end of the transaction.

        `private` is the entry's private record (`Ledger.private_records`), allowed with
        ``accounting="sanitized"`` only. `time` is now, unless it is given.
        """
        if private is not None:
            self._check_private(private)
        if self._child and entry.child is None:
            entry = replace(entry, child=Child(self._child, "spend"))
        now = time or datetime.now(UTC).isoformat(timespec="microseconds")
        before = self.whole
        sequence = before.sequence + 1
        with meaning(self._store):
            load_scope(self._rows, before, entry.scope_id)
            if entry.reservation is not None:
                load_reservation(self._rows, before, entry.reservation.id)
            after = before.added_up(replace(entry, sequence=sequence))
        if sequence - after.checkpoint >= CHECKPOINT_EVERY:
            entry = replace(entry, checkpoint=after.sums_digest())
        placed = entry.chained(sequence, now, before.digest)
        insert_entry(self._rows, placed, after)
        if private is not None:
            self._rows.insert("private_record", (sequence, private))
        self.whole = before.after(placed)

    def _check_private(self, private: str) -> None:
        # Messages end up in logs, and never repeat the record.
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


#: What is declared of a ledger that is refused otherwise: the original is gone, with nothing spent
#: that is not in this one; or the clock is right, and was ahead at the last entry.
Accepted = Literal["moved", "clock"]

#: Entries read and checked in one transaction, so that writers wait for milliseconds.
BATCH = 64

_UNCHECKED = (
    "That no entry is missing at its end can't be checked without the original and its mark, or "
    "the head digest of a statement (secretballot ledger verify FILE --head N:DIGEST)."
)


class Head(NamedTuple):
    """Number of entries of a ledger, and the digest of the last one, which covers all."""

    n_entries: int
    digest: str


class Ledger:
    """Handle on a ledger. Copies, pickles and forks of a handle use the same store.

    Make one with `create` or `open`. If its budget differs from the header that is
    stored, it neither reads nor writes.
    """

    #: Name of a child budget; "" for the whole budget.
    child_name: str = ""

    def __init__(self, store: Store, budget: Budget, genesis: str) -> None:
        self._store = store
        self.name = store.name
        self.is_temporary = store.is_temporary
        self.budget = budget
        self.genesis = genesis
        self._totals = Totals(digest=genesis, levels=budget.levels)

    @classmethod
    def create(cls, name: str | os.PathLike[str] | None, budget: Budget) -> Ledger:
        """Make a new ledger, completely or not at all, also with Ctrl-C.

        None makes it in a private file, deleted with this process's last handle. LedgerError if
        there is one of that name, or the mark of an earlier ledger.
        """
        genesis = ""

        def fill(rows: Rows) -> Mark:
            nonlocal genesis
            header = write_new(rows, budget)
            genesis = header.digest
            return Mark(header.ledger_id, 0, genesis)

        store = FileStore.temporary() if name is None else named_store(name)
        with HeldInterrupts() as interrupts:
            interrupts.hold()
            store.create(fill)
            return cls(store, budget, genesis)

    @classmethod
    def open(cls, name: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger, and check its budget and what follows its last checkpoint."""
        store = named_store(name)

        def read(rows: Rows) -> Header:
            with meaning(store):
                return read_header(rows)

        header = store.read(read)
        ledger = cls(store, header.budget, header.digest)
        ledger.totals()
        return ledger

    def __reduce__(self) -> tuple[Callable[..., Ledger], tuple[str, Budget, str, bool]]:
        # Nothing is opened: an object whose ledger is gone can still be unpickled.
        return _unpickled, (self.name, self.budget, self.genesis, self.is_temporary)

    @property
    def root(self) -> Ledger:
        return self

    def transact(
        self,
        act: Callable[[Transaction], T],
        *,
        accept: Accepted | None = None,
        interrupts: HeldInterrupts | None = None,
    ) -> T:
        """Run a function with the exclusive right to spend; then commit its entries.

        An exception of `act` commits nothing. Ctrl-C is delayed from the commit to the end of the
        block of `interrupts`, or of this call. What `accept` declares is recorded, if the ledger
        would be refused without.
        """

        def record(rows: Rows, mark: Mark | None) -> Written[tuple[T, Totals]]:
            with meaning(self._store):
                rows.check_spendable()
                header = self._same_header(rows)
                before = self._catch_up(rows, mark)
                recorded = last_time(rows, before.sequence, header.created)
                place = before.place or header.place
                copied = copy_fault(self._store, rows, header, place, mark)
                is_late = clock_fault(recorded, self.name)
                if copied and accept != "moved":
                    raise LedgerError(copied)
                if is_late and accept is None:
                    raise LedgerError(is_late)
                if copied:
                    check_no_original(rows, header, place)
            transaction = Transaction(self._store, rows, before, self.budget)
            if copied:
                # The clock is another question, which the next entry asks.
                transaction.append(LedgerEntry.move(rows.place()), time=is_late and recorded)
            elif is_late and accept == "clock":
                transaction.append(LedgerEntry.clock())
            answer = act(transaction)
            block.hold()
            totals = transaction.whole
            last = Mark(header.ledger_id, totals.sequence, totals.digest)
            return Written((answer, totals), last, is_moved=bool(copied))

        block = HeldInterrupts() if interrupts is None else interrupts
        with nullcontext() if interrupts is not None else block:
            answer, totals = self._store.write(record).answer
            # The commit is certain now. If these entries disappear, this handle notices. If another
            # thread has gone on already, its entries are read again.
            self._totals = totals
            return answer if interrupts is not None else block.keep(answer)

    def settle(self, *, accept: Accepted | None = None) -> str:
        """Check that the ledger is the original in its place, or record what is accepted.

        Return a warning about a damaged mark; "" if it is whole.
        """
        # The mark is read first: writers may advance it after the ledger is read.
        slots = self._store.slots()
        damage = slots.n_broken and (
            f"{slots.n_broken} of the {SLOTS} slots of {self._store.mark_path()!r}, the mark of "
            "the ledger, are damaged and count as none: if an old copy was put in the ledger's "
            "place, that may not be noticed. Compare the ledger with the digest of a statement. "
            "The next releases write the mark anew."
        )
        if accept is not None:
            self.transact(lambda transaction: None, accept=accept)
            return damage or ""

        def check(rows: Rows) -> None:
            header = read_header(rows)
            totals = self.root._catch_up(rows, slots.mark)
            rows.check_spendable()
            place = totals.place or header.place
            if fault := copy_fault(self._store, rows, header, place, slots.mark):
                raise LedgerError(fault)

        self._ask(check)
        return damage or ""

    def completeness_note(self) -> str:
        """Explain why entries at the end may be missing; "" if the mark says that none is."""
        mark, totals = self._store.slots().mark, self.totals()

        def fault(rows: Rows) -> str:
            header = read_header(rows)
            if not same_place(totals.place or header.place, rows.place()):
                return "This is a copy of a ledger, or was restored or moved"
            if mark is None or mark.ledger_id != header.ledger_id:
                return self._store.without_mark
            if not lacks_entry(rows, header, mark):
                return ""
            return (
                f"Entries are missing: the mark of this ledger says that {mark.sequence} had been "
                "recorded, and the last of these is not in it"
            )

        why = self._ask(fault)
        return why and f"{why}. {_UNCHECKED}"

    def totals(self, scope: str | None = None) -> Totals:
        """Return the sums over all entries, those of other processes included, and of a scope."""
        root = self.root
        # A handle that has read before goes on from there, and needs no mark.
        mark = None if root._totals.sequence else self._store.slots().mark

        def catch_up(rows: Rows) -> Totals | None:
            totals = root._catch_up(rows, mark, at_most=BATCH)
            if totals.sequence < last_in(rows, "entry"):
                return None
            load_scope(rows, totals, scope)
            return totals.snapshot()

        while (totals := self._ask(catch_up)) is None:
            pass
        return totals.of_child(self.child_name) if self.child_name else totals

    def reservation(self, id: str) -> ReservationTotals | None:
        """Return the payments of a reservation and its state; None if this budget has none."""
        found = self._ask(read_reservation, id)
        return None if found is None or found.payments[0].account != self.child_name else found

    def private_records(self) -> dict[int, str]:
        """Return the private records by number of entry. They depend on the votes: never shown."""
        self.totals()  # checks that each belongs to an entry
        return self._ask(read_private_records)

    def header(self) -> Header:
        return self._ask(read_header)._replace(budget=self.budget)

    def walk(self, n_entries: int | None = None) -> Walk:
        """Return a walk over all entries, or from a checkpoint before the last `n_entries`."""
        # The totals detect a file that was cut off, or replaced by an older copy.
        last, root = self.totals().sequence, self.root
        # Entries of a child may lie anywhere.
        start = 0 if n_entries is None or self.child_name else max(last - n_entries, 0)
        levels = root.budget.levels
        stored = self._ask(read_totals, at_most=start, levels=levels) if start else None
        return Walk(self, stored or Totals(digest=root.genesis, levels=levels), last)

    def entries(self) -> list[LedgerEntry]:
        return list(self.walk())

    def verify(self) -> Head:
        """Check every entry and checkpoint; LedgerError names the first that is wrong."""
        walk = self.walk()
        for _ in walk:
            pass
        return Head(walk.totals.sequence, walk.totals.digest)

    def _ask(
        self, query: Callable[Concatenate[Rows, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Read after checking that it is still this ledger; an error in the contents names it."""

        def ask(rows: Rows) -> T:
            with meaning(self._store):
                self.root._same_header(rows)
                return query(rows, *args, **kwargs)

        return self._store.read(ask)

    def _same_header(self, rows: Rows) -> Header:
        """Check that it is still the same ledger, with the budget of this handle."""
        header = read_header(rows)
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

    def _catch_up(self, rows: Rows, mark: Mark | None, *, at_most: int = NO_LIMIT) -> Totals:
        """Add new entries to the totals, after checking that the earlier ones are unchanged.

        Go on with what is returned: another thread may set the totals of this handle back.

        A new handle begins at a checkpoint that this machine has added up, by its mark: anybody who
        may add entries could write one with other sums. Without a mark it is the last one.
        """
        totals = self._totals
        last = totals.sequence
        if last and digest_at(rows, last) != totals.digest:
            raise LedgerError(
                f"entry {last}, which was there before, is gone or was altered; restore it from a "
                "copy"
            )
        check_private_records(rows)
        if not last and last_in(rows, "checkpoint") > CHECKPOINT_EVERY:
            added_up = NO_LIMIT if mark is None else mark.sequence
            levels = self.budget.levels
            totals = read_totals(rows, at_most=added_up, levels=levels) or totals
        for _, after in read_steps(rows, totals, at_most):
            totals = after
        totals.forget()
        self._totals = totals
        return totals


def read_steps(rows: Rows, totals: Totals, at_most: int) -> Iterator[Step]:
    """Yield the entries after `totals`, checked, each with the totals after it."""
    for entry in read_entries(rows, after=totals.sequence, at_most=at_most):
        load_scope(rows, totals, entry.scope_id)
        if entry.reservation is not None:
            load_reservation(rows, totals, entry.reservation.id)
        totals = totals.after(entry)
        if entry.checkpoint is not None:
            read_checkpoint(rows, entry)  # what later readers begin with
        yield entry, totals


class Walk:
    """Iterator over the checked entries of a budget, in short reads that let others spend.

    It ends with the entry that was the last when it began. `totals` are the sums up to the current
    entry.
    """

    def __init__(self, ledger: Ledger, start: Totals, last: int) -> None:
        self._ledger, self._last, self._whole = ledger, last, start

    @property
    def totals(self) -> Totals:
        child = self._ledger.child_name
        return self._whole.of_child(child) if child else self._whole

    def __iter__(self) -> Iterator[LedgerEntry]:
        child = self._ledger.child_name
        while self._whole.sequence < self._last:
            for entry, totals in self._ledger._ask(self._next_steps):
                self._whole = totals
                if not child or entry.account == child:
                    yield entry
            # Only now: callers ask for the sums of the last entry's scope.
            self._whole = self._whole.snapshot()
            self._whole.forget()

    def _next_steps(self, rows: Rows) -> list[Step]:
        at_most = min(BATCH, self._last - self._whole.sequence)
        steps = list(read_steps(rows, self._whole.snapshot(), at_most))
        if not steps:
            raise LedgerError(f"it ends after entry {self._whole.sequence}, and had {self._last}")
        return steps


def named_store(name: str | os.PathLike[str]) -> Store:
    """Return the store of a ledger; TypeError or ValueError if that is no name."""
    return ServerStore(os.fspath(name)) if is_url(name) else FileStore(real_path(name))


def last_time(rows: Rows, last: int, created: str) -> str:
    """Return the time of the last entry, if there is one, or of the ledger's creation."""
    if not last:
        return created
    ((recorded,),) = rows.fetch("SELECT time FROM {entry} WHERE sequence = ?", (last,))
    return str(recorded)


def _unpickled(name: str, budget: Budget, genesis: str, is_temporary: bool) -> Ledger:
    store = ServerStore(name) if is_url(name) else FileStore(name, is_temporary)
    return Ledger(store, budget, genesis)


class ChildLedger(Ledger):
    """Handle on one child of a ledger: its budget, its sums, and its entries."""

    def __init__(self, root: Ledger, child_name: str, budget: Budget) -> None:
        self._root, self.child_name, self.budget = root, child_name, budget
        self._store = root._store
        self.name, self.is_temporary = root.name, root.is_temporary
        # Scopes and reservations of one child are refused by another.
        self.genesis = digest_of(["secretballot child", root.genesis, child_name])

    @classmethod
    def of(cls, root: Ledger, child_name: str) -> ChildLedger:
        """Return the handle of a child; LedgerError if there is none."""
        child = root.totals().children.get(child_name)
        if child is None:
            raise LedgerError(
                f"The ledger {root.name!r} has no child budget {child_name!r}. `ledger children` "
                "lists them; PrivacyAccountant.child(name, epsilon=...) makes one."
            )
        return cls(root, child_name, child.grant.budget(root.budget))

    def __reduce__(self) -> tuple[type[ChildLedger], tuple[Ledger, str, Budget]]:  # type: ignore[override]
        return ChildLedger, (self.root, self.child_name, self.budget)

    @property
    def root(self) -> Ledger:
        return self._root

    def transact(
        self,
        act: Callable[[Transaction], T],
        *,
        accept: Accepted | None = None,
        interrupts: HeldInterrupts | None = None,
    ) -> T:
        def act_within(transaction: Transaction) -> T:
            transaction.enter(self.child_name, self.budget)
            return act(transaction)

        return self.root.transact(act_within, accept=accept, interrupts=interrupts)
