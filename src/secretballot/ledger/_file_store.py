"""Store of a ledger in a SQLite file: its tables, and its rows in transactions."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any, TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger._file import (
    TemporaryFile,
    check_name,
    check_not_foreign,
    create_files,
    delete_files,
    holding,
    mark_path,
    no_ledger,
    read_slots,
    readable,
    temporary_file,
    transact,
)
from secretballot.ledger._mark import HeldMark, Mark, Slots
from secretballot.ledger._place import (
    check_file_system,
    check_spendable,
    files_at,
    place_of,
)
from secretballot.ledger._store import (
    APPLICATION_ID,
    FORMAT_VERSION,
    Rows,
    Written,
    check_version,
    meaning,
)

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


def execute_all(opened: sqlite3.Connection, script: str) -> None:
    """Run statements in the open transaction (`executescript` would commit it)."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            opened.execute(statement)
            statement = ""


def insert_row(opened: sqlite3.Connection, table: str, values: tuple[object, ...]) -> None:
    """Insert one row; LedgerError if the database did not write it."""
    places = ", ".join("?" * len(values))
    done = opened.execute(f"INSERT INTO {table} VALUES ({places})", values)
    if done.rowcount != 1:
        raise LedgerError(f"a row of the table {table!r} was not written. Nothing was released")


def check_schema(opened: sqlite3.Connection, path: str) -> None:
    """Refuse a file of another program or format, or with foreign SQL, before any of it can run."""
    if _pragma(opened, "application_id") != APPLICATION_ID:
        raise LedgerError(no_ledger(path, is_empty=not _pragma(opened, "page_count")))
    check_version(_pragma(opened, "user_version"))
    objects, expected = _objects(opened), _expected_objects()
    for kind, name, _ in sorted(objects - expected):
        raise LedgerError(
            f"it holds a {kind} {name!r} that secretballot did not make, and nothing of it was "
            "run; restore it from a copy"
        )
    for kind, name, _ in sorted(expected - objects):
        raise LedgerError(f"its {kind} {name!r} is missing; restore it from a copy")


def _pragma(opened: sqlite3.Connection, name: str) -> int:
    return int(opened.execute(f"PRAGMA {name}").fetchone()[0])


def _objects(opened: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    # SQLite's own indexes have no text.
    query = "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL"
    return frozenset(opened.execute(query).fetchall())


@lru_cache(maxsize=1)
def _expected_objects() -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as opened:
        execute_all(opened, SCHEMA)
        return _objects(opened)


T = TypeVar("T")


class FileRows:
    """Rows of a ledger file in an open transaction."""

    def __init__(self, path: str, opened: sqlite3.Connection) -> None:
        self._path, self._opened = path, opened

    def fetch(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._opened.execute(_plain_sql(query), parameters).fetchall()

    def insert(self, table: str, values: tuple[object, ...]) -> None:
        insert_row(self._opened, table, values)

    def check_format(self) -> None:
        check_schema(self._opened, self._path)

    def check_spendable(self) -> None:
        check_spendable(self._path)

    def place(self) -> str:
        return place_of(self._path)

    def originals(self, recorded: str) -> list[str]:
        return files_at(recorded, self._path)


class FileStore:
    """Ledger in a file, which is locked by the mark beside it."""

    without_mark = "The mark that belongs beside this ledger is missing or damaged"

    def __init__(self, path: str, is_temporary: bool = False) -> None:
        self.name = path
        # Held for its lifetime: in the process that made it, the file goes with its last handle.
        self._temporary = temporary_file(path)
        self.is_temporary = is_temporary or self._temporary is not None

    @classmethod
    def temporary(cls) -> FileStore:
        """Make a private file, deleted with this process's last handle."""
        file = TemporaryFile()  # the local name keeps it alive until the store does
        return cls(file.path)

    def create(self, fill: Callable[[Rows], Mark]) -> None:
        """Write a new ledger to a new file, or to an empty temporary one."""
        if self._temporary is not None:
            self._fill(fill)
            return
        check_name(self.name)
        create_files(self.name)
        try:
            self._fill(fill)
        except BaseException:
            delete_files(self.name)
            raise

    def _fill(self, fill: Callable[[Rows], Mark]) -> None:
        def write(opened: sqlite3.Connection) -> Mark:
            execute_all(opened, SCHEMA)
            mark = fill(FileRows(self.name, opened))
            opened.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            opened.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            return mark

        def write_held(held: HeldMark) -> None:
            held.advance(self._commit(write), everywhere=True)

        with meaning(self):
            check_file_system(self.name, os.stat(self.name).st_dev)
        holding(self.name, write_held)

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
            if not any(map(os.path.exists, (mark_path(path), f"{path}-journal"))):
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

    def write(self, act: Callable[[Rows, Mark | None], Written[T]]) -> Written[T]:
        """Run a function with the lock of the mark, and the mark; then commit and advance it."""

        def write_held(held: HeldMark) -> Written[T]:
            written = self._commit(lambda opened: act(FileRows(self.name, opened), held.mark))
            held.advance(written.mark, everywhere=written.is_moved)
            return written

        check_not_foreign(self.name)
        return holding(self.name, write_held)

    def _commit(self, act: Callable[[sqlite3.Connection], T]) -> T:
        # A temporary file is gone after a power failure, so that nobody could read what it lost.
        return transact(self.name, act, to="write", is_durable=not self.is_temporary)

    def slots(self) -> Slots:
        return read_slots(self.name)

    def mark_path(self) -> str:
        return mark_path(self.name)

    def readable(self, error: Exception) -> LedgerError:
        return readable(error, self.name)


@lru_cache(maxsize=256)
def _plain_sql(query: str) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", r"\1", query)
