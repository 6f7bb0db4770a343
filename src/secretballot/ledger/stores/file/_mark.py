"""Mark of a ledger file: the file beside it that is its lock, and names the last entry."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import FileIO
from typing import TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._mark_file import HeldMark, holding_mark, opened_mark, read_mark
from secretballot.ledger.stores._slots import Slots
from secretballot.ledger.stores.file._file import readable

T = TypeVar("T")


def mark_path(path: str) -> str:
    """Return the path of the mark of a ledger."""
    return f"{path}.mark"


def read_slots(path: str) -> Slots:
    """Read the slots of a ledger's mark without its lock; empty slots if there is no mark."""
    return read_mark(mark_path(path))


def no_ledger(path: str, *, is_empty: bool) -> str:
    """Explain why a file is no ledger: if it is empty, by what its mark says of it."""
    if not is_empty:
        return "it is not a ledger of secretballot"
    slots = read_slots(path)
    if slots.mark is not None and slots.mark.sequence:
        return (
            f"it was emptied, and its mark {mark_path(path)!r} says that {slots.mark.sequence} "
            "entries had been recorded; restore it from a copy"
        )
    if not slots.is_mark or slots.n_broken:
        return (
            f"it is empty, and its mark {mark_path(path)!r}, which would say how many entries had "
            "been recorded, is damaged; restore it from a copy"
        )
    # An empty mark is that of an interrupted creation, or was emptied too.
    unless = " if nothing was ever released from it; if anything was, restore it from a copy"
    return (
        "it is not a ledger of secretballot but empty, as one whose creation was interrupted: "
        f"delete it and its mark{'' if slots.mark else unless}"
    )


def holding(path: str, act: Callable[[HeldMark], T]) -> T:
    """Run a function with the lock of the mark: the exclusive right to write to the ledger.

    Unlike SQLite's own it is not lost when this process opens and closes the ledger elsewhere (a
    backup, a checksum).
    """

    def open_file() -> FileIO:
        # Whoever may write to the ledger may write the mark.
        ledger = os.stat(path)
        create = os.O_CREAT if ledger.st_size else 0  # an empty one is being made elsewhere
        return opened_mark(mark_path(path), os.O_RDWR | create, ledger.st_mode & 0o066 | 0o600)

    def explain(error: OSError) -> LedgerError:
        is_error_of_system = error.errno is not None or isinstance(error, TimeoutError)
        if is_error_of_system or not os.path.exists(path):
            return readable(error, path)
        return LedgerError(
            f"The ledger {path!r} can't be written to: {mark_path(path)!r}, the place of its mark, "
            f"is not written over: {error}. Move that away, or name the ledger otherwise. Nothing "
            "was released"
        )

    return holding_mark(mark_path(path), open_file, act, explain)
