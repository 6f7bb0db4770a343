"""URL of a ledger on a PostgreSQL server, and what of it may be shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from secretballot._errors import LedgerError

_SCHEMES = ("postgresql", "postgres")
_EXAMPLE = "postgresql://host/database?ledger=survey"
#: Most letters of the name of a ledger.
_MOST_LETTERS = 200


def is_url(name: object) -> bool:
    """Check that the name of a ledger is a URL of a server."""
    return isinstance(name, str) and name.lower().startswith(tuple(f"{s}://" for s in _SCHEMES))


@dataclass(frozen=True)
class ServerUrl:
    """URL of a ledger on a server.

    Attributes
    ----------
    name : str
        The URL without passwords: all of it that is shown, recorded or pickled.
    ledger : str
        Name of the ledger among those of its database.
    conninfo : str
        The URL for the PostgreSQL client, with passwords and without the ledger.
    secrets : tuple of str
        The passwords.
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
            if "password" in key or "secret" in key:
                secrets.append(value)
            else:
                shown.append(item)
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
        """Remove the passwords from a text."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def __reduce__(self) -> tuple[Callable[[str], ServerUrl], tuple[str]]:
        return ServerUrl.parse, (self.name,)


def _split(text: str) -> SplitResult:
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
        or any(letter <= " " for letter in text)
        or "#" in text
        or "%00" in text
        or re.search(r"%(?![0-9a-fA-F]{2})", text)
    ):
        raise LedgerError(
            "ledger= is no valid URL of a server (it is not shown, as it may hold a password): "
            "letters of a user's name or password other than a-z, A-Z, 0-9, '-', '.', '_' and '~' "
            f"are written as % and two digits, '@' as %40, '/' as %2F. An example is {_EXAMPLE!r}."
        )
    return parts
