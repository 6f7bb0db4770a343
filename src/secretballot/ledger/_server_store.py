"""Store of a ledger on a PostgreSQL server, with a mark on each machine that spends from it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger._guard import (
    HeldMark,
    Mark,
    Slots,
    busy_timeout,
    holding_mark,
    opened_mark,
    parse_slots,
    read_mark,
)
from secretballot.ledger._server_connection import (
    STATEMENT_TIMEOUT,
    ServerUrl,
    load_psycopg,
    readable,
    transact,
)
from secretballot.ledger._store import (
    APPLICATION_ID,
    FORMAT_VERSION,
    Rows,
    Written,
    meaning,
    wrong_format,
)

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.errors import Diagnostic


T = TypeVar("T")


def schema_script() -> str:
    return _read("schema.sql")


def roles_script() -> str:
    """Return the script that makes the tables and the roles of owners, spenders and readers."""
    return f"{schema_script()}\n{_read('roles.sql')}"


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


#: Environment variable that names the folder of the marks.
STATE_VARIABLE = "SECRETBALLOT_STATE"


def state_folder() -> Path:
    """Return the folder in which this user's programs keep what they have seen."""
    if chosen := os.environ.get(STATE_VARIABLE):
        return Path(chosen)
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        parent = Path.home() / "Library" / "Application Support"
    else:
        parent = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(parent) / "secretballot"


class SeenMark:
    """Mark of one ledger, kept outside of the server.

    A copy of a server says nothing of what it lacks. The machine of a spender knows which entries
    it has seen, and refuses a server that lacks the last of them. A dump that is tried out
    elsewhere has the same ledger in another place, and another mark.
    """

    def __init__(self, ledger_id: str, place: str) -> None:
        if not re.fullmatch(r"[0-9a-f]{32}", ledger_id):
            raise LedgerError("its header names no ledger; restore it from a copy")
        self._folder = state_folder() / "ledgers"
        digest = hashlib.sha256(place.encode()).hexdigest()
        self.path = str(self._folder / f"{ledger_id}-{digest[:16]}.mark")

    def slots(self) -> Slots:
        return read_mark(self.path)

    def writable(self) -> Mark | None:
        """Read the mark with its lock; LedgerError if it can't be written."""
        return holding_mark(self.path, self._open, lambda held: held.mark, self._explain)

    def advance(self, mark: Mark, *, everywhere: bool) -> None:
        """Write the last entry, after its commit, unless a later one has been seen.

        `everywhere` writes both slots, whatever they say.
        """

        def write(held: HeldMark) -> None:
            seen = held.mark
            if everywhere or seen is None or seen.sequence <= mark.sequence:
                held.advance(mark, everywhere=everywhere)

        # The entry is recorded. A mark that is behind detects less, but is never wrong.
        with suppress(LedgerError):
            holding_mark(self.path, self._open, write, self._explain)

    def _open(self) -> FileIO:
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return opened_mark(self.path, os.O_RDWR | os.O_CREAT)

    def _explain(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"the last entry that this machine has seen can't be kept in {self.path!r} ({error}), "
            "and a server that was set back would not be noticed; make that folder writable, or "
            f"name a lasting one of this user in the environment variable {STATE_VARIABLE}. "
            "Nothing was released"
        )


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
        self.check_process()
        return self._connection.execute(_server_sql(query, self.head.number), parameters).fetchall()

    def insert(self, table: str, values: tuple[object, ...]) -> None:
        self.check_process()
        places = ", ".join(["%s"] * (1 + len(values)))
        done = self._connection.execute(
            f"INSERT INTO secretballot.{table} VALUES ({places})", (self.head.number, *values)
        )
        if done.rowcount != 1:
            raise LedgerError(f"a row of the table {table!r} was not written. Nothing was released")

    def check_format(self) -> None:
        if self.head.version != FORMAT_VERSION:
            raise wrong_format(self.head.version)

    def check_spendable(self) -> None:
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
        return self.head.place

    def originals(self, recorded: str) -> list[str]:
        return []  # where other servers are is not known

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


#: Lock under which ledgers are made: two creations of the tables at once would collide.
_LOCK_CREATION = f"SELECT pg_advisory_xact_lock({APPLICATION_ID})"


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
            tables = connection.execute(
                "SELECT to_regclass('secretballot.format') IS NOT NULL"
            ).fetchone()
            if tables != (True,):
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
        def ask(rows: Rows) -> str:
            with meaning(self):
                return _seen_mark(rows).path

        return self.read(ask)

    def readable(self, error: Exception) -> LedgerError:
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


def _check_encoding(connection: Connection) -> None:
    row = connection.execute("SHOW server_encoding").fetchone()
    if row != ("UTF8",):
        raise LedgerError(
            f"the database has the encoding {row and row[0]}, and ledgers hold any text: make a "
            "database with ENCODING 'UTF8'."
        )
