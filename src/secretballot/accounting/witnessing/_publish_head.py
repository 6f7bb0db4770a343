"""Publication of a signed head."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from datetime import UTC, datetime
from io import FileIO

from secretballot._errors import WitnessError
from secretballot._file_lock import try_lock, unlock
from secretballot.accounting.witnessing._head_log import HeadLog, check_witnessable
from secretballot.accounting.witnessing._signed_head import SignedHead
from secretballot.accounting.witnessing._signing_keys import (
    File,
    key_id,
    read_public_keys,
    read_signing_key,
)
from secretballot.ledger import Ledger

#: Seconds to wait for another process that appends a head.
_PATIENCE = 10.0


def publish_head(
    ledger: Ledger, key: File, path: File, earlier_keys: File | None = None
) -> SignedHead:
    """Check a whole ledger, and append its signed head to a log.

    A ledger that lacks one of the heads in the log is refused with WitnessError, and nothing is
    signed.

    Parameters
    ----------
    ledger : Ledger
    key : path
        The private key.
    path : path
        The log; a new one is made.
    earlier_keys : path, default=None
        Public keys that signed heads of the log before; None: this key alone has.
    """
    check_witnessable(ledger)
    secret, name = read_signing_key(key), os.fspath(path)
    public = secret.public_key()
    keys = {key_id(public): public}
    if earlier_keys is not None:
        keys |= read_public_keys(earlier_keys)
    with _opened(name) as file:
        _lock(name, file)
        try:
            log = HeadLog.parse(name, file.readall(), keys)
            walk = ledger.walk()
            for _ in log.compared(ledger, walk):
                pass
            head = SignedHead(
                ledger_id=ledger.header().ledger_id,
                n_entries=walk.totals.sequence,
                digest=walk.totals.digest,
                time=datetime.now(UTC).isoformat(timespec="seconds"),
                key_id=key_id(public),
            ).signed(secret)
            _append(name, file, head.line)
        finally:
            with suppress(OSError):
                unlock(file.fileno())
    return head


def _opened(path: str) -> FileIO:
    """Open a log, or make one that all may read."""
    try:
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise OSError("it is no regular file; name a file, in a folder that is shared")
        return FileIO(path, "a+", opener=lambda name, flags: os.open(name, flags, 0o644))
    except (OSError, ValueError) as error:
        raise WitnessError(f"The witness {path!r} can't be written: {error}.") from None


def _lock(path: str, file: FileIO) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not try_lock(file.fileno()):
        if time.monotonic() > deadline:
            raise WitnessError(
                f"The witness {path!r} is locked by another process for more than {_PATIENCE:g} s."
            )
        time.sleep(0.02)
    file.seek(0)


def _append(path: str, file: FileIO, line: bytes) -> None:
    """Append a whole line durably, or nothing."""
    size = file.seek(0, os.SEEK_END)
    try:
        if file.write(line) != len(line):
            raise OSError("the disk is full")
        os.fsync(file.fileno())
    except OSError as error:
        with suppress(OSError):
            file.truncate(size)
        raise WitnessError(f"The witness {path!r} can't be written: {error}.") from None
