"""A connection to a ledger file: durable, safe to fork, and with errors that say what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Literal

from secretballot._errors import LedgerError

#: How long to wait for another process that is spending, in seconds; and only to show something.
BUSY_TIMEOUT = 60.0
SHOWN_TIMEOUT = 2.0

_SHOWING: ContextVar[bool] = ContextVar("secretballot_showing", default=False)


@contextmanager
def showing() -> Iterator[None]:
    """Read within for a display: a notebook or a debugger is not kept waiting."""
    token = _SHOWING.set(True)
    try:
        yield
    finally:
        _SHOWING.reset(token)


def busy_timeout() -> float:
    """Return how long to wait for another process, in seconds."""
    return min(SHOWN_TIMEOUT, BUSY_TIMEOUT) if _SHOWING.get() else BUSY_TIMEOUT


# One transaction at a time in a process: threads queue here instead of polling the file, and a
# fork waits until no connection is open, because a child must not inherit locks.
PROCESS_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=PROCESS_LOCK.acquire,
        after_in_parent=PROCESS_LOCK.release,
        after_in_child=PROCESS_LOCK.release,
    )


def create_exclusively(path: str) -> None:
    """Make an empty file for its owner only, or LedgerError if there is one already.

    (SQLite gives its journal the mode of the file.)
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if os.path.isdir(path):
            raise LedgerError(
                f"ledger={path!r} is a folder; name a file, such as "
                f"{os.path.join(path, 'budget.ledger')!r}."
            ) from None
        raise LedgerError(
            f"ledger={path!r} exists already; PrivacyAccountant.open({path!r}) continues its "
            "budget. (A second budget for the same data would add to the first: name another "
            "file only for other data.)"
        ) from None
    except OSError as error:
        raise LedgerError(
            f"ledger={path!r} can't be created: {error.strerror}; name a file in a folder that "
            "exists and can be written."
        ) from error


@contextmanager
def connection(
    path: str, *, to: Literal["read", "recover", "write"]
) -> Iterator[sqlite3.Connection]:
    """Run one transaction, committed durably on leaving and rolled back on any exception.

    A connection lasts for one transaction, so that none is ever carried into a thread or a forked
    child. (Fetch all that is asked for: a statement that is left open, in an error's traceback for
    example, keeps the connection and its locks alive.)

    To ``"read"``, it changes nothing: a write that was interrupted is an error. To ``"recover"`` it
    is rolled back first. That, and to ``"write"``, is for who holds the mark (`held`): SQLite's own
    locks are lost if this process closes the file anywhere else, and are not relied on between
    spenders.
    """
    with PROCESS_LOCK:
        try:
            # Never created: a ledger that is gone must not come back as a fresh budget.
            mode = "ro" if to == "read" else "rw"
            opened = sqlite3.connect(
                f"{Path(path).as_uri()}?mode={mode}",
                uri=True,
                timeout=busy_timeout(),
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise readable(error, path) from error
        with closing(opened):
            try:
                # What is in the file was perhaps written by others.
                opened.execute("PRAGMA trusted_schema = OFF")
                opened.execute("PRAGMA cell_size_check = ON")
                if to == "write":
                    # The journal is unlinked to commit, and EXTRA syncs the folder after that:
                    # a commit that has returned survives a power failure.
                    opened.execute("PRAGMA journal_mode = DELETE")
                    opened.execute("PRAGMA synchronous = EXTRA")
                    opened.execute("PRAGMA fullfsync = ON")
                opened.execute("BEGIN IMMEDIATE" if to == "write" else "BEGIN DEFERRED")
                yield opened
                opened.execute("COMMIT")
            except sqlite3.Error as error:
                _roll_back(opened)
                raise readable(error, path) from error
            except BaseException:
                _roll_back(opened)
                raise


def _roll_back(opened: sqlite3.Connection) -> None:
    if opened.in_transaction:
        # Closing rolls back as well; the first error is the one to report.
        with suppress(sqlite3.Error):
            opened.execute("ROLLBACK")


def readable(error: Exception, path: str) -> LedgerError:
    """Say what went wrong with the file, or the one beside it, and what to do."""
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
    elif isinstance(error, TimeoutError) or code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        reason = (
            f"was locked by another process for more than {busy_timeout():g} seconds; try again. "
            "Nothing was released"
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
