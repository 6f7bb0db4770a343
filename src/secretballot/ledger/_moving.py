"""Move of a ledger to another store, with its chain."""

from __future__ import annotations

from secretballot._base._errors import LedgerError
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._header import read_header
from secretballot.ledger._interrupts import HeldInterrupts
from secretballot.ledger._ledger import BATCH, Ledger, read_steps
from secretballot.ledger._stored_entries import read_private_records, read_totals
from secretballot.ledger._totals import Totals
from secretballot.ledger._transaction import Transaction
from secretballot.ledger.stores import TABLES, Mark, Rows, Store, is_url, meaning, named_store


def move(ledger: Ledger, name: str) -> Ledger:
    """Copy a ledger file to a server, where it goes on; the file is not spent from any more.

    The last entry names the new place. It is committed in the file before the copy is committed, so
    that at no time both can be spent from. The copy has the same chain, and is checked.

    Parameters
    ----------
    ledger : Ledger
        Handle on the whole budget.
    name : str
        URL of a ledger that is not there yet.

    Raises
    ------
    LedgerError
        If there is a ledger of that name, or the copy fails. Where the error does not say that the
        move was recorded, nothing has changed.
    """
    if is_url(ledger.name) or not is_url(name):
        raise LedgerError(
            "A ledger is moved from a file to the URL of a server. A file goes to another folder "
            "by renaming it and its mark, and to another disk by a copy, with which "
            "PrivacyAccountant.open(path, accept='moved') goes on."
        )
    store = named_store(name)
    is_recorded = False

    def fill(target: Rows) -> Mark:
        def hand_over(transaction: Transaction) -> Mark:
            source = transaction._rows
            if not source.place():
                raise LedgerError(
                    f"The ledger {ledger.name!r} can't be moved: its file system gives a file no "
                    "identity, so that it could be spent from after the move. Nothing was changed."
                )
            transaction.append(LedgerEntry.move(target.place()))
            for table in TABLES:
                for row in source.fetch(f"SELECT * FROM {{{table}}}"):
                    target.insert(table, row)
            _check_copy(source, target, transaction.totals, store)
            totals = transaction.totals
            return Mark(read_header(target).ledger_id, totals.sequence, totals.digest)

        nonlocal is_recorded
        mark = ledger.transact(hand_over, interrupts=block)
        is_recorded = True
        return mark

    with HeldInterrupts() as block:
        try:
            store.create(fill)
        except LedgerError as error:
            if not is_recorded:
                raise
            raise LedgerError(
                f"{error} {ledger.name!r} has the entry of its move already, and is not spent "
                f"from. If {store.name!r} is there, the move is done. If it is not, "
                f"PrivacyAccountant.open({ledger.name!r}, accept='moved') goes on with the file."
            ) from error
        return Ledger(store, ledger.budget, ledger.genesis)


def _check_copy(source: Rows, target: Rows, totals: Totals, store: Store) -> None:
    """Check the chain of a copy, its sums and its private records."""
    with meaning(store):
        header = read_header(target)
        copied = Totals(digest=header.digest, levels=header.budget.levels)
        while batch := list(read_steps(target, copied, BATCH)):
            copied = batch[-1][1]
            copied.forget()
        read_totals(target)
        same_records = read_private_records(target) == read_private_records(source)
        if copied.digest != totals.digest or not same_records:
            raise LedgerError("the copy is not the same; nothing was moved")
