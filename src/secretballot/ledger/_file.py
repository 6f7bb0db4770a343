"""Files of a ledger: SQLite transactions, the mark, creation and deletion, temporary files."""

from __future__ import annotations

import errno
import itertools
import os
import sqlite3
import stat
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Literal, TypeVar

from secretballot._base._errors import LedgerError
from secretballot._base._files import PrivateFolder
from secretballot.ledger._mark import HeldMark, Slots, holding_mark, opened_mark, read_mark
from secretballot.ledger._store import APPLICATION_ID
from secretballot.ledger._waiting import PROCESS_LOCK, busy_timeout

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
    """Resolve links; TypeError or ValueError if the path names no file."""
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
    """Convert an error of the file, or of its mark, to one that names a remedy."""
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


def mark_path(path: str) -> str:
    return f"{path}.mark"


def read_slots(path: str) -> Slots:
    """Read the slots of a mark without its lock; empty slots if there is no mark."""
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


#: Endings of files beside a database that SQLite takes for its own, and deletes.
_JOURNALS = ("-journal", "-wal", "-shm")
_MARK = mark_path("")


def check_name(path: str) -> None:
    """Refuse a name with the ending of a file that belongs to another ledger."""
    for ending in (_MARK, *_JOURNALS):
        if path.endswith(ending):
            raise LedgerError(
                f"ledger={path!r} ends in {ending!r}: so are files called that belong to a ledger "
                f"{path.removesuffix(ending)!r} and are written over or deleted with it; name it "
                "otherwise."
            )


def create_files(path: str) -> None:
    """Make a ledger's file and its mark, both empty and readable by their owner only.

    LedgerError if one of them exists, or a file that SQLite would take for its own.
    """
    try:
        _create_empty(path, path)
    except FileExistsError:
        if what := describe_foreign(path):
            raise LedgerError(
                f"ledger={path!r} exists already, and is no ledger but {what}. Nothing of it was "
                f"changed; name a new file, such as {_new_name(path)!r}."
            ) from None
        raise LedgerError(
            f"ledger={path!r} exists already; PrivacyAccountant.open({path!r}) continues its "
            "budget. (A second budget for the same data would add to the first: name another "
            "file only for other data.)"
        ) from None
    try:
        _create_mark(path)
    except BaseException:
        os.unlink(path)
        raise


def _new_name(path: str) -> str:
    parent = path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.join(parent, "budget.ledger")


def delete_files(path: str) -> None:
    for name in (path, path + _JOURNALS[0], mark_path(path)):
        # A name may be too long for the file system.
        with suppress(OSError):
            os.unlink(name)


def _create_empty(name: str, path: str) -> None:
    try:
        # SQLite gives its journal the mode of the ledger.
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise
    except OSError as error:
        raise LedgerError(
            f"ledger={path!r} can't be created: {error.strerror}; name a file in a folder that "
            "exists and can be written."
        ) from error


def _create_mark(path: str) -> None:
    for ending in _JOURNALS:
        if os.path.lexists(path + ending):
            raise LedgerError(
                f"ledger={path!r} can't be created: the file {path + ending!r} would be taken for "
                "a part of it, and deleted. Move it away, or name the ledger otherwise."
            )
    try:
        _create_empty(mark_path(path), path)
    except FileExistsError:
        mark = read_slots(path).mark
        count = f"; it says that {mark.sequence} entries had been recorded" if mark else ""
        raise LedgerError(
            f"ledger={path!r} is not there, but its mark {mark_path(path)!r} is{count}. A ledger "
            "that was deleted is no fresh budget: what was released from it stays spent. Put the "
            "ledger back (PrivacyAccountant.open with accept='moved' goes on with a copy that has "
            "all of its entries); for other data name another file. Only where nothing was ever "
            "released from it, delete the mark as well."
        ) from None


class TemporaryFile:
    """File of an unnamed ledger, deleted with the last handle of the process that made it."""

    def __init__(self) -> None:
        folder = _folder()
        self.path = os.path.join(folder.path, f"{next(_numbers)}.ledger")
        create_files(self.path)
        weakref.finalize(self, _delete, self.path, os.getpid())
        _temporary[self.path] = self


#: Handles that are unpickled in the process that made the file keep it alive too.
_temporary: weakref.WeakValueDictionary[str, TemporaryFile] = weakref.WeakValueDictionary()


def temporary_file(path: str) -> TemporaryFile | None:
    return _temporary.get(path)


def _delete(path: str, owner: int) -> None:
    # A forked child inherits the finalizer, but the ledger is its parent's.
    if os.getpid() == owner:
        delete_files(path)


_folders: list[PrivateFolder] = []
_numbers = itertools.count(1)


def _folder() -> PrivateFolder:
    parent = tempfile.gettempdir()
    if not _folders or not _folders[-1].is_usable(parent):
        _folders.append(PrivateFolder(parent))
    return _folders[-1]
