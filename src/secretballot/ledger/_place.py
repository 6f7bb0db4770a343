"""Where a ledger lies: whether it is the original, and whether locks hold there."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from secretballot._errors import LedgerError

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
    """Return what tells this file from a copy of it: its number in the file system.

    Not the device: its number changes when a machine is started again. The empty string where
    files have no numbers.
    """
    number = os.stat(path).st_ino
    return str(number) if number else ""


def check_place(path: str, recorded: str) -> None:
    """Refuse to spend from a copy, or where two machines could spend at once."""
    try:
        status = os.stat(path)
    except OSError:
        return  # Opening it says it better.
    check_file_system(path, status.st_dev)
    if status.st_nlink > 1:
        raise LedgerError(
            f"it has {status.st_nlink} names (hard links), and an interrupted write would be "
            "found under one of them only; keep one name"
        )
    here = place_of(path)
    if recorded and here and here != recorded:
        raise LedgerError(
            "it is a copy, was restored from one, or was moved from another disk: what the "
            "original has spent since is not in it, and both together could spend the budget "
            "twice. If the original is gone and nothing was spent from it since, "
            f"PrivacyAccountant.open({path!r}, moved=True) continues here and records the move. "
            "Nothing was released"
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


@lru_cache(maxsize=64)
def _mounted(path: str, device: int) -> tuple[str, bool]:
    """Return the kind of file system, if the system tells, and whether it holds only this file."""
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
