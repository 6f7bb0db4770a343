"""Checks for files of other programs, before SQLite opens or repairs them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._waiting import PROCESS_LOCK
from secretballot.ledger.stores.file._file import readable
from secretballot.ledger.stores.file._mark import mark_path, no_ledger
from secretballot.ledger.stores.file._schema import APPLICATION_ID

_MAGIC = b"SQLite format 3\0"
#: Field in the header of a database.
_APPLICATION = slice(68, 72)
#: Endings of the files beside a database that SQLite opens.
_BESIDE = ("-journal", "-wal")


def check_not_foreign(path: str) -> None:
    """Refuse a file that is no ledger, and irregular files in its place or beside it, as of pipes.

    To open a pipe would wait for its writer. SQLite would roll back the unfinished write of another
    program, and this library would make a mark beside its file.
    """
    for name in (path + ending for ending in _BESIDE):
        if _is_irregular(name, follow_symlinks=False):
            raise LedgerError(
                f"The ledger {path!r} can't be used: {name!r}, where an interrupted write would "
                "be, is no regular file; move it away. Nothing was released."
            )
    if _is_irregular(path):
        raise readable(OSError("no regular file"), path)
    try:
        is_one = _is_ledger(path)
    except OSError as error:
        raise readable(error, path) from error
    if not is_one:
        is_empty = os.path.getsize(path) == 0
        raise LedgerError(
            f"The ledger {path!r} can't be used: {no_ledger(path, is_empty=is_empty)}."
        )


def describe_foreign(path: str) -> str:
    """Describe what is in the place of a new ledger; "" if it is a ledger."""
    if not os.path.exists(path):
        return "a link that leads nowhere"
    if os.path.isdir(path):
        return "a folder"
    if _is_irregular(path):
        return "no regular file, but a pipe or a device"
    with suppress(OSError):
        if not _is_ledger(path):
            if os.path.getsize(path):
                return "a file of something else"
            return "an empty file (or one that is being made)"
    return ""


def _is_ledger(path: str) -> bool:
    """Check the number of the application. An empty file with a mark is one that is being made."""
    # To close any descriptor on a file ends all locks that the process has on it.
    with PROCESS_LOCK, open(path, "rb", buffering=0) as file:
        header = file.read(_APPLICATION.stop)
    if not header:
        return os.path.lexists(mark_path(path))
    number = APPLICATION_ID.to_bytes(4, "big")
    return header.startswith(_MAGIC) and header[_APPLICATION] == number


def _is_irregular(name: str, *, follow_symlinks: bool = True) -> bool:
    # One call: a writer deletes its journal at any time.
    try:
        return not stat.S_ISREG(os.stat(name, follow_symlinks=follow_symlinks).st_mode)
    except OSError:
        return False
