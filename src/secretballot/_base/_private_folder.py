"""Private folders of a process, deleted when it ends, or after it was killed."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from secretballot._base._file_lock import try_lock

_PREFIX, _LOCK = "secretballot-", "lock"
#: End of the name of a folder that is being deleted.
_DELETED = ".deleted"


class PrivateFolder:
    """Folder that only this user can read, deleted with the object or when the process ends.

    Python deletes nothing when a process is killed. Its lock ends, though, and the next process
    that makes such a folder beside it deletes it. (A forked child holds the same lock.)

    Parameters
    ----------
    parent : str
        Folder in which it is made.
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

    def is_usable(self, parent: str) -> bool:
        """Return True while the folder exists, and this process made it in this parent."""
        return self.owner == os.getpid() and self.parent == parent and os.path.isdir(self.path)

    def delete(self) -> None:
        """Delete the folder and all that is in it."""
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
