"""URL of a ledger on a PostgreSQL server, and what of it may be shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from secretballot._base._errors import LedgerError

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
    """URL of a ledger on a server.

    Attributes
    ----------
    name : str
        The URL with harmless parameters alone: all of it that is shown, recorded or pickled.
    ledger : str
        Name of the ledger among those of its database.
    conninfo : str
        The URL for the PostgreSQL client, with passwords and without the ledger.
    secrets : tuple of str
        Passwords and hidden parameters.
    """

    name: str
    ledger: str
    conninfo: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

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
        """Return True if the URL sets a parameter of the connection."""
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
