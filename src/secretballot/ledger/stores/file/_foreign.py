"""Checks for files of other programs, before SQLite opens or repairs them."""

from __future__ import annotations

import os
import stat
import struct
from typing import BinaryIO

from secretballot._errors import LedgerError
from secretballot.ledger.stores._slots import Mark
from secretballot.ledger.stores._waiting import PROCESS_LOCK
from secretballot.ledger.stores.file._file import readable
from secretballot.ledger.stores.file._mark import mark_path, no_ledger
from secretballot.ledger.stores.file._schema import APPLICATION_ID

_MAGIC = b"SQLite format 3\0"
#: Fields in the header of a database.
_PAGE_SIZE, _COMMITS = slice(16, 18), slice(24, 28)
_PAGES, _APPLICATION = slice(28, 32), slice(68, 72)
_HEADER = _APPLICATION.stop
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
            header = file.read(_HEADER)
    except OSError as error:
        raise readable(error, path) from error
    if not header and os.path.lexists(mark_path(path)):
        return
    if not header.startswith(_MAGIC) or header[_APPLICATION] != APPLICATION_ID.to_bytes(4, "big"):
        raise LedgerError(
            f"The ledger {path!r} can't be used: {no_ledger(path, is_empty=not header)}."
        )


def _is_absent_or_regular(name: str) -> bool:
    # One call: a writer deletes its journal at any time.
    try:
        return stat.S_ISREG(os.lstat(name).st_mode)
    except OSError:
        return True


def check_journal(path: str, mark: Mark | None) -> None:
    """Refuse to roll back a journal that an interrupted write of this ledger can't have left.

    For the holder of the mark, when nobody writes. A journal has pages as they were before a write.
    If the first page is among them (a commit begins with it), it is that of the ledger before its
    last commit; if not, the ledger's first page and its size are those before the write. Before a
    ledger was made its file was empty, and its mark has no entry until that is committed.
    """
    try:
        with PROCESS_LOCK, open(path, "rb", buffering=0) as file:
            header = file.read(_HEADER)
            with open(f"{path}-journal", "rb") as journal:
                is_foreign = bool(header) and _is_foreign(journal, header, mark)
    except FileNotFoundError:
        return
    except OSError as error:
        raise readable(error, path) from error
    if is_foreign:
        raise LedgerError(
            f"The ledger {path!r} can't be used: {path + '-journal'!r} is not of its last write, "
            "and would be written over it; move that file away. Nothing was released."
        )


def _is_foreign(journal: BinaryIO, header: bytes, mark: Mark | None) -> bool:
    magic, _, _, n_pages, sector, size = struct.unpack(">8s5I", journal.read(28).ljust(28, b"\0"))
    if not magic.strip(b"\0"):
        return False  # SQLite rolls back no journal that begins with a zero byte
    # The header of a database has 1 for pages of 65,536 bytes.
    if magic != _JOURNAL_MAGIC or size % 65535 != _number(header, _PAGE_SIZE):
        return True
    if n_pages == 0:
        return mark is not None
    before, n_commits = header, 0
    journal.seek(sector)
    while len(number := journal.read(4)) == 4:
        page = journal.read(size + 4)
        if int.from_bytes(number, "big") == 1:
            before = page
            n_commits = _number(header, _COMMITS) - _number(before, _COMMITS)
            break
    return (
        before[_APPLICATION] != header[_APPLICATION]
        or n_commits not in (0, 1)
        or n_pages != _number(before, _PAGES)
    )


def _number(header: bytes, place: slice) -> int:
    return int.from_bytes(header[place], "big")
