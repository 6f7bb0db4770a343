"""The file beside a ledger: whoever writes holds it, and it knows how far the ledger has come."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from typing import TypeVar

from secretballot._errors import LedgerError
from secretballot.ledger import _file
from secretballot.ledger._file import PROCESS_LOCK, readable
from secretballot.ledger._slots import SLOT, SLOTS, Mark, Slots, parse_slots, slot_bytes

T = TypeVar("T")

#: Where on Windows, which locks bytes and not files, the lock lies: behind what is read.
_LOCKED_BYTE = 4096
#: What is opened is looked at before it is used: it must not be waited for, nor be elsewhere.
_NO_SURPRISE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class HeldMark:
    """The right to write to a ledger, while it lasts."""

    def __init__(self, path: str, file: FileIO) -> None:
        self._file = file
        try:
            self._slots = _read_slots(file)
        except OSError as error:
            raise readable(error, path) from error
        if not self._slots.is_mark:
            raise _not_a_mark(path, "it holds something else than a mark of secretballot")

    @property
    def mark(self) -> Mark | None:
        """How far the ledger had come, as the newest whole slot says."""
        return self._slots.mark

    def advance(self, mark: Mark, *, everywhere: bool = False) -> None:
        """Write how far the ledger has come, once that is certain.

        One slot is written, and the other stays as it is: a write that fails or is cut off leaves
        what the mark said before. With `everywhere` both are, one after the other: nothing of what
        was said before is left.

        Not synced: a mark that was lost, or is behind, catches less but is never wrong.
        """
        target, generation = self._slots.target, self._slots.generation
        for step in range(SLOTS if everywhere else 1):
            with suppress(OSError):
                self._file.seek(SLOT * ((target + step) % SLOTS))
                self._file.write(slot_bytes(mark, generation + step + 1))


def mark_path(path: str) -> str:
    """Return the name of the file beside a ledger."""
    return f"{path}.mark"


def read_slots(path: str) -> Slots:
    """Read the slots of a ledger's mark without holding it; none if there is no mark."""
    try:
        with _opened(path, os.O_RDONLY) as file:
            slots = _read_slots(file)
            # Somebody may have been writing: a slot that is broken stays so.
            while slots.n_broken and (again := _read_slots(file)) != slots:
                slots = again
    except OSError:
        return parse_slots(b"")
    return slots


def create_mark(path: str) -> None:
    """Make the mark of a new ledger; FileExistsError if there is a file already."""
    os.close(os.open(mark_path(path), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def holding(path: str, act: Callable[[HeldMark], T]) -> T:
    """Act with the right to write to a ledger; LedgerError if others have it for too long.

    The lock is on the file beside the ledger and goes with the descriptor that took it: unlike
    SQLite's own it is not lost when this process opens and closes the ledger somewhere else (a
    backup, a checksum). It ends with the process, however that ends; the file stays, and means
    nothing unless it is held.

    A function and no context manager: an exception may come at any moment (Ctrl-C), also while
    Python enters one. A lock that was forgotten then would keep everybody else out. So the lock is
    taken and given back within a ``with`` of an object that is not written in Python.
    """
    deadline, pause = time.monotonic() + _file.busy_timeout(), 0.0005
    with PROCESS_LOCK:
        while True:
            with _openable(path) as file:
                if _locked(path, file):
                    try:
                        return act(HeldMark(path, file))
                    finally:
                        # A program that is being started may hold the descriptor for a moment more.
                        with suppress(OSError):
                            _unlock(file.fileno())
            if time.monotonic() > deadline:
                raise readable(TimeoutError("locked"), path)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)


def _opened(path: str, flags: int, mode: int = 0o600) -> FileIO:
    """Open the mark; OSError if it is a link, or has another name, or is no regular file."""
    name = mark_path(path)

    def open_regular(name: str, _: int) -> int:
        with suppress(FileNotFoundError):
            _check_regular(os.lstat(name))
        return os.open(name, flags | _NO_SURPRISE, mode)

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
    """Open the mark of an existing ledger to lock it; it is made if it is gone."""
    try:
        # Whoever may write to the ledger may write the mark.
        ledger = os.stat(path)
        create = os.O_CREAT if ledger.st_size else 0  # an empty one is being made by somebody
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
    """Try to lock the mark; False if others have it, or it was replaced meanwhile."""
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


if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Lock a file for this process until it is closed; False if another has locked it."""
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

    def try_lock(descriptor: int) -> bool:
        """Lock a file for this process until it is closed; False if another has locked it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
