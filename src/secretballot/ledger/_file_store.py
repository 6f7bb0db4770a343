"""Store of a ledger in a SQLite file: transactions, creation and deletion, tables and rows."""

from __future__ import annotations

import errno
import itertools
import os
import re
import sqlite3
import stat
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any, Literal, TypeVar

from secretballot._base._errors import LedgerError
from secretballot._base._files import PrivateFolder
from secretballot.ledger._guard import (
    PROCESS_LOCK,
    HeldMark,
    Mark,
    Slots,
    busy_timeout,
    check_file_system,
    files_at,
    holding_mark,
    opened_mark,
    place_of,
    read_mark,
)
from secretballot.ledger._store import (
    APPLICATION_ID,
    FORMAT_VERSION,
    Rows,
    Written,
    meaning,
    wrong_format,
)

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


#: Ending of the name of a mark.
_MARK = ".mark"


def read_slots(path: str) -> Slots:
    """Read the slots of a mark without its lock; empty slots if there is no mark."""
    return read_mark(path + _MARK)


def no_ledger(path: str, *, is_empty: bool) -> str:
    """Explain why a file is no ledger: if it is empty, by what its mark says of it."""
    if not is_empty:
        return "it is not a ledger of secretballot"
    slots = read_slots(path)
    if slots.mark is not None and slots.mark.sequence:
        return (
            f"it was emptied, and its mark {path + _MARK!r} says that {slots.mark.sequence} "
            "entries had been recorded; restore it from a copy"
        )
    if not slots.is_mark or slots.n_broken:
        return (
            f"it is empty, and its mark {path + _MARK!r}, which would say how many entries had "
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
        return opened_mark(path + _MARK, os.O_RDWR | create, ledger.st_mode & 0o066 | 0o600)

    def explain(error: OSError) -> LedgerError:
        is_error_of_system = error.errno is not None or isinstance(error, TimeoutError)
        if is_error_of_system or not os.path.exists(path):
            return readable(error, path)
        return LedgerError(
            f"The ledger {path!r} can't be written to: {path + _MARK!r}, the place of its mark, "
            f"is not written over: {error}. Move that away, or name the ledger otherwise. Nothing "
            "was released"
        )

    return holding_mark(path + _MARK, open_file, act, explain)


_MAGIC = b"SQLite format 3\0"
#: Field in the header of a database.
_APPLICATION = slice(68, 72)
#: Endings of files that SQLite opens beside a database.
_BESIDE = ("-journal", "-wal")


def check_not_foreign(path: str) -> None:
    """Refuse a file that is no ledger, and pipes or devices in its place or beside it.

    To open a pipe would wait for its writer. SQLite would roll back the unfinished write of another
    program, and this library would make a mark beside its file.
    """
    for ending in _BESIDE:
        name = path + ending
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
    """Check the application's number in the header; an empty file with a mark is being made."""
    # Closing any descriptor of a file ends all POSIX locks that the process has on it.
    with PROCESS_LOCK, open(path, "rb", buffering=0) as file:
        header = file.read(_APPLICATION.stop)
    if not header:
        return os.path.lexists(path + _MARK)
    number = APPLICATION_ID.to_bytes(4, "big")
    return header.startswith(_MAGIC) and header[_APPLICATION] == number


def _is_irregular(name: str, *, follow_symlinks: bool = True) -> bool:
    # One call: a writer deletes its journal at any time.
    try:
        return not stat.S_ISREG(os.stat(name, follow_symlinks=follow_symlinks).st_mode)
    except OSError:
        return False


#: Endings of files that SQLite takes for a database's own, and deletes.
_JOURNALS = ("-journal", "-wal", "-shm")


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
        for ending in _JOURNALS:
            if os.path.lexists(path + ending):
                raise LedgerError(
                    f"ledger={path!r} can't be created: the file {path + ending!r} would be taken "
                    "for a part of it, and deleted. Move it away, or name the ledger otherwise."
                )
        _create_empty(path + _MARK, path)
    except BaseException as error:
        os.unlink(path)
        if not isinstance(error, FileExistsError):
            raise
        mark = read_slots(path).mark
        count = f"; it says that {mark.sequence} entries had been recorded" if mark else ""
        raise LedgerError(
            f"ledger={path!r} is not there, but its mark {path + _MARK!r} is{count}. A ledger "
            "that was deleted is no fresh budget: what was released from it stays spent. Put the "
            "ledger back (PrivacyAccountant.open with accept='moved' goes on with a copy that has "
            "all of its entries); for other data name another file. Only where nothing was ever "
            "released from it, delete the mark as well."
        ) from None


def _new_name(path: str) -> str:
    parent = path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.join(parent, "budget.ledger")


def delete_files(path: str, owner: int | None = None) -> None:
    """Delete the files of a ledger, with `owner` only in the process of that number."""
    if owner is not None and os.getpid() != owner:
        return
    for name in (path, path + _JOURNALS[0], path + _MARK):
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


#: The format is specified in `docs/theory/ledger-format.md`. A curve of 1,200 bytes is stored once:
#: in a table without row numbers each copy would take a page of its own.
_TABLES = """
CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1), ledger_id TEXT NOT NULL, created TEXT NOT NULL,
    library_version TEXT NOT NULL, place TEXT NOT NULL, unit TEXT NOT NULL, relation TEXT NOT NULL,
    accounting TEXT NOT NULL, allow_seeded INTEGER NOT NULL, orders BLOB NOT NULL,
    digest TEXT NOT NULL
);
CREATE TABLE level (
    position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epsilon REAL NOT NULL,
    delta REAL NOT NULL, approximation_delta REAL NOT NULL, gate_order NOT NULL,
    amount REAL NOT NULL
);
CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY, time TEXT NOT NULL, mechanism TEXT NOT NULL,
    n_rows INTEGER NOT NULL, scope_id TEXT, scope_epsilon, seeded INTEGER NOT NULL,
    note TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE curve (
    number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, value BLOB NOT NULL
);
CREATE TABLE charge (
    sequence INTEGER NOT NULL REFERENCES entry (sequence), level TEXT NOT NULL,
    member TEXT NOT NULL, delta REAL NOT NULL, curve INTEGER NOT NULL REFERENCES curve (number),
    PRIMARY KEY (sequence, level, member)
) WITHOUT ROWID;
CREATE TABLE reservation (
    sequence INTEGER PRIMARY KEY REFERENCES entry (sequence), id TEXT NOT NULL,
    event TEXT NOT NULL, state TEXT NOT NULL
);
CREATE TABLE checkpoint (
    sequence INTEGER PRIMARY KEY REFERENCES entry (sequence), n_releases INTEGER NOT NULL,
    n_rows INTEGER NOT NULL, place TEXT, digest TEXT NOT NULL
);
CREATE TABLE total (
    sequence INTEGER NOT NULL REFERENCES checkpoint (sequence), scope_id TEXT NOT NULL,
    level TEXT NOT NULL, member TEXT NOT NULL, delta REAL NOT NULL,
    curve INTEGER NOT NULL REFERENCES curve (number), scope_epsilon,
    PRIMARY KEY (sequence, scope_id, level, member)
) WITHOUT ROWID;
CREATE TABLE child (
    sequence INTEGER PRIMARY KEY REFERENCES entry (sequence), path TEXT NOT NULL,
    event TEXT NOT NULL, given TEXT NOT NULL
);
CREATE TABLE child_total (
    sequence INTEGER NOT NULL REFERENCES checkpoint (sequence), path TEXT NOT NULL,
    n_releases INTEGER NOT NULL, n_rows INTEGER NOT NULL, PRIMARY KEY (sequence, path)
) WITHOUT ROWID;
CREATE TABLE private_record (
    sequence INTEGER PRIMARY KEY REFERENCES entry (sequence), content TEXT NOT NULL
);
CREATE INDEX total_of_scope ON total (scope_id, sequence);
CREATE INDEX reservation_of ON reservation (id, sequence);
CREATE INDEX child_events ON child (sequence) WHERE event <> 'spend';
"""
_TABLE_NAMES = re.findall(r"CREATE TABLE (\w+)", _TABLES)
SCHEMA = _TABLES + "".join(
    f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;\n"
    for table in _TABLE_NAMES
    for verb in ("UPDATE", "DELETE")
)


def insert_row(opened: sqlite3.Connection, table: str, values: tuple[object, ...]) -> None:
    """Insert one row; LedgerError if the database did not write it."""
    places = ", ".join("?" * len(values))
    done = opened.execute(f"INSERT INTO {table} VALUES ({places})", values)
    if done.rowcount != 1:
        raise LedgerError(f"a row of the table {table!r} was not written. Nothing was released")


#: All objects of a database but SQLite's own indexes, which have no text.
_OBJECTS = "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL"


@lru_cache(maxsize=1)
def _expected_objects() -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.executescript(SCHEMA)
        return frozenset(opened.execute(_OBJECTS).fetchall())


class FileRows:
    """Rows of a ledger file in an open transaction."""

    def __init__(self, path: str, opened: sqlite3.Connection) -> None:
        self._path, self.opened = path, opened

    def fetch(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.opened.execute(_plain_sql(query), parameters).fetchall()

    def insert(self, table: str, values: tuple[object, ...]) -> None:
        insert_row(self.opened, table, values)

    def check_format(self) -> None:
        """Refuse a file of another program or format, or with foreign SQL, before it can run."""
        opened = self.opened
        ((application,),) = opened.execute("PRAGMA application_id").fetchall()
        if application != APPLICATION_ID:
            ((n_pages,),) = opened.execute("PRAGMA page_count").fetchall()
            raise LedgerError(no_ledger(self._path, is_empty=not n_pages))
        ((version,),) = opened.execute("PRAGMA user_version").fetchall()
        if version != FORMAT_VERSION:
            raise wrong_format(version)
        objects = frozenset(opened.execute(_OBJECTS).fetchall())
        expected = _expected_objects()
        for kind, name, _ in sorted(objects - expected):
            raise LedgerError(
                f"it holds a {kind} {name!r} that secretballot did not make, and nothing of it was "
                "run; restore it from a copy"
            )
        for kind, name, _ in sorted(expected - objects):
            raise LedgerError(f"its {kind} {name!r} is missing; restore it from a copy")

    def check_spendable(self) -> None:
        """Refuse a place where two machines could spend at once, or a crash could lose a spend."""
        status = os.stat(self._path)
        check_file_system(self._path, status.st_dev)
        if status.st_nlink > 1:
            raise LedgerError(
                f"it has {status.st_nlink} names (hard links), and an interrupted write would be "
                "found under one of them only; keep one name"
            )

    def place(self) -> str:
        return place_of(self._path)

    def originals(self, recorded: str) -> list[str]:
        return files_at(recorded, self._path)


class TemporaryFile:
    """Owner of an unnamed ledger's file, which is deleted with it in the process that made it."""


#: Owners by path: handles that are unpickled in the process that made the file keep it alive too.
_temporary: weakref.WeakValueDictionary[str, TemporaryFile] = weakref.WeakValueDictionary()

_folders: list[PrivateFolder] = []
_numbers = itertools.count(1)


class FileStore:
    """Ledger in a file, which is locked by the mark beside it."""

    without_mark = "The mark that belongs beside this ledger is missing or damaged"

    def __init__(self, path: str, is_temporary: bool = False) -> None:
        self.name = path
        # A reference that keeps the file: it is deleted with its last handle in this process.
        self._temporary = _temporary.get(path)
        self.is_temporary = is_temporary or self._temporary is not None

    @classmethod
    def temporary(cls) -> FileStore:
        """Make a private file, deleted with this process's last handle."""
        parent = tempfile.gettempdir()
        folder = _folders[-1] if _folders else None
        if (
            folder is None
            or folder.parent != parent
            or folder.owner != os.getpid()  # of a parent process
            or not os.path.isdir(folder.path)
        ):
            folder = PrivateFolder(parent)
            _folders.append(folder)
        path = os.path.join(folder.path, f"{next(_numbers)}.ledger")
        file = TemporaryFile()  # this name keeps it alive until the store does
        create_files(path)
        # A forked child inherits the finalizer, but the ledger is its parent's.
        weakref.finalize(file, delete_files, path, os.getpid())
        _temporary[path] = file
        return cls(path)

    def create(self, fill: Callable[[Rows], Mark]) -> None:
        """Write a new ledger to a new file, or to an empty temporary one."""

        def write(rows: FileRows, _: Mark | None) -> Written[None]:
            # Within the open transaction, which `executescript` would commit.
            statement = ""
            for line in SCHEMA.splitlines():
                statement += line + "\n"
                if sqlite3.complete_statement(statement):
                    rows.opened.execute(statement)
                    statement = ""
            mark = fill(rows)
            rows.opened.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            rows.opened.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            return Written(None, mark, is_moved=True)

        if self._temporary is None:
            check_name(self.name)
            create_files(self.name)
        try:
            with meaning(self):
                check_file_system(self.name, os.stat(self.name).st_dev)
            self.write(write)
        except BaseException:
            if self._temporary is None:
                delete_files(self.name)
            raise

    def read(self, query: Callable[[Rows], T]) -> T:
        """Run a query in a short transaction, so that writers wait for milliseconds.

        An error is checked again under the lock of the mark: SQLite's locks of a writer may have
        been lost, or a killed writer's transaction has to be rolled back.
        """
        path = self.name

        def run_query(opened: sqlite3.Connection) -> T:
            return query(FileRows(path, opened))

        check_not_foreign(path)
        try:
            return transact(path, run_query, to="read")
        except LedgerError as error:
            if not any(map(os.path.exists, (path + _MARK, f"{path}-journal"))):
                raise  # there is no writer
            message = str(error)
        is_held = False

        def again(held: HeldMark) -> T:
            nonlocal is_held
            is_held = True
            return transact(path, run_query, to="recover")

        try:
            return holding(path, again)
        except LedgerError:
            if is_held:
                raise
            raise LedgerError(message) from None

    def write(self, act: Callable[[FileRows, Mark | None], Written[T]]) -> Written[T]:
        """Run a function with the lock of the mark, and the mark; then commit and advance it."""

        def write_held(held: HeldMark) -> Written[T]:
            written = transact(
                self.name,
                lambda opened: act(FileRows(self.name, opened), held.mark),
                to="write",
                # A temporary file is gone after a power failure: nobody could read what it lost.
                is_durable=not self.is_temporary,
            )
            held.advance(written.mark, everywhere=written.is_moved)
            return written

        check_not_foreign(self.name)
        return holding(self.name, write_held)

    def slots(self) -> Slots:
        return read_slots(self.name)

    def mark_path(self) -> str:
        return self.name + _MARK

    def readable(self, error: Exception) -> LedgerError:
        return readable(error, self.name)


@lru_cache(maxsize=256)
def _plain_sql(query: str) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", r"\1", query)
