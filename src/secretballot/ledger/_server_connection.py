"""Connections to a PostgreSQL server: its URL, transactions, and errors that name a remedy."""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from secretballot._base._errors import LedgerError
from secretballot.ledger._guard import PROCESS_LOCK, busy_timeout

if TYPE_CHECKING:
    from psycopg import Connection

_BEGINNINGS = ("postgresql://", "postgres://")
_EXAMPLE = "postgresql://host/database?ledger=survey"
_NOT_VALID = (
    "ledger= is no valid URL of a server (it is not shown, as it may hold a password): letters of "
    "a user's name or password other than a-z, A-Z, 0-9, '-', '.', '_' and '~' are written as % "
    f"and two digits, '@' as %40, '/' as %2F. An example is {_EXAMPLE!r}."
)
#: Most letters of the name of a ledger.
_MOST_LETTERS = 200

#: Parameters of a connection that hold no secret. All others are hidden: those that hold a password
#: or a key, those that may (`options`), and those of later versions of the client.
_HARMLESS = frozenset(
    {
        *("host", "hostaddr", "port", "dbname", "user", "service", "passfile", "requirepeer"),
        *("sslmode", "sslnegotiation", "sslcompression", "sslcert", "sslcertmode", "sslrootcert"),
        *("sslcrl", "sslcrldir", "sslsni", "ssl_min_protocol_version", "ssl_max_protocol_version"),
        *("gssencmode", "gssdelegation", "gsslib", "krbsrvname", "channel_binding", "require_auth"),
        *("application_name", "fallback_application_name", "client_encoding", "connect_timeout"),
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
        *("tcp_user_timeout", "target_session_attrs", "load_balance_hosts"),
    }
)

#: Names that may hold a password: of a scheme (pathlib makes one slash of two), with a login, and
#: parameters of a connection. A path that begins with / or ./ is none, but with ://.
_URLS = re.compile(
    r"""
    .* ://
    | [^\w/\\.]* [a-z][\w+.:-]+ :/
    | [^\w/\\.]* (//)? [^/\\]* : [^/\\]* @
    | [^/\\]* :/ [^/\\]* @
    | [^\w/\\.]* (\w+ [\s\w]* = .*)? \b \w* (passw\w* | pwd) \s* =
    | [^/\\]* [?&;] \w* (passw\w* | pwd) \s* =
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


#: Host and port of a URL.
_HOST = r"(\[[^\[\]]*\]|[^\[\]:,]*)(:\d*)?"


def is_url(name: object) -> bool:
    """Check that the name of a ledger is a URL, or looks like one: then it is never shown."""
    path = os.fspath(name) if isinstance(name, os.PathLike) else name
    return isinstance(path, str) and _URLS.match(path) is not None


@dataclass(frozen=True)
class ServerUrl:
    """URL of a ledger on a server."""

    name: str  # with harmless parameters alone: all of it that is shown, recorded or pickled
    ledger: str  # among those of its database
    conninfo: str = field(repr=False)  # for the client: with passwords and without the ledger
    secrets: tuple[str, ...] = field(repr=False)  # passwords and hidden parameters

    @classmethod
    def parse(cls, text: str) -> ServerUrl:
        """Parse a URL; LedgerError, which does not quote it, if it is none."""
        parts = _split(text)
        user, at, hosts = parts.netloc.rpartition("@")
        user, colon, password = user.partition(":")
        secrets = [password] if colon else []
        shown, passed, names = [], [], []
        for item in filter(None, parts.query.split("&")):
            key, _, value = item.partition("=")
            key = unquote(key).lower()
            if key == "ledger":
                names.append(unquote(value))
                shown.append(item)
                continue
            passed.append(item)
            if key == "user" and ":" in unquote(value):
                raise LedgerError(_NOT_VALID)
            if key in _HARMLESS:
                shown.append(item)
            else:
                # A password with "&" has an end without a value.
                secrets.append(value or item)
        if len(names) != 1 or not 0 < len(names[0]) <= _MOST_LETTERS or "\0" in names[0]:
            raise LedgerError(
                f"ledger= is the URL of a server and names {len(names) or 'no'} ledger"
                f"{'s' * (len(names) > 1)}: end it with ?ledger=NAME (or &ledger=NAME), a name of "
                f"1 to {_MOST_LETTERS} letters, such as {_EXAMPLE!r}."
            )
        place = f"{hosts}{parts.path}?"
        forms = (form for secret in secrets for form in (secret, unquote(secret)))
        return cls(
            f"postgresql://{user}{at}{place}{'&'.join(shown)}",
            names[0],
            f"postgresql://{parts.netloc}{parts.path}?{'&'.join(passed)}",
            tuple(dict.fromkeys(filter(None, forms))),
        )

    def has(self, parameter: str) -> bool:
        return re.search(rf"[?&]{parameter}=", self.conninfo, re.IGNORECASE) is not None

    def redacted(self, text: str) -> str:
        """Remove passwords and hidden parameters from a text."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def __reduce__(self) -> tuple[Callable[[str], ServerUrl], tuple[str]]:
        return ServerUrl.parse, (self.name,)


def _split(text: str) -> SplitResult:
    if not text.lower().startswith(_BEGINNINGS):
        raise LedgerError(
            "ledger= looks like a URL or a login, and is none of a server (it is not shown, as it "
            f"may hold a password): begin it with postgresql://, as in {_EXAMPLE!r}, and give it "
            "as a string. A file that is called so is named with its folder, as in './NAME'."
        )
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = None
    # A letter of a password that ends a part of the URL would make the rest of it a name.
    if (
        parts is None
        or parts.fragment
        or text.count("@") != parts.netloc.count("@")
        or parts.netloc.count("@") > 1
        or not re.fullmatch(r"([^%:]|%(?!3A))*(:[^:]*)?", parts.netloc.rpartition("@")[0], re.I)
        or not re.fullmatch(rf"{_HOST}(,{_HOST})*", parts.netloc.rpartition("@")[2])
        or any(letter <= " " for letter in text)
        or "#" in text
        or "%00" in text
        or re.search(r"%(?![0-9a-fA-F]{2})", text)
        or any("\ud800" <= letter <= "\udfff" for letter in text)
    ):
        raise LedgerError(_NOT_VALID)
    return parts


_AWAY = (
    "can't be reached, or the connection to its server was lost: check the URL, the network, and "
    "that the server is running; then try again. Nothing was released"
)
_LOGIN = (
    "can't be opened: the server refuses the login. Check the user's name and the password; "
    "workers and pickles have no password of a URL, and take it from a file (PGPASSFILE, or a "
    "service in PGSERVICEFILE). Nothing was released"
)
_NO_TABLES = (
    "does not exist: its database has no tables of secretballot in this format. "
    "PrivacyAccountant(..., ledger=URL) makes them, if the user may"
)
_NO_DATABASE = "does not exist: the server has no database of that name; check the URL"
_POOLER = (
    "can't be used: a pooler before the server shares sessions between statements. Set its "
    "pool_mode to transaction or session. Nothing was released"
)
_FULL = "can't be used: the server has no capacity left; try again. Nothing was released"
#: Reasons by words of a failed connection, which has no SQLSTATE.
_REFUSALS = {
    'database "': _NO_DATABASE,
    "statement pooling mode": _POOLER,
    "too many": _FULL,
    "connection slots": _FULL,
    "password": _LOGIN,
    'role "': _LOGIN,
    "authentication": _LOGIN,
    "pg_hba.conf": _LOGIN,
}
#: Reasons by SQLSTATE, or by its class of two letters.
_REASONS = {
    "28": _LOGIN,
    "3D000": _NO_DATABASE,
    "42501": (
        "can't be used: the server's user has no permission for that. "
        "'secretballot ledger roles' prints the grants of owners, spenders and readers. Nothing "
        "was released"
    ),
    "3F000": _NO_TABLES,
    "42P01": _NO_TABLES,
    "42703": _NO_TABLES,
    "25006": (
        "can't be written: the server is a standby, or read-only; name the primary (such as with "
        "target_session_attrs=read-write). Nothing was released"
    ),
    "25P03": (
        "was held for too long without a statement, and the server ended the session. Nothing was "
        "released"
    ),
    "53100": "can't be written because the server's disk is full; nothing was released",
    "53": _FULL,
    "57014": "was too slow to answer, and the statement was ended. Nothing was released",
    "0A000": "needs a server with PostgreSQL 14 or later",
}


def readable(error: Exception, url: ServerUrl) -> LedgerError:
    """Convert an error of psycopg, or of the mark, to one that names a remedy.

    The details that the server gives are left out: they can quote rows.
    """
    state = getattr(error, "sqlstate", None)
    diagnosis = getattr(error, "diag", None)
    text = getattr(diagnosis, "message_primary", None) or next(iter(str(error).splitlines()), "")
    is_connection = any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)
    if state == "55P03":
        reason = (
            f"was locked by another process for more than {busy_timeout():g} seconds; try again. "
            "Nothing was released"
        )
    elif state is not None and (known_reason := _REASONS.get(state) or _REASONS.get(state[:2])):
        reason = known_reason
    elif is_connection:
        reason = next((reason for word, reason in _REFUSALS.items() if word in text), _AWAY)
    else:
        reason = "can't be used; nothing was released"
    if state is None and type(error).__name__ == "ProgrammingError":
        # What of a URL its client does not know may be the end of a password.
        reason = "can't be used: check the parameters of the URL. Nothing was released"
        text = "the client does not know one of them, or a letter in it has to be quoted"
    return LedgerError(f"The ledger {url.name!r} {reason}. ({url.redacted(text)})")


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
