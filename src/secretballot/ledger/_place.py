"""Place of a ledger: its identity in the file system, and file systems without reliable locks."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from secretballot._base._errors import LedgerError
from secretballot.ledger._store import same_place

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


def place_of(path: str) -> str:
    """Return the identity of a file, which a copy does not have, and its path.

    The identity is inode number and time of birth. The number of the device would change at the
    next start of the machine. A new file often gets the inode number of a deleted one, hence the
    birth. Either is left out where there is none. The path is no part of it: a renamed file is the
    same one.
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


def check_spendable(path: str) -> None:
    """Refuse a place where two machines could spend at once, or a crash could lose a spend."""
    status = os.stat(path)
    check_file_system(path, status.st_dev)
    if status.st_nlink > 1:
        raise LedgerError(
            f"it has {status.st_nlink} names (hard links), and an interrupted write would be "
            "found under one of them only; keep one name"
        )


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
