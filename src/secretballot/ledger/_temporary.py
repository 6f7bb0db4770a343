"""The files of unnamed ledgers: gone with their last handle, and with the process at the latest."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
import weakref
from contextlib import suppress

from secretballot.ledger._new_files import create_files, delete_files


class TemporaryFile:
    """The file of an unnamed ledger, deleted with the last handle of the process that made it."""

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
    """The private folder of a process, with its unnamed ledgers; deleted when the process ends.

    Python deletes nothing when a process is killed or told to terminate. A handler of the signal
    would: it would also delay the end until whatever computes without Python's knowledge is done,
    change what forked children do when they are told to terminate, and compete with handlers of the
    program. So a shell watches, a megabyte or less: it waits at a pipe that only this process can
    write to, and when the system closes that, however the process ended, deletes the folder and
    ends. It is no child of this process, reads and writes nothing else, and ignores what ends
    groups of processes. Where there is no shell, a process that is killed leaves its folder behind.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.parent = tempfile.gettempdir()
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="secretballot-"))
        # Finalizers run last in, first out: the folder is empty when its turn comes.
        weakref.finalize(self, _remove, self.path, self.owner)
        self.pipe = _watch(self.path)

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


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


# The outer shell ends at once: the watching one is nobody's child, and is never waited for.
_WATCH = """
exec 3<&0
( trap "" HUP INT QUIT TERM; read line <&3; rm -rf -- "$1" ) </dev/null &
"""


def _watch(path: str) -> int | None:
    """Have a folder deleted when the pipe that is returned is closed."""
    if not os.path.exists("/bin/sh"):
        return None
    read, write = os.pipe()
    try:
        subprocess.run(
            ["/bin/sh", "-c", _WATCH, "sh", path],
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin"},
            cwd="/",
            start_new_session=True,
            check=False,
        )
    except OSError:
        os.close(write)
        return None
    finally:
        os.close(read)
    return write


def _forget() -> None:
    """Let go of the parent's pipes: its folders go when it ends, not when its children do."""
    for folder in _folders:
        if folder.pipe is not None:
            with suppress(OSError):
                os.close(folder.pipe)
            folder.pipe = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
