"""Marks, which name the last entry of a ledger: two slots in a file, whose lock orders writers."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import FileIO
from typing import NamedTuple, TypeVar

from secretballot._base._errors import LedgerError
from secretballot._base._files import try_lock, try_turn, unlock
from secretballot.ledger._waiting import PROCESS_LOCK, busy_timeout

T = TypeVar("T")

#: The bytes that every mark begins with.
MAGIC = b"secretballot "
#: Bytes of a slot: a sector, which disks write whole.
SLOT = 512
SLOTS = 2

_LINE = re.compile(
    rb"secretballot mark (?P<generation>\d{1,18}) (?P<ledger_id>[0-9a-f]{32}) "
    rb"(?P<sequence>\d{1,18}) (?P<digest>[0-9a-f]{64}) (?P<checksum>[0-9a-f]{64})\n *"
)


class Mark(NamedTuple):
    """Last entry of a ledger when it was last written."""

    ledger_id: str
    sequence: int
    digest: str


class Slots(NamedTuple):
    """Slots of a mark, as they were read. `mark` and `generation` are the newest intact slot's."""

    mark: Mark | None
    generation: int  # how often the mark was written
    target: int  # the slot that is written next: never the newest intact one
    n_broken: int
    is_mark: bool  # the file is empty or begins as a mark; no other file is written


def parse_slots(content: bytes) -> Slots:
    """Parse the contents of a mark, of which at most one byte beyond all slots is needed."""
    slots = [content[SLOT * place : SLOT * (place + 1)] for place in range(SLOTS)]
    marks: list[tuple[int, int, Mark]] = []
    n_broken = 0
    for place, slot in enumerate(slots):
        if parsed := _parse_slot(slot):
            marks.append((parsed[0], place, parsed[1]))
        elif slot.strip(b"\0"):
            n_broken += 1
    generation, newest, mark = max(marks, default=(0, SLOTS - 1, None), key=lambda slot: slot[:2])
    # A write that was cut off may leave a part of the first word.
    begins = MAGIC.startswith(content) or any(map(_begins_as_mark, slots))
    is_mark = len(content) <= SLOTS * SLOT and (begins or not content.strip(b"\0"))
    return Slots(mark, generation, (newest + 1) % SLOTS, n_broken, is_mark)


def slot_bytes(mark: Mark, generation: int) -> bytes:
    text = f"secretballot mark {generation} {mark.ledger_id} {mark.sequence} {mark.digest}".encode()
    return (text + b" " + _checksum(text) + b"\n").ljust(SLOT)


def _begins_as_mark(slot: bytes) -> bool:
    """Check that most letters of the first word are there, as some may be damaged."""
    n_alike = sum(letter == expected for letter, expected in zip(slot, MAGIC, strict=False))
    return 3 * n_alike > 2 * len(MAGIC)


def _parse_slot(slot: bytes) -> tuple[int, Mark] | None:
    line = _LINE.fullmatch(slot)
    if line is None or len(slot) != SLOT:
        return None
    if line["checksum"] != _checksum(slot[: line.end("digest")]):
        return None
    mark = Mark(line["ledger_id"].decode(), int(line["sequence"]), line["digest"].decode())
    return int(line["generation"]), mark


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


#: Seconds between two attempts to get a lock.
_SHORT, _LONG = 0.0005, 0.02
#: Seconds to wait for one's turn: who waits first may be a program that was stopped.
_TURN = 5.0

#: Do not wait for pipes, and do not follow links, before the type of the file is checked.
_SAFE_OPEN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class HeldMark:
    """Locked file of a mark. OSError if it can't be read, or is no mark."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._slots = _read_slots(file)
        if not self._slots.is_mark:
            raise OSError("it holds something else than a mark of secretballot")
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


def holding_mark(
    name: str,
    open_file: Callable[[], FileIO],
    act: Callable[[HeldMark], T],
    explain: Callable[[OSError], LedgerError],
) -> T:
    """Run a function with the lock of a mark; LedgerError if another holds it for too long.

    The lock belongs to the open file, and ends with the process. `open_file` opens it, and
    `explain` converts errors of the file. Who waits first tries often; the others wait for their
    turn, and ask for it the more often the longer they have waited, so that nobody who comes back
    at once is always served before them.

    A function, not a context manager: Ctrl-C while Python enters one would leave the lock taken.
    """
    start = time.monotonic()

    def wait(pause: float) -> None:
        if time.monotonic() - start > busy_timeout():
            raise explain(TimeoutError("locked"))
        time.sleep(pause)

    with PROCESS_LOCK, _explained(open_file, explain) as line:
        while not try_turn(line.fileno()) and (waited := time.monotonic() - start) < _TURN:
            wait(max(_SHORT, _LONG / (1 + waited / _LONG)))
        while True:
            with _explained(open_file, explain) as file:
                if _explained(partial(_locked, name, file), explain):
                    try:
                        line.close()
                        return act(_explained(partial(HeldMark, file), explain))
                    finally:
                        # A program that is being started may still have the descriptor.
                        with suppress(OSError):
                            unlock(file.fileno())
            wait(_SHORT)


def opened_mark(name: str, flags: int, mode: int = 0o600) -> FileIO:
    """Open a mark; OSError if it is a link, has two names, or is no regular file."""

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


def read_mark(name: str) -> Slots:
    """Read the slots of a mark without its lock; empty slots if there is no mark."""
    try:
        with opened_mark(name, os.O_RDONLY) as file:
            slots = _read_slots(file)
            # A slot that is being written looks broken; a broken one stays as it is.
            while slots.n_broken and (again := _read_slots(file)) != slots:
                slots = again
    except OSError:
        return parse_slots(b"")
    return slots


def _explained(act: Callable[[], T], explain: Callable[[OSError], LedgerError]) -> T:
    try:
        return act()
    except OSError as error:
        raise explain(error) from error


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no regular file, but a link, a folder, a pipe or a device")
    if status.st_nlink > 1:
        raise OSError(f"it has {status.st_nlink} names (hard links), of which others may be used")


def _read_slots(file: FileIO) -> Slots:
    file.seek(0)
    content = b""
    while piece := file.read(SLOTS * SLOT + 1 - len(content)):
        content += piece
    return parse_slots(content)


def _locked(name: str, file: FileIO) -> bool:
    """Try to lock a mark; False if another has the lock, or the file was replaced."""
    try:
        return try_lock(file.fileno()) and os.path.samestat(os.stat(name), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OSError(errno.ENOLCK, str(error)) from error
