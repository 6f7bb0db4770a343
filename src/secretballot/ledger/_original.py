"""Check that a ledger is the original in its place, and no copy that lacks later entries."""

from __future__ import annotations

from contextlib import suppress

from secretballot._base._errors import LedgerError
from secretballot.ledger._header import Header, read_header
from secretballot.ledger._stored_entries import digest_at, last_in
from secretballot.ledger.stores import FileStore, Mark, Rows, Store, meaning, same_place


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
    """Return True if the last entry by the mark is not in the ledger."""
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
