"""Files of unnamed ledgers, deleted with their last handle or when their process ends."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from secretballot.ledger._mark import try_lock
from secretballot.ledger._new_files import create_files, delete_files

_PREFIX, _LOCK = "secretballot-", "lock"


class TemporaryFile:
    """File of an unnamed ledger, deleted with the last handle of the process that made it."""

    def __init__(self) -> None:
        folder = _folder()
        self.path = os.path.join(folder.path, f"{next(_numbers)}.ledger")
        create_files(self.path)
        weakref.finalize(self, _delete, self.path, os.getpid())
        _temporary[self.path] = self


#: Handles that are unpickled in the process that made the file keep it alive too.
_temporary: weakref.WeakValueDictionary[str, TemporaryFile] = weakref.WeakValueDictionary()


def temporary_file(path: str) -> TemporaryFile | None:
    """Return the owner of a temporary file of this process, if `path` is one."""
    return _temporary.get(path)


def _delete(path: str, owner: int) -> None:
    # A forked child inherits the finalizer, but the ledger is its parent's.
    if os.getpid() == owner:
        delete_files(path)


class _Folder:
    """Private folder of a process with its unnamed ledgers, deleted when the process ends.

    Python deletes nothing when a process is killed. Its lock ends, though, and the next process
    that makes an unnamed ledger deletes the folder. (A forked child holds the same lock.)
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.parent = tempfile.gettempdir()
        _delete_abandoned(self.parent)
        self.path = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX))
        # Under its name the lock is held from the first moment.
        new = os.path.join(self.path, "new")
        self._lock = open(new, "wb")  # noqa: SIM115 - held until the process ends
        try_lock(self._lock.fileno())
        with suppress(OSError):  # an open file keeps its name on Windows: nothing is swept there
            os.rename(new, os.path.join(self.path, _LOCK))
        # Finalizers run last in, first out: the folder is empty when its turn comes.
        weakref.finalize(self, _remove, self.path, self.owner, self._lock)

    def is_usable(self) -> bool:
        return (
            self.owner == os.getpid()
            and self.parent == tempfile.gettempdir()
            and os.path.isdir(self.path)
        )


_folders: list[_Folder] = []
_numbers = itertools.count(1)


def _folder() -> _Folder:
    if not _folders or not _folders[-1].is_usable():
        _folders.append(_Folder())
    return _folders[-1]


def _remove(path: str, owner: int, lock: BinaryIO) -> None:
    lock.close()  # a forked child keeps it
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def _delete_abandoned(parent: str) -> None:
    """Delete folders of this user's processes that were killed: their locks are free."""
    for folder in Path(parent).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if is_own and stat.S_ISDIR(status.st_mode):
                with open(folder / _LOCK, "r+b") as lock:
                    if try_lock(lock.fileno()):
                        shutil.rmtree(folder, ignore_errors=True)
