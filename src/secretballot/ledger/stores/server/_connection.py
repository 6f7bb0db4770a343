"""Connections to a PostgreSQL server, and transactions on them."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._waiting import PROCESS_LOCK, busy_timeout
from secretballot.ledger.stores.server._server_url import ServerUrl

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")

#: Seconds after which the server ends a session: unused, and in a transaction without a statement,
#: as of a computer that went to sleep.
_UNUSED, _SILENT = 60, 60
#: Seconds that a statement may take beside the wait for a lock.
STATEMENT_TIMEOUT = 30

#: Settings of the connection that the URL may set otherwise. A network that is gone is noticed.
_SETTINGS = {
    "fallback_application_name": "secretballot",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


def load_psycopg() -> ModuleType:
    """Import psycopg; the LedgerError names the extra that installs it."""
    try:
        import psycopg
    except ImportError as error:
        raise LedgerError(
            f"A ledger on a PostgreSQL server needs psycopg ({error}): "
            "install the extra `postgres` of this package."
        ) from None
    return psycopg


# One unused connection for each URL is kept for the next transaction, with the process that made
# it. Under `PROCESS_LOCK`.
_unused: dict[str, tuple[int, Connection]] = {}


def close_unused() -> None:
    """Close the unused connections of this process."""
    with PROCESS_LOCK:
        while _unused:
            _, (owner, connection) = _unused.popitem()
            if owner == os.getpid():
                connection.close()


atexit.register(close_unused)
if hasattr(os, "register_at_fork"):
    # A child would keep the parent's connection open after its death.
    os.register_at_fork(before=close_unused)


def transact(
    url: ServerUrl,
    act: Callable[[Connection], T],
    *,
    to_write: bool,
    commit: Callable[[Connection, T], None] | None = None,
) -> T:
    """Run a function in one transaction, and commit it; roll back on any exception.

    A reader sees one state of the ledger. A writer sees all that was committed before it locked the
    ledger, and waits until its commit is on the disk. `commit` is called to commit. Errors of
    psycopg are passed on.
    """
    with PROCESS_LOCK:
        connection = None
        try:
            connection = _begun(url, _beginning(to_write))
            answer = act(connection)
            if commit is None:
                connection.execute("COMMIT")
            else:
                commit(connection, answer)
        except BaseException as error:
            if connection is not None:
                _roll_back(url, connection, error)
            raise
        _put_back(url, connection)
        return answer


def _beginning(to_write: bool) -> str:
    """Build the statements that begin a transaction, sent at once."""
    lock, silent = max(1, int(1000 * busy_timeout())), 1000 * _SILENT
    settings = {
        "search_path": "pg_catalog",  # nobody else's functions and operators
        "lock_timeout": lock,
        "statement_timeout": lock + 1000 * STATEMENT_TIMEOUT,
        "idle_in_transaction_session_timeout": silent,
        "extra_float_digits": 1,  # numbers with all their digits
    }
    kind = "REPEATABLE READ READ ONLY"
    if to_write:
        kind = "READ COMMITTED READ WRITE"
        settings["synchronous_commit"] = "on"
    local = "; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items())
    return f"BEGIN ISOLATION LEVEL {kind}; {local}"


def _begun(url: ServerUrl, beginning: str) -> Connection:
    """Return a connection in a new transaction."""
    owner, connection = _unused.pop(url.conninfo, (0, None))
    if connection is not None and owner == os.getpid():
        try:
            connection.execute(beginning)
            return connection
        except load_psycopg().OperationalError:
            connection.close()  # the server ended it: nothing was asked yet
        except BaseException:
            connection.close()
            raise
    connection = _connected(url)
    try:
        if _has_own_session(connection):
            connection.execute(f"SET idle_session_timeout = {1000 * _UNUSED}")
        else:
            # The next transaction may be in another session, where a statement that was prepared
            # under the same name is somebody else's.
            connection.prepare_threshold = None
        connection.execute(beginning)
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(url: ServerUrl) -> Connection:
    settings = {name: value for name, value in _SETTINGS.items() if not url.has(name)}
    if not url.has("connect_timeout"):
        settings["connect_timeout"] = max(2, min(10, int(busy_timeout())))
    connection: Connection = load_psycopg().connect(
        url.conninfo, autocommit=True, client_encoding="UTF8", **settings
    )
    return connection


def _has_own_session(connection: Connection) -> bool:
    """Return False behind a pooler, such as PgBouncer: it names itself in place of the server."""
    row = connection.execute("SELECT pg_catalog.pg_backend_pid()").fetchone()
    return row == (connection.info.backend_pid,)


def _roll_back(url: ServerUrl, connection: Connection, error: BaseException) -> None:
    """End a transaction that failed; after an interrupt its connection is not used again."""
    with suppress(load_psycopg().Error):
        if isinstance(error, Exception) and not connection.closed:
            connection.execute("ROLLBACK")
            _put_back(url, connection)
            return
    connection.close()


def _put_back(url: ServerUrl, connection: Connection) -> None:
    """Keep a connection, unless there is one already: of a transaction within this one."""
    if connection.closed or url.conninfo in _unused:
        connection.close()
    else:
        _unused[url.conninfo] = (os.getpid(), connection)
