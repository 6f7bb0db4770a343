"""Guards of a ledger: its lock and the wait for it, its mark, its place and the clock.

A mark names the last entry of a ledger, in two slots of a file whose lock orders writers. The place
is the identity of a ledger in the file system, which a copy does not have.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from io import FileIO
from operator import eq
from pathlib import Path
from typing import NamedTuple, TypeVar

from secretballot._base._errors import LedgerError
from secretballot._base._files import try_lock, try_turn, unlock

T = TypeVar("T")

#: Seconds to wait for another process that is spending, and seconds that a display waits.
BUSY_TIMEOUT = 60.0
SHOWN_TIMEOUT = 2.0

_SHOWING: ContextVar[bool] = ContextVar("secretballot_showing", default=False)


@contextmanager
def showing() -> Iterator[None]:
    """Shorten the wait for locks within a block, so that a display does not hang."""
    token = _SHOWING.set(True)
    try:
        yield
    finally:
        _SHOWING.reset(token)


def busy_timeout() -> float:
    return min(SHOWN_TIMEOUT, BUSY_TIMEOUT) if _SHOWING.get() else BUSY_TIMEOUT


# One transaction at a time in a process: threads queue here instead of polling the file, and a
# fork waits until no connection is open, because a child must not inherit locks.
PROCESS_LOCK = threading.RLock()


def _after_fork_in_parent() -> None:
    # Ctrl-C may have ended the wait for the lock; Python forks all the same.
    with suppress(RuntimeError):
        PROCESS_LOCK.release()


def _after_fork_in_child() -> None:
    try:
        PROCESS_LOCK.release()
    except RuntimeError:
        # A thread of the parent holds it, which the child does not have.
        PROCESS_LOCK._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=PROCESS_LOCK.acquire,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


#: First bytes of every mark.
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
    """Parse the contents of a mark; one byte beyond the slots shows that the file is too long."""
    mark: Mark | None = None
    generation, newest, n_broken = 0, SLOTS - 1, 0
    # A write that was cut off may leave a part of the first word.
    begins = MAGIC.startswith(content)
    for place in range(SLOTS):
        slot = content[SLOT * place : SLOT * (place + 1)]
        # Two thirds of the first word suffice: some bytes may be damaged.
        begins = begins or 3 * sum(map(eq, slot, MAGIC)) > 2 * len(MAGIC)
        line = _LINE.fullmatch(slot) if len(slot) == SLOT else None
        if line is None or line["checksum"] != _checksum(slot[: line.end("digest")]):
            n_broken += bool(slot.strip(b"\0"))
        elif mark is None or int(line["generation"]) >= generation:
            generation, newest = int(line["generation"]), place
            mark = Mark(line["ledger_id"].decode(), int(line["sequence"]), line["digest"].decode())
    is_mark = len(content) <= SLOTS * SLOT and (begins or not content.strip(b"\0"))
    return Slots(mark, generation, (newest + 1) % SLOTS, n_broken, is_mark)


def slot_bytes(mark: Mark, generation: int) -> bytes:
    text = f"secretballot mark {generation} {mark.ledger_id} {mark.sequence} {mark.digest}".encode()
    return (text + b" " + _checksum(text) + b"\n").ljust(SLOT)


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


#: Seconds between two attempts to get a lock.
_SHORT, _LONG = 0.0005, 0.02
#: Most seconds to wait for one's turn: the first in line may be a program that was stopped.
_TURN = 5.0

#: Flags that do not wait for pipes and do not follow links: the type of the file is checked later.
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
    `explain` converts errors of the file. The first in line tries often. The others wait for their
    turn, and ask for it more often the longer they have waited: a process that comes back at once
    does not always overtake them.

    A function, not a context manager: Ctrl-C while Python enters one would leave the lock taken.
    """
    start = time.monotonic()

    def wait(pause: float) -> None:
        if time.monotonic() - start > busy_timeout():
            raise explain(TimeoutError("locked"))
        time.sleep(pause)

    with PROCESS_LOCK, _explained(open_file, explain) as queue:
        while not try_turn(queue.fileno()) and (waited := time.monotonic() - start) < _TURN:
            wait(max(_SHORT, _LONG / (1 + waited / _LONG)))
        while True:
            with _explained(open_file, explain) as file:
                if _explained(partial(_locked, name, file), explain):
                    try:
                        queue.close()
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


#: File systems shared between machines, on which a lock (or what was synced) may be seen by one
#: machine only, so that two of them could spend the same budget.
NETWORK_FILE_SYSTEMS = frozenset(
    {
        *("nfs", "nfs3", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "coda", "ncpfs"),
        *("afpfs", "davfs", "ftpfs", "s3fs", "sshfs", "webdav", "rclone"),
        *("beegfs", "fhgfs", "ceph", "ceph-fuse", "glusterfs", "gpfs", "lustre", "moosefs"),
        *("ocfs2", "orangefs", "pvfs2", "panfs", "wekafs"),
    }
)

MOUNTS = Path("/proc/self/mountinfo")


#: Parts of the place of a ledger on a server: cluster, database and table.
_SERVER_PARTS = 3


def same_place(recorded: str, current: str) -> bool:
    """Compare two places: on a server all parts, in a file system those that both of them have.

    Places without a common part are different, unless nothing is known of the current one.
    """
    old_parts = recorded.partition(" ")[0].split("@")
    new_parts = current.partition(" ")[0].split("@")
    if len(new_parts) == _SERVER_PARTS:
        return old_parts == new_parts
    is_shared = False
    for old, new in zip(old_parts, new_parts, strict=False):
        if old and new:
            is_shared = True
            if old != new:
                return False
    return is_shared or not any(new_parts)


def place_of(path: str) -> str:
    """Return the identity of a file, which a copy does not have, and its path.

    The identity is inode number and time of birth; either is left out if the system has none. A new
    file often gets the inode number of a deleted one, hence the birth. The number of the device
    would change at the next start of the machine. The path is not compared (`same_place`): a
    renamed file is the same one.
    """
    number, born = os.stat(path).st_ino, _birth(path)
    if not number:
        return ""
    identity = str(number) if born is None else f"{number}@{born}"
    try:
        path.encode()
    except UnicodeEncodeError:
        return identity  # a name in another encoding can't be recorded
    return f"{identity} {path}"


def files_at(recorded: str, path: str) -> list[str]:
    """Return files other than `path` that lie at a recorded place: there, or beside `path`."""
    identity, _, recorded_path = recorded.partition(" ")
    number = identity.partition("@")[0]
    if not number:
        return []
    names = {recorded_path}
    # A folder may be closed to those who list it.
    with suppress(OSError), os.scandir(os.path.dirname(path)) as beside:
        names |= {file.path for file in beside if str(file.inode()) == number}
    return [
        name
        for name in sorted(filter(os.path.isfile, names - {path, ""}))
        if same_place(recorded, place_of(name))
    ]


def check_file_system(path: str, device: int) -> None:
    """Refuse a network file system, or a file that is mounted alone."""
    kind, alone = _mounted(path, device)
    if kind.removeprefix("fuse.") in NETWORK_FILE_SYSTEMS or path.startswith(("\\\\", "//")):
        raise LedgerError(
            f"it is on a network file system ({kind or 'a network share'}), where locks may not "
            "hold between machines and a budget could be spent twice; put it on a local disk "
            "(for an unnamed ledger: set TMPDIR to a local folder). Nothing was released"
        )
    if alone:
        raise LedgerError(
            "the file alone is mounted here, without the folder in which an interrupted write "
            "would be found; mount its folder instead. Nothing was released"
        )


def _birth(path: str) -> int | None:
    """Return the time of birth of a file, in the unit of its system; None if not recorded."""
    status = os.stat(path)
    born: float | None = getattr(status, "st_birthtime", None)  # macOS, BSD, newer Pythons
    if born is not None:
        return int(1e6 * born)
    if sys.platform == "win32":
        return status.st_ctime_ns
    function = _statx()
    if function is None:
        return None
    # struct statx: the mask of valid fields, and from byte 80 on the birth: seconds, nanoseconds.
    answer = ctypes.create_string_buffer(256)
    failed = function(_HERE, os.fsencode(path), 0, _BIRTH, answer)
    if failed or not int.from_bytes(answer.raw[:4], sys.byteorder) & _BIRTH:
        return None
    seconds, nanoseconds = struct.unpack_from("=qI", answer.raw, 80)
    return int(seconds) * 10**9 + int(nanoseconds)


_HERE, _BIRTH = -100, 0x800  # AT_FDCWD, STATX_BTIME


@lru_cache(maxsize=1)
def _statx() -> Callable[..., int] | None:
    """Return Linux's system call for the birth of files, which Python has from 3.15 on."""
    try:
        function: Callable[..., int] = ctypes.CDLL(None).statx
    except (AttributeError, OSError, TypeError):
        return None
    kinds = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)
    function.argtypes = kinds  # type: ignore[attr-defined]
    return function


@lru_cache(maxsize=64)
def _mounted(path: str, device: int) -> tuple[str, bool]:
    """Return the kind of file system (empty if unknown), and True if the file alone is mounted."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return "", False
    number, kind, alone = f"{os.major(device)}:{os.minor(device)}", "", False
    for line in lines:
        mount, _, source = line.partition(" - ")
        fields = mount.split()
        if fields[2] == number:
            kind = source.split()[0]
            alone = alone or fields[4] == path
    return kind, alone


#: Largest difference between the clocks of two machines that is accepted.
_TOLERANCE = timedelta(minutes=10)


def clock_fault(recorded: str, name: str) -> str:
    """Explain that the clock is behind the last entry of a ledger; empty if it is not."""
    now = datetime.now(UTC)
    if datetime.fromisoformat(recorded) <= now + _TOLERANCE:
        return ""
    return (
        f"the clock of this machine says {now.isoformat(timespec='seconds')}, and the last entry "
        f"was recorded at {recorded}: set the clock. If it is right now, and was ahead then, "
        f"PrivacyAccountant.open({name!r}, accept='clock') (or 'secretballot ledger accept "
        "FILE --clock') goes on and records that. Nothing was released"
    )
