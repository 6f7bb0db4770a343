"""Tables of a ledger file, and the check that it holds nothing else."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import lru_cache

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._store import FORMAT_VERSION, check_version
from secretballot.ledger.stores.file._mark import no_ledger

#: In the header of the file; it tells a ledger from any other SQLite database ("SBLG").
APPLICATION_ID = 0x53424C47

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


def mark_as_ledger(opened: sqlite3.Connection) -> None:
    """Write the numbers that identify a ledger of this format."""
    opened.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    opened.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


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
