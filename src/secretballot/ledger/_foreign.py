"""Files of other programs: they are refused before SQLite opens, and would repair, them."""

from __future__ import annotations

import os
import stat

from secretballot._errors import LedgerError
from secretballot.ledger._file import PROCESS_LOCK, readable
from secretballot.ledger._mark import mark_path
from secretballot.ledger._schema import APPLICATION_ID, NO_LEDGER

_MAGIC = b"SQLite format 3\0"
#: Where the header of a database has the number of its application.
_APPLICATION = slice(68, 72)


def check_not_foreign(path: str) -> None:
    """Refuse a file that is no ledger, and files beside it that SQLite would wait for.

    SQLite rolls back what another program left unfinished in a database of its own. No mark is made
    beside such a file either. (An empty file with a mark is a ledger that is being made.)
    """
    for name in (f"{path}-journal", f"{path}-wal"):
        if not _is_absent_or_regular(name):
            raise LedgerError(
                f"The ledger {path!r} can't be used: {name!r}, where an interrupted write would "
                "be, is no regular file; move it away. Nothing was released."
            )
    if not os.path.isfile(path):
        return  # said where it is opened
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
    # One look: a writer's own journal comes and goes.
    try:
        return stat.S_ISREG(os.lstat(name).st_mode)
    except OSError:
        return True
