"""The tables of a ledger file, and that nothing else is in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache
from typing import Any

from secretballot._errors import LedgerError

#: In the header of the file; it tells a ledger from any other SQLite database ("SBLG").
APPLICATION_ID = 0x53424C47
FORMAT_VERSION = 5
#: What is said of a file without that number.
NO_LEDGER = (
    "it is not a ledger of secretballot (an empty file is one whose creation was interrupted: "
    "delete it and its mark)"
)

# Format 2.
_BASE_TABLES = """
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
"""
# Format 3: a curve is kept once, and charges hold its number. (In a table without row numbers one
# of 1,200 bytes would take a page of its own.)
_TOTAL_TABLES = """
CREATE TABLE curve (
    number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, value BLOB NOT NULL
);
CREATE TABLE checkpoint (
    sequence INTEGER PRIMARY KEY REFERENCES entry (sequence), n_releases INTEGER NOT NULL,
    n_rows INTEGER NOT NULL, place TEXT, digest TEXT NOT NULL
);
CREATE TABLE total (
    sequence INTEGER NOT NULL REFERENCES checkpoint (sequence), scope_id TEXT NOT NULL,
    level TEXT NOT NULL, member TEXT NOT NULL, delta REAL NOT NULL, curve INTEGER NOT NULL,
    scope_epsilon, PRIMARY KEY (sequence, scope_id, level, member)
) WITHOUT ROWID;
"""
# Format 4.
_RESERVATION_TABLE = """
CREATE TABLE reservation (
    sequence INTEGER PRIMARY KEY REFERENCES entry (sequence), id TEXT NOT NULL,
    event TEXT NOT NULL, state TEXT NOT NULL
);
"""
# Format 5: what the votes tell about an entry, for the owner only. It is no part of the entry, of
# the chain or of anything that is shown or exported: it has so little entropy that a digest of it
# in the chain, which everybody may see, would be a way to try out guesses. So nothing tells if its
# text was altered.
_PRIVATE_TABLE = """
CREATE TABLE private_record (
    sequence INTEGER PRIMARY KEY REFERENCES entry (sequence), content TEXT NOT NULL
);
"""


def _append_only(*tables: str) -> str:
    return "".join(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;\n"
        for table in tables
        for verb in ("UPDATE", "DELETE")
    )


#: What each format adds to the one before: tables, and what belongs to them.
_ADDED = {
    2: (_BASE_TABLES, _append_only("header", "level", "entry", "charge")),
    3: (
        _TOTAL_TABLES,
        "CREATE INDEX total_of_scope ON total (scope_id, sequence);\n"
        + _append_only("curve", "checkpoint", "total"),
    ),
    4: (
        _RESERVATION_TABLE,
        "CREATE INDEX reservation_of ON reservation (id, sequence);\n"
        + _append_only("reservation"),
    ),
    5: (_PRIVATE_TABLE, _append_only("private_record")),
}


def schema(version: int = FORMAT_VERSION, after: int = 0) -> str:
    """Return what a format holds, or what it holds more than an earlier one."""
    return "".join("".join(_ADDED[each]) for each in _ADDED if after < each <= version)


def execute_all(opened: sqlite3.Connection, script: str) -> None:
    """Run statements in the transaction that is open (`executescript` would commit first)."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            opened.execute(statement)
            statement = ""


def insert_row(opened: sqlite3.Connection, table: str, values: tuple[Any, ...]) -> int:
    """Insert one row and return its number; LedgerError if it is not there then."""
    places = ", ".join("?" * len(values))
    done = opened.execute(f"INSERT INTO {table} VALUES ({places})", values)
    if done.rowcount != 1:
        raise LedgerError(f"a row of the table {table!r} was not written. Nothing was released")
    return int(done.lastrowid or 0)


def mark_as_ledger(opened: sqlite3.Connection) -> None:
    """Write what tells a ledger of this format."""
    opened.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    opened.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def check_schema(opened: sqlite3.Connection, *, upgrade: bool) -> None:
    """Refuse a file that is no ledger, or that holds more than one: none of its SQL may run.

    A file of an earlier format is given the newer tables: in the file with `upgrade`, else empty
    ones that last as long as the connection.
    """
    if _pragma(opened, "application_id") != APPLICATION_ID:
        raise LedgerError(NO_LEDGER)
    version = _pragma(opened, "user_version")
    if version not in _ADDED:
        raise LedgerError(
            f"it has format {version}, and this version of secretballot reads the formats "
            f"{min(_ADDED)} to {FORMAT_VERSION}; use the version that wrote it"
        )
    found, expected = _objects(opened), _expected(version)
    for kind, name, _ in sorted(found - expected):
        raise LedgerError(
            f"it holds a {kind} {name!r} that secretballot did not make, and nothing of it was "
            "run; restore it from a copy"
        )
    for kind, name, _ in sorted(expected - found):
        raise LedgerError(f"its {kind} {name!r} is missing; restore it from a copy")
    if version < FORMAT_VERSION:
        if upgrade:
            execute_all(opened, schema(after=version))
            mark_as_ledger(opened)
        else:
            newer = "".join(_ADDED[each][0] for each in _ADDED if each > version)
            execute_all(opened, newer.replace("CREATE TABLE", "CREATE TEMP TABLE"))


def _pragma(opened: sqlite3.Connection, name: str) -> int:
    return int(opened.execute(f"PRAGMA {name}").fetchone()[0])


def _objects(opened: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    # SQLite's own indexes have no text.
    return frozenset(
        opened.execute(
            "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
    )


@lru_cache(maxsize=4)
def _expected(version: int) -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as opened:
        execute_all(opened, schema(version))
        return _objects(opened)
