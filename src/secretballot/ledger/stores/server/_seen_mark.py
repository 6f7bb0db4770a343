"""Mark of a ledger on a server: the last entry that this machine has seen of it."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores._mark_file import HeldMark, holding_mark, opened_mark, read_mark
from secretballot.ledger.stores._slots import Mark, Slots

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
        """Read the mark; empty slots if this machine has none."""
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
