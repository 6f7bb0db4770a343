"""Transactions on a ledger file: durable, safe with forks, and with errors that name a remedy."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._waiting import PROCESS_LOCK, busy_timeout

T = TypeVar("T")


def transact(
    path: str,
    act: Callable[[sqlite3.Connection], T],
    *,
    to: Literal["read", "recover", "write"],
    is_durable: bool = True,
) -> T:
    """Run a function in one transaction; commit durably, or roll back on any exception.

    A connection lasts for one transaction, so that no thread or forked child inherits one. `act`
    must fetch all rows: an open statement keeps the connection alive.

    ``to="read"`` changes nothing, and an interrupted write is an error. ``to="recover"`` rolls that
    write back first. That and ``to="write"`` need the lock of the mark (`holding`): SQLite's own
    locks are lost when this process closes the file elsewhere. With ``is_durable=False`` a commit
    survives the process, and not a power failure.
    """
    with PROCESS_LOCK:
        try:
            # Never created: a missing ledger must not become a fresh budget.
            mode = "ro" if to == "read" else "rw"
            opened = sqlite3.connect(
                f"{Path(path).as_uri()}?mode={mode}",
                uri=True,
                timeout=busy_timeout(),
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise readable(error, path) from error
        try:
            # The connection itself rolls back: an interrupt at the first line of a `finally` would
            # leave the ledger locked. (After a commit it does nothing.)
            with opened:
                # Another program may have written the file.
                opened.execute("PRAGMA trusted_schema = OFF")
                opened.execute("PRAGMA cell_size_check = ON")
                if to == "write":
                    # The journal is unlinked to commit, and EXTRA syncs the folder after that:
                    # a commit that has returned survives a power failure.
                    opened.execute("PRAGMA journal_mode = DELETE")
                    opened.execute(f"PRAGMA synchronous = {'EXTRA' if is_durable else 'OFF'}")
                    opened.execute("PRAGMA fullfsync = ON")
                opened.execute("BEGIN IMMEDIATE" if to == "write" else "BEGIN DEFERRED")
                answer = act(opened)
                opened.execute("COMMIT")
            return answer
        except sqlite3.Error as error:
            raise readable(error, path) from error
        finally:
            opened.close()


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a ledger without links; TypeError or ValueError if it names no file."""
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        kind = type(name).__name__  # bytes may be a URL
        raise TypeError(f"ledger= must be a path, a string or a pathlib.Path, not of type {kind}.")
    try:
        is_name = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise ValueError(f"ledger={path!r} holds characters that no file's name can have.")
    return os.path.realpath(name)


def readable(error: Exception, path: str) -> LedgerError:
    """Convert an error of the file, or of the mark beside it, to one that names a remedy."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    number = getattr(error, "errno", None)
    if not os.path.exists(path):
        reason = (
            "does not exist (any more). A ledger that is gone is never replaced by a new budget. "
            "An unnamed ledger lives as long as the process that made it: to keep a budget, name "
            "a file with PrivacyAccountant(..., ledger='file')"
        )
    elif os.path.isdir(path):
        reason = "is a folder; name the file"
    elif not os.path.isfile(path):
        reason = "is no regular file, but a pipe or a device; name the file"
    elif isinstance(error, TimeoutError) or code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        reason = (
            f"was locked by another process for more than {busy_timeout():g} seconds; try again. "
            "Nothing was released"
        )
    elif number == errno.ENOLCK:
        reason = (
            "can't be locked: its file system has no locks; put it on a local disk. Nothing was "
            "released"
        )
    elif code == sqlite3.SQLITE_NOTADB:
        reason = "is not a ledger of secretballot"
    elif code == sqlite3.SQLITE_CORRUPT:
        reason = "is corrupt; restore it from a copy"
    elif code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT):
        reason = "can't be written because the disk is full; nothing was released"
    elif isinstance(error, OSError) or code in (
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    ):
        reason = (
            "can't be opened for writing; the file, the one with '.mark' beside it, and the folder "
            "(for the journal) have to be writable by this user. Nothing was released"
        )
    elif code == sqlite3.SQLITE_IOERR:
        reason = "can't be read or written reliably (disk full or failing?); nothing was released"
    else:
        reason = "can't be used; it may be corrupt"
    return LedgerError(f"The ledger {path!r} {reason}. ({error})")
