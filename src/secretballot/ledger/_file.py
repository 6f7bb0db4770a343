"""A connection to a ledger file: durable, safe to fork, and with errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from secretballot._errors import LedgerError

#: In the header of the file; it tells a ledger from any other SQLite database ("SBLG").
APPLICATION_ID = 0x53424C47
FORMAT_VERSION = 2

#: How long to wait for another process that is spending, in seconds.
BUSY_TIMEOUT = 60.0

SCHEMA = """
CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ledger_id TEXT NOT NULL, created TEXT NOT NULL, library_version TEXT NOT NULL,
    place TEXT NOT NULL,
    unit TEXT NOT NULL, relation TEXT NOT NULL, accounting TEXT NOT NULL,
    allow_seeded INTEGER NOT NULL, orders BLOB NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE level (
    position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epsilon REAL NOT NULL,
    delta REAL NOT NULL, approximation_delta REAL NOT NULL, gate_order REAL NOT NULL,
    renyi_budget REAL NOT NULL
);
CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY, time TEXT NOT NULL, mechanism TEXT NOT NULL,
    n_rows INTEGER NOT NULL, scope_id TEXT, scope_epsilon, seeded INTEGER NOT NULL,
    note TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE charge (
    sequence INTEGER NOT NULL REFERENCES entry (sequence), level TEXT NOT NULL,
    member TEXT NOT NULL, delta REAL NOT NULL, curve BLOB NOT NULL,
    PRIMARY KEY (sequence, level, member)
) WITHOUT ROWID;
""" + "".join(
    f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;\n"
    for table in ("header", "level", "entry", "charge")
    for verb in ("UPDATE", "DELETE")
)

# One transaction at a time in a process: threads queue here instead of polling the file, and a
# fork waits until no connection is open, because a child must not inherit SQLite's locks.
PROCESS_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=PROCESS_LOCK.acquire,
        after_in_parent=PROCESS_LOCK.release,
        after_in_child=PROCESS_LOCK.release,
    )


class TemporaryFile:
    """The file of an unnamed ledger, deleted with the last handle of the process that made it."""

    def __init__(self) -> None:
        descriptor, path = tempfile.mkstemp(prefix="secretballot-", suffix=".ledger")
        os.close(descriptor)
        self.path = os.path.realpath(path)
        weakref.finalize(self, _delete, self.path, os.getpid())
        _temporary[self.path] = self


#: Handles that are unpickled in the process that made the file keep it alive too.
_temporary: weakref.WeakValueDictionary[str, TemporaryFile] = weakref.WeakValueDictionary()


def temporary_file(path: str) -> TemporaryFile | None:
    """Return the owner of a temporary file of this process, if `path` is one."""
    return _temporary.get(path)


def _delete(path: str, owner: int) -> None:
    # A forked child inherits the finalizer, but the ledger is its parent's.
    if os.getpid() == owner:
        for name in (path, f"{path}-journal"):
            Path(name).unlink(missing_ok=True)


def create_exclusively(path: str, mode: int = 0o666) -> None:
    """Make an empty file, or LedgerError if there is one already."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))
    except FileExistsError:
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
def connection(path: str, *, begin: str) -> Iterator[sqlite3.Connection]:
    """Run one transaction, committed durably on leaving and rolled back on any exception.

    `begin` is ``"DEFERRED"`` to read or ``"IMMEDIATE"`` to write. A connection lasts for one
    transaction, so that none is ever carried into a thread or a forked child. Nothing else may
    open the file: closing any descriptor on it would drop SQLite's locks on Linux.
    """
    with PROCESS_LOCK:
        try:
            # mode=rw never creates: a ledger that is gone must not come back as a fresh budget.
            opened = sqlite3.connect(
                f"{Path(path).as_uri()}?mode=rw",
                uri=True,
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise _readable(error, path) from error
        with closing(opened):
            try:
                if begin != "DEFERRED":
                    # The journal is unlinked to commit, and EXTRA syncs the folder after that:
                    # a commit that has returned survives a power failure.
                    opened.execute("PRAGMA journal_mode = DELETE")
                    opened.execute("PRAGMA synchronous = EXTRA")
                    opened.execute("PRAGMA fullfsync = ON")
                opened.execute(f"BEGIN {begin}")
                yield opened
                opened.execute("COMMIT")
            except sqlite3.Error as error:
                _roll_back(opened)
                raise _readable(error, path) from error
            except BaseException:
                _roll_back(opened)
                raise


def _roll_back(opened: sqlite3.Connection) -> None:
    if opened.in_transaction:
        # Closing rolls back as well; the first error is the one to report.
        with suppress(sqlite3.Error):
            opened.execute("ROLLBACK")


def _readable(error: sqlite3.Error, path: str) -> LedgerError:
    """Say what went wrong with the file, and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if not os.path.exists(path):
        reason = (
            "does not exist (any more). A ledger that is gone is never replaced by a new budget. "
            "An unnamed ledger lives as long as the process that made it: to keep a budget, name "
            "a file with PrivacyAccountant(..., ledger='file')"
        )
    elif code == sqlite3.SQLITE_NOTADB:
        reason = "is not a ledger of secretballot"
    elif code == sqlite3.SQLITE_CORRUPT:
        reason = "is corrupt; restore it from a copy"
    elif code == sqlite3.SQLITE_FULL:
        reason = "can't be written because the disk is full; nothing was released"
    elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        reason = (
            "can't be opened for writing; the file, and the folder (for the journal beside it), "
            "have to be writable by this user. Nothing was released"
        )
    elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        reason = (
            f"was locked by another process for more than {BUSY_TIMEOUT:g} seconds; try again. "
            "Nothing was released"
        )
    elif code == sqlite3.SQLITE_IOERR:
        reason = "can't be read or written reliably (disk full or failing?); nothing was released"
    else:
        reason = "can't be used; it may be corrupt"
    return LedgerError(f"The ledger {path!r} {reason}. ({error})")
