"""Locks of files, and private folders, which end with the process that has them."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import struct
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

#: Windows locks bytes instead of files: the byte behind the contents.
_LOCKED_BYTE = 4096

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

    def unlock(descriptor: int) -> None:
        """Release a lock."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

    def try_turn(descriptor: int) -> bool:
        return True  # waiting in line is for other systems

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def try_turn(descriptor: int) -> bool:
        """Take the first place among those who wait for a file's lock; False if it is taken.

        It is a lock of its own, of a byte behind the contents, until the descriptor is closed.
        Where open files have no such locks (other than on Linux) nobody waits in line, and this is
        True.
        """
        kind = getattr(fcntl, "F_OFD_SETLK", None)
        if kind is None:
            return True
        # struct flock: write lock, from the start of the file, first byte, number of bytes, process
        lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, _LOCKED_BYTE, 1, 0)
        try:
            fcntl.fcntl(descriptor, kind, lock)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True


_PREFIX, _LOCK = "secretballot-", "lock"
#: End of the name of a folder that is being deleted.
_DELETED = ".deleted"


class PrivateFolder:
    """Folder that only this user can read, deleted with the object or when the process ends.

    Python deletes nothing when a process is killed. Its lock ends, though, and the next process
    that makes such a folder beside it deletes it. (A forked child holds the same lock.)
    """

    def __init__(self, parent: str) -> None:
        self.owner = os.getpid()
        self.parent = parent
        _delete_abandoned(parent)
        self.path = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        # Under its name the lock is held from the first moment.
        new = os.path.join(self.path, "new")
        self._lock = open(new, "wb")  # noqa: SIM115 - held until the process ends
        self._lock.write(_machine())
        self._lock.flush()
        try_lock(self._lock.fileno())
        with suppress(OSError):  # an open file keeps its name on Windows: nothing is swept there
            os.rename(new, os.path.join(self.path, _LOCK))
        # Finalizers run last in, first out: the folder is empty when its turn comes.
        self._finalizer = weakref.finalize(self, _remove, self.path, self.owner, self._lock)

    def delete(self) -> None:
        self._finalizer()


def _machine() -> bytes:
    return platform.node().encode()


def _remove(path: str, owner: int, lock: BinaryIO) -> None:
    lock.close()  # a forked child keeps it
    if os.getpid() == owner:
        # Tasks that still run can't add files to a folder of another name.
        deleted = f"{path}{_DELETED}"
        try:
            os.rename(path, deleted)
        except OSError:  # files are open on Windows
            deleted = path
        shutil.rmtree(deleted, ignore_errors=True)


def _delete_abandoned(parent: str) -> None:
    """Delete folders of this user's processes that were killed: their locks are free."""
    for folder in Path(parent).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if is_own and stat.S_ISDIR(status.st_mode):
                if folder.name.endswith(_DELETED):
                    shutil.rmtree(folder, ignore_errors=True)
                    continue
                with open(folder / _LOCK, "r+b") as lock:
                    # Other machines may not see each other's locks.
                    if lock.read() == _machine() and try_lock(lock.fileno()):
                        shutil.rmtree(folder, ignore_errors=True)
