"""Store of a ledger on a PostgreSQL server, with its mark on the spender's machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._slots import Mark, Slots, parse_slots
from secretballot.ledger.stores._store import Rows, Written, meaning
from secretballot.ledger.stores._waiting import busy_timeout
from secretballot.ledger.stores.server._connection import STATEMENT_TIMEOUT, load_psycopg, transact
from secretballot.ledger.stores.server._failures import readable
from secretballot.ledger.stores.server._scripts import schema_script
from secretballot.ledger.stores.server._seen_mark import SeenMark
from secretballot.ledger.stores.server._server_rows import Head, ServerRows
from secretballot.ledger.stores.server._server_url import ServerUrl

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.errors import Diagnostic

T = TypeVar("T")

#: Lock under which ledgers are made: two creations of the tables at once would collide.
_LOCK_CREATION = f"SELECT pg_advisory_xact_lock({0x53424C47})"


class ServerStore:
    """Ledger on a server. The row of the ledger is locked before anything is read to be spent.

    No transaction is repeated, so that no noise is drawn twice for one release.
    """

    is_temporary = False
    without_mark = "This machine has not used this ledger before, or its mark is missing or damaged"

    def __init__(self, url: str) -> None:
        self._url = ServerUrl.parse(url)
        self.name = self._url.name

    def create(self, fill: Callable[[Rows], Mark]) -> None:
        """Make a ledger, and the tables if the database has none."""

        def record(connection: Connection) -> tuple[Written[None], SeenMark]:
            connection.execute(_LOCK_CREATION)
            _check_encoding(connection)
            if not _has_tables(connection):
                connection.execute(schema_script())
            head = Head.create(connection, self._url.ledger)
            if head is None:
                raise LedgerError(
                    f"ledger={self.name!r} exists already; PrivacyAccountant.open({self.name!r}) "
                    "continues its budget. (A second budget for the same data would add to the "
                    "first: name another ledger only for other data.)"
                )
            rows = ServerRows(connection, head, to_write=True)
            with meaning(self):
                rows.check_format()
                rows.check_spendable()
            mark = fill(rows)
            with meaning(self):
                seen = SeenMark(mark.ledger_id, head.place)
                seen.writable()
            return Written(None, mark), seen

        self._recorded(record)

    def read(self, query: Callable[[Rows], T]) -> T:
        """Run a query on one state of the ledger; once more if the connection is lost."""

        def ask(connection: Connection) -> T:
            return query(self._rows(connection, to_write=False))

        psycopg = load_psycopg()
        for _ in range(2):
            try:
                return transact(self._url, ask, to_write=False)
            except psycopg.Error as error:
                refusal = self.readable(error)
                if not _is_lost(error):
                    break
        # Not within `except`: errors of psycopg have the password among their attributes.
        raise refusal

    def write(self, act: Callable[[Rows, Mark | None], Written[T]]) -> Written[T]:
        """Run a function with the lock of the ledger's row, and the mark; then commit."""

        def record(connection: Connection) -> tuple[Written[T], SeenMark]:
            rows = self._rows(connection, to_write=True)
            with meaning(self):
                seen = _seen_mark(rows)
                mark = seen.writable() or _slots_before(rows).mark
            written = act(rows, mark)
            rows.check_process()
            return written, seen

        return self._recorded(record)

    def slots(self) -> Slots:
        """Read the mark without its lock; without one, that of the place before."""

        def ask(rows: Rows) -> Slots:
            with meaning(self):
                slots = _seen_mark(rows).slots()
                return slots if slots.mark or slots.n_broken else _slots_before(rows)

        return self.read(ask)

    def mark_path(self) -> str:
        """Return the path of the mark."""

        def ask(rows: Rows) -> str:
            with meaning(self):
                return _seen_mark(rows).path

        return self.read(ask)

    def readable(self, error: Exception) -> LedgerError:
        """Convert an error of the server, or of the mark, to one that names a remedy."""
        return readable(error, self._url)

    def _recorded(self, record: Callable[[Connection], tuple[Written[T], SeenMark]]) -> Written[T]:
        """Write in one transaction, and advance the mark."""

        def commit(connection: Connection, recorded: tuple[Written[T], SeenMark]) -> None:
            self._commit(connection, recorded[0])

        refusal = None
        try:
            written, seen = transact(self._url, record, to_write=True, commit=commit)
        except load_psycopg().Error as error:
            refusal = self.readable(error)
        if refusal is not None:
            raise refusal  # without the error of psycopg, as above
        seen.advance(written.mark, everywhere=written.is_moved)
        return written

    def _rows(self, connection: Connection, *, to_write: bool) -> ServerRows:
        """Return the rows of the ledger, locked if they are to be written."""
        head = Head.read(connection, self._url.ledger, to_write=to_write)
        if head is None:
            raise LedgerError(
                f"The ledger {self.name!r} does not exist (any more): its database has no ledger "
                f"{self._url.ledger!r}. A ledger that is gone is never replaced by a new budget."
            )
        return ServerRows(connection, head, to_write=to_write)

    def _commit(self, connection: Connection, written: Written[T]) -> None:
        """Commit; where the reply is lost, find out if the last entry was recorded."""
        psycopg = load_psycopg()
        warnings: list[str] = []

        def notice(diagnosis: Diagnostic) -> None:
            if diagnosis.severity_nonlocalized == "WARNING":
                warnings.append(diagnosis.message_primary or "")

        connection.add_notice_handler(notice)
        # The server sets no limit to the wait for a standby: a cancelled one is a warning.
        patience = threading.Timer(busy_timeout() + STATEMENT_TIMEOUT, connection.cancel)
        patience.daemon = True
        patience.start()
        lost = None
        try:
            done = connection.execute("COMMIT")
        except psycopg.Error as error:
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                raise  # the server has said that it rolled back
            connection.close()
            lost = error
        finally:
            patience.cancel()
            connection.remove_notice_handler(notice)
        if lost is not None:
            self._check_recorded(written.mark, lost)
            return
        if done.statusmessage != "COMMIT":
            raise LedgerError(
                f"The ledger {self.name!r} was not written: the server rolled the transaction "
                "back. Nothing was released."
            )
        if warnings:
            raise self._withheld(
                written.mark, "was committed, but not safely on all servers", warnings[0]
            )

    def _check_recorded(self, mark: Mark, lost: Exception) -> None:
        """Look an entry up whose commit had no reply; LedgerError unless it is there.

        The ledger's row is locked anew, so that the commit is done or will never be.
        """

        def is_recorded(connection: Connection) -> bool:
            if not mark.sequence:
                connection.execute(_LOCK_CREATION)  # there may be no row yet
            head = Head.read(connection, self._url.ledger, to_write=True)
            if head is None:
                return False
            rows = ServerRows(connection, head, to_write=True)
            if mark.sequence:
                query = "SELECT digest FROM {entry} WHERE sequence = ?"
                return rows.fetch(query, (mark.sequence,)) == [(mark.digest,)]
            return rows.fetch("SELECT digest FROM {header}") == [(mark.digest,)]

        psycopg = load_psycopg()
        deadline, pause = time.monotonic() + busy_timeout(), 0.05
        while True:
            try:
                was_committed = transact(self._url, is_recorded, to_write=True)
                break
            except psycopg.Error as error:
                failure = error
            if not _is_lost(failure) or time.monotonic() > deadline:
                reason = "was being committed when the connection was lost, and the server "
                raise self._withheld(mark, f"{reason}can't be asked about it", failure)
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        if not was_committed:
            raise LedgerError(
                f"The ledger {self.name!r} lost its connection while entry {mark.sequence} was "
                "being committed, and that entry is not in it. Nothing was released or charged. "
                f"({self._shown(lost)})"
            )

    def _withheld(self, mark: Mark, what: str, error: Exception | str) -> LedgerError:
        return LedgerError(
            f"The ledger {self.name!r}: entry {mark.sequence} {what}. What was drawn is withheld. "
            "Count it as charged: it was paid for if the ledger has an entry with the digest "
            f"{mark.digest}. ({self._shown(error)})"
        )

    def _shown(self, error: Exception | str) -> str:
        return self._url.redacted(next(iter(str(error).splitlines()), ""))

    def __reduce__(self) -> tuple[type[ServerStore], tuple[str]]:
        return ServerStore, (self.name,)


def _seen_mark(rows: Rows) -> SeenMark:
    """Return the mark of the ledger in the place where it is now."""
    assert isinstance(rows, ServerRows)
    return SeenMark(rows.head.ledger_id, rows.head.place)


def _slots_before(rows: Rows) -> Slots:
    """Read the mark of the last place before this one that the machine has seen the ledger in."""
    assert isinstance(rows, ServerRows)
    moves = "SELECT mechanism FROM {entry} WHERE mechanism LIKE ? ORDER BY sequence DESC"
    recorded = [_place(text) for (text,) in rows.fetch(moves, ('{"event": "moved"%',))]
    recorded += [place for (place,) in rows.fetch("SELECT place FROM {header}")]
    for place in filter(None, recorded):
        slots = SeenMark(rows.head.ledger_id, place).slots()
        if slots.mark:
            return slots
    return parse_slots(b"")


def _place(mechanism: str) -> str:
    """Return the place of a move; "" for what no move is, which readers of entries refuse."""
    with suppress(AttributeError, LookupError, RecursionError, ValueError):
        place = json.loads(mechanism).get("place")
        place.encode()
        return str(place)
    return ""


def _is_lost(error: Exception) -> bool:
    """Return True if the connection was lost, or can't be made yet."""
    state = getattr(error, "sqlstate", None)
    return isinstance(error, load_psycopg().OperationalError) and (
        state is None or state.startswith(("08", "57P"))
    )


def _has_tables(connection: Connection) -> bool:
    row = connection.execute("SELECT to_regclass('secretballot.format') IS NOT NULL").fetchone()
    return bool(row and row[0])


def _check_encoding(connection: Connection) -> None:
    row = connection.execute("SHOW server_encoding").fetchone()
    if row != ("UTF8",):
        raise LedgerError(
            f"the database has the encoding {row and row[0]}, and ledgers hold any text: make a "
            "database with ENCODING 'UTF8'."
        )
