"""Files of unnamed ledgers, deleted with their last handle or when their process ends."""

from __future__ import annotations

import itertools
import os
import tempfile
import weakref

from secretballot._base._files import PrivateFolder
from secretballot.ledger.stores.file._new_files import create_files, delete_files


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


_folders: list[PrivateFolder] = []
_numbers = itertools.count(1)


def _folder() -> PrivateFolder:
    parent = tempfile.gettempdir()
    if not _folders or not _folders[-1].is_usable(parent):
        _folders.append(PrivateFolder(parent))
    return _folders[-1]
