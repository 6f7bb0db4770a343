"""Mark of a ledger: the file beside it that is the lock, and names the last entry."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from typing import TypeVar

from secretballot._errors import LedgerError
from secretballot._file_lock import try_lock, unlock
from secretballot.ledger import _file
from secretballot.ledger._file import PROCESS_LOCK, readable
from secretballot.ledger._slots import SLOT, SLOTS, Mark, Slots, parse_slots, slot_bytes

T = TypeVar("T")

#: Do not wait for pipes, and do not follow links, before the type of the file is checked.
_SAFE_OPEN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class HeldMark:
    """Locked mark of a ledger: the exclusive right to write to it."""

    def __init__(self, path: str, file: FileIO) -> None:
        self._file = file
        try:
            self._slots = _read_slots(file)
        except OSError as error:
            raise readable(error, path) from error
        if not self._slots.is_mark:
            raise _not_a_mark(path, "it holds something else than a mark of secretballot")
        #: Last entry of the ledger, by the newest intact slot.
        self.mark = self._slots.mark

    def advance(self, mark: Mark, *, everywhere: bool = False) -> None:
        """Write the last entry, after its commit.

        One slot is written, so that a write that fails leaves the other. `everywhere` writes both.
        Nothing is synced: a mark that is lost or behind detects less, but is never wrong.
        """
        target, generation = self._slots.target, self._slots.generation
        for step in range(SLOTS if everywhere else 1):
            with suppress(OSError):
                self._file.seek(SLOT * ((target + step) % SLOTS))
                self._file.write(slot_bytes(mark, generation + step + 1))


def mark_path(path: str) -> str:
    """Return the path of the mark of a ledger."""
    return f"{path}.mark"


def read_slots(path: str) -> Slots:
    """Read the slots of a mark without its lock; empty slots if there is no mark."""
    try:
        with _opened(path, os.O_RDONLY) as file:
            slots = _read_slots(file)
            # A slot that is being written looks broken; a broken one stays as it is.
            while slots.n_broken and (again := _read_slots(file)) != slots:
                slots = again
    except OSError:
        return parse_slots(b"")
    return slots


def holding(path: str, act: Callable[[HeldMark], T]) -> T:
    """Run a function with the lock of the mark; LedgerError if another holds it for too long.

    The lock belongs to the open file. Unlike SQLite's own it is not lost when this process opens
    and closes the ledger elsewhere (a backup, a checksum), and it ends with the process.

    A function, not a context manager: Ctrl-C while Python enters one would leave the lock taken.
    """
    deadline, pause = time.monotonic() + _file.busy_timeout(), 0.0005
    with PROCESS_LOCK:
        while True:
            with _openable(path) as file:
                if _locked(path, file):
                    try:
                        return act(HeldMark(path, file))
                    finally:
                        # A program that is being started may still have the descriptor.
                        with suppress(OSError):
                            unlock(file.fileno())
            if time.monotonic() > deadline:
                raise readable(TimeoutError("locked"), path)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)


def _opened(path: str, flags: int, mode: int = 0o600) -> FileIO:
    """Open the mark; OSError if it is a link, has two names, or is no regular file."""
    name = mark_path(path)

    def open_regular(name: str, _: int) -> int:
        with suppress(FileNotFoundError):
            _check_regular(os.lstat(name))
        return os.open(name, flags | _SAFE_OPEN, mode)

    file = FileIO(name, "r" if flags == os.O_RDONLY else "r+", opener=open_regular)
    try:
        _check_regular(os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no regular file, but a link, a folder, a pipe or a device")
    if status.st_nlink > 1:
        raise OSError(f"it has {status.st_nlink} names (hard links), of which others may be used")


def _openable(path: str) -> FileIO:
    """Open the mark of an existing ledger for its lock, and make it if it is missing."""
    try:
        # Whoever may write to the ledger may write the mark.
        ledger = os.stat(path)
        create = os.O_CREAT if ledger.st_size else 0  # an empty one is being made elsewhere
        return _opened(path, os.O_RDWR | create, ledger.st_mode & 0o066 | 0o600)
    except OSError as error:
        if not os.path.exists(path) or error.errno is not None:
            raise readable(error, path) from error
        raise _not_a_mark(path, str(error)) from None


def _not_a_mark(path: str, why: str) -> LedgerError:
    return LedgerError(
        f"The ledger {path!r} can't be written to: {mark_path(path)!r}, the place of its mark, is "
        f"not written over: {why}. Move that away, or name the ledger otherwise. Nothing was "
        "released"
    )


def _read_slots(file: FileIO) -> Slots:
    file.seek(0)
    content = b""
    while piece := file.read(SLOTS * SLOT + 1 - len(content)):
        content += piece
    return parse_slots(content)


def _locked(path: str, file: FileIO) -> bool:
    """Try to lock the mark; False if another has the lock, or the file was replaced."""
    try:
        return try_lock(file.fileno()) and os.path.samestat(
            os.stat(mark_path(path)), os.fstat(file.fileno())
        )
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LedgerError(
            f"The ledger {path!r} can't be locked: its file system has no locks; put it on a "
            f"local disk. Nothing was released. ({error})"
        ) from error
