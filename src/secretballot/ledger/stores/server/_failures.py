"""Errors of a PostgreSQL server, as errors that name a remedy and no password."""

from __future__ import annotations

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._waiting import busy_timeout
from secretballot.ledger.stores.server._server_url import ServerUrl

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
