"""Checks for files of other programs, before SQLite opens or repairs them."""

from __future__ import annotations

import os
import stat
import struct
from typing import BinaryIO

from secretballot._errors import LedgerError
from secretballot.ledger._file import PROCESS_LOCK, readable
from secretballot.ledger._mark import mark_path
from secretballot.ledger._schema import APPLICATION_ID, NO_LEDGER

_MAGIC = b"SQLite format 3\0"
#: In the header of a database: the number of commits, and the number of the application.
_COMMITS, _APPLICATION = slice(24, 28), slice(68, 72)
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


def check_not_foreign(path: str) -> None:
    """Refuse a file that is no ledger, and irregular files beside it, such as pipes.

    SQLite would roll back the unfinished write of another program, and this library would make a
    mark beside its file. (An empty file with a mark is a ledger that is being made.)
    """
    for name in (f"{path}-journal", f"{path}-wal"):
        if not _is_absent_or_regular(name):
            raise LedgerError(
                f"The ledger {path!r} can't be used: {name!r}, where an interrupted write would "
                "be, is no regular file; move it away. Nothing was released."
            )
    if not os.path.isfile(path):
        return  # an error when it is opened
    try:
        # To close any descriptor on a file ends all locks that the process has on it.
        with PROCESS_LOCK, open(path, "rb", buffering=0) as file:
            header = file.read(_APPLICATION.stop)
    except OSError as error:
        raise readable(error, path) from error
    if not header and os.path.lexists(mark_path(path)):
        return
    if not header.startswith(_MAGIC) or header[_APPLICATION] != APPLICATION_ID.to_bytes(4, "big"):
        raise LedgerError(f"The ledger {path!r} can't be used: {NO_LEDGER}.")


def _is_absent_or_regular(name: str) -> bool:
    # One call: a writer deletes its journal at any time.
    try:
        return stat.S_ISREG(os.lstat(name).st_mode)
    except OSError:
        return True


def check_journal(path: str) -> None:
    """Refuse to roll back a journal that an interrupted write of this ledger can't have left.

    For the holder of the mark, when nobody writes. A journal holds pages as they were before a
    write. If the first page is among them (a commit begins with it), it is that of the ledger
    before its last commit.
    """
    try:
        with PROCESS_LOCK, open(path, "rb", buffering=0) as file:
            header = file.read(_APPLICATION.stop)
            with open(f"{path}-journal", "rb") as journal:
                before = _first_page(journal)
    except FileNotFoundError:
        return
    except OSError as error:
        raise readable(error, path) from error
    if before is None or not header:
        return
    n_new = int.from_bytes(header[_COMMITS], "big") - int.from_bytes(before[_COMMITS], "big")
    if before[_APPLICATION] != header[_APPLICATION] or n_new not in (0, 1):
        raise LedgerError(
            f"The ledger {path!r} can't be used: {path + '-journal'!r} is not of its last write, "
            "and would be written over it; move that file away. Nothing was released."
        )


def _first_page(journal: BinaryIO) -> bytes | None:
    """Read the first page of a database from a journal; None if it is not in it.

    A journal that SQLite does not roll back begins with a zero byte; what is none has no pages.
    """
    magic, _, _, _, sector, size = struct.unpack(">8s5I", journal.read(28).ljust(28, b"\0"))
    if not magic.strip(b"\0"):
        return None
    if magic != _JOURNAL_MAGIC or not 512 <= size <= 65536:
        return bytes(_APPLICATION.stop)
    journal.seek(sector)
    while len(number := journal.read(4)) == 4:
        page = journal.read(size + 4)
        if int.from_bytes(number, "big") == 1:
            return page
    return None
