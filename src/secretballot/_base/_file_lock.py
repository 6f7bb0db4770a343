"""Locks of files, which end with the process that holds them."""

from __future__ import annotations

import os
import struct
import sys

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
        """Return True: waiting in line is for other systems."""
        return True

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock a file for this process until it is closed; False if another has locked it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release a lock."""
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
