"""The file beside a ledger: whoever writes holds it, and it knows how far the ledger has come."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from secretballot._errors import LedgerError
from secretballot.ledger import _file
from secretballot.ledger._file import PROCESS_LOCK, readable

_WORD = "secretballot"
#: Where on Windows, which locks bytes and not files, the lock lies: behind what is read.
_LOCKED_BYTE = 4096


class Mark(NamedTuple):
    """The entry that a ledger had last when it was last written to."""

    ledger_id: str
    sequence: int
    digest: str


class Held:
    """The right to write to a ledger, while it lasts."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def advance(self, mark: Mark) -> None:
        """Write how far the ledger has come, once that is certain.

        Not synced: a mark that was lost, or is behind, catches less but is never wrong.
        """
        line = f"{_WORD} {mark.ledger_id} {mark.sequence} {mark.digest}\n".encode()
        with suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, line)
            os.ftruncate(self._descriptor, len(line))


def mark_path(path: str) -> str:
    """Return the name of the file beside a ledger."""
    return f"{path}.mark"


def read_mark(path: str) -> Mark | None:
    """Return a ledger's mark; None if there is none that can be read."""
    try:
        with open(mark_path(path), "rb") as file:
            word, ledger_id, sequence, digest = file.read(_LOCKED_BYTE).decode().split()
        return Mark(ledger_id, int(sequence), digest) if word == _WORD else None
    except (OSError, ValueError):
        return None


@contextmanager
def held(path: str) -> Iterator[Held]:
    """Hold the right to write to a ledger; LedgerError if others have it for too long.

    The lock is on the file beside the ledger and goes with the descriptor that took it: unlike
    SQLite's own it is not lost when this process opens and closes the ledger somewhere else (a
    backup, a checksum). It ends with the process, however that ends; the file stays, and means
    nothing unless it is held.
    """
    with PROCESS_LOCK:
        descriptor = _locked(path)
        try:
            yield Held(descriptor)
        finally:
            # A program that is being started may hold the descriptor for a moment longer.
            with suppress(OSError):
                _unlock(descriptor)
            os.close(descriptor)


def _locked(path: str) -> int:
    deadline, pause = time.monotonic() + _file.busy_timeout(), 0.0005
    while True:
        try:
            # Whoever may write to the ledger may write the mark. Not through a link: it would let
            # somebody else choose what is overwritten.
            mode = os.stat(path).st_mode & 0o066 | 0o600
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(mark_path(path), flags, mode)
        except OSError as error:
            raise readable(error, path) from error
        try:
            if _try_lock(descriptor) and _is_still_there(path, descriptor):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            raise LedgerError(
                f"The ledger {path!r} can't be locked: its file system has no locks; put it on a "
                f"local disk. Nothing was released. ({error})"
            ) from error
        os.close(descriptor)
        if time.monotonic() > deadline:
            raise readable(TimeoutError("locked"), path)
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _is_still_there(path: str, descriptor: int) -> bool:
    """Whether the file that was locked was not deleted meanwhile: another may be locked then."""
    try:
        return os.path.samestat(os.stat(mark_path(path)), os.fstat(descriptor))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
