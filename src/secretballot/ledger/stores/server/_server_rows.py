"""Rows of a ledger on a PostgreSQL server."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._store import check_version

if TYPE_CHECKING:
    from psycopg import Connection

#: Facts of a ledger and its server. A copy made by dump has other numbers of cluster, database and
#: table, or of one of them.
_FACTS = """
    (SELECT version FROM secretballot.format),
    (SELECT system_identifier FROM pg_control_system()) || '@'
        || (SELECT oid FROM pg_database WHERE datname = current_database()) || '@'
        || 'secretballot.ledger'::regclass::oid,
    current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit')
"""
_HEAD = f"""
SELECT ledger.number, header.ledger_id, {_FACTS}
FROM secretballot.ledger JOIN secretballot.header ON header.ledger = ledger.number
WHERE ledger.name = %s
"""


class Head(NamedTuple):
    """Row of a ledger, which a writer has locked, and facts of the server."""

    number: int
    ledger_id: str
    version: int
    place: str
    fsync: str
    full_page_writes: str
    synchronous_commit: str

    @classmethod
    def read(cls, connection: Connection, ledger: str, *, to_write: bool) -> Head | None:
        """Read the row of a ledger, and lock it; None if there is none of that name."""
        row = connection.execute(_HEAD + "FOR UPDATE OF ledger" * to_write, (ledger,)).fetchone()
        return None if row is None else cls(*row)

    @classmethod
    def create(cls, connection: Connection, ledger: str) -> Head | None:
        """Insert the row of a new ledger; None if there is one of that name."""
        row = connection.execute(
            "INSERT INTO secretballot.ledger (name) VALUES (%s) ON CONFLICT DO NOTHING "
            f"RETURNING number, '', {_FACTS}",
            (ledger,),
        ).fetchone()
        return None if row is None else cls(*row)


class ServerRows:
    """Rows of one ledger on a server, in an open transaction."""

    def __init__(self, connection: Connection, head: Head, *, to_write: bool) -> None:
        self._connection, self._to_write = connection, to_write
        self._process = os.getpid()
        self.head = head

    def fetch(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows."""
        self.check_process()
        return self._connection.execute(_server_sql(query, self.head.number), parameters).fetchall()

    def insert(self, table: str, values: tuple[object, ...]) -> None:
        """Insert one row; LedgerError if the server did not write it."""
        self.check_process()
        places = ", ".join(["%s"] * (1 + len(values)))
        done = self._connection.execute(
            f"INSERT INTO secretballot.{table} VALUES ({places})", (self.head.number, *values)
        )
        if done.rowcount != 1:
            raise LedgerError(f"a row of the table {table!r} was not written. Nothing was released")

    def check_format(self) -> None:
        """Refuse tables of another format."""
        check_version(self.head.version)

    def check_spendable(self) -> None:
        """Refuse a server where a crash could lose a spend."""
        settings = {"fsync": self.head.fsync, "full_page_writes": self.head.full_page_writes}
        if self._to_write:
            settings["synchronous_commit"] = self.head.synchronous_commit
        for name, value in settings.items():
            if value != "on":
                raise LedgerError(
                    f"the server has {name} = {value}, and could lose a spend in a crash; set it "
                    "to on. Nothing was released"
                )

    def place(self) -> str:
        """Return the identities of the cluster, the database and the table."""
        return self.head.place

    def originals(self, recorded: str) -> list[str]:
        """Return nothing: where other servers are is not known."""
        return []

    def check_process(self) -> None:
        """Refuse a forked child that goes on with a transaction of its parent."""
        if os.getpid() != self._process:
            raise LedgerError(
                "The ledger can't be used in a forked process within a transaction of its parent. "
                "Nothing was released."
            )


@lru_cache(maxsize=1024)
def _server_sql(query: str, number: int) -> str:
    """Restrict tables in braces to the rows of a ledger, and write parameters as psycopg does."""

    def rows_of(table: re.Match[str]) -> str:
        columns = table[2] or "*"
        source = f"secretballot.{table[1]} WHERE ledger = {number:d}"
        return f"(SELECT {columns} FROM {source}) AS {table[1]}"

    return re.sub(r"\{(\w+)(?:\(([^)]*)\))?\}", rows_of, query).replace("?", "%s")
