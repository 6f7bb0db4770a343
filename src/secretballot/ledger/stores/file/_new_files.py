"""Creation of the files of a ledger, which replaces no other file, and their deletion."""

from __future__ import annotations

import os
from contextlib import suppress

from secretballot._base._errors import LedgerError
from secretballot.ledger.stores.file._foreign import describe_foreign
from secretballot.ledger.stores.file._mark import mark_path, read_slots

#: Endings of files beside a database that SQLite takes for its own, and deletes.
_JOURNALS = ("-journal", "-wal", "-shm")
_MARK = mark_path("")


def check_name(path: str) -> None:
    """Refuse a name with the ending of a file that belongs to another ledger."""
    for ending in (_MARK, *_JOURNALS):
        if path.endswith(ending):
            raise LedgerError(
                f"ledger={path!r} ends in {ending!r}: so are files called that belong to a ledger "
                f"{path.removesuffix(ending)!r} and are written over or deleted with it; name it "
                "otherwise."
            )


def create_files(path: str) -> None:
    """Make a ledger's file and its mark, both empty and readable by their owner only.

    LedgerError if one of them exists, or a file that SQLite would take for its own.
    """
    try:
        _create_empty(path, path)
    except FileExistsError:
        if what := describe_foreign(path):
            raise LedgerError(
                f"ledger={path!r} exists already, and is no ledger but {what}. Nothing of it was "
                f"changed; name a new file, such as {_new_name(path)!r}."
            ) from None
        raise LedgerError(
            f"ledger={path!r} exists already; PrivacyAccountant.open({path!r}) continues its "
            "budget. (A second budget for the same data would add to the first: name another "
            "file only for other data.)"
        ) from None
    try:
        _create_mark(path)
    except BaseException:
        os.unlink(path)
        raise


def _new_name(path: str) -> str:
    """Propose the name of a ledger, in a folder or beside another file."""
    parent = path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.join(parent, "budget.ledger")


def delete_files(path: str) -> None:
    """Delete a ledger with its mark and journal."""
    for name in (path, path + _JOURNALS[0], mark_path(path)):
        # A name may be too long for the file system.
        with suppress(OSError):
            os.unlink(name)


def _create_empty(name: str, path: str) -> None:
    """Make a file of the ledger `path`; FileExistsError if it is there."""
    try:
        # SQLite gives its journal the mode of the ledger.
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise
    except OSError as error:
        raise LedgerError(
            f"ledger={path!r} can't be created: {error.strerror}; name a file in a folder that "
            "exists and can be written."
        ) from error


def _create_mark(path: str) -> None:
    for ending in _JOURNALS:
        if os.path.lexists(path + ending):
            raise LedgerError(
                f"ledger={path!r} can't be created: the file {path + ending!r} would be taken for "
                "a part of it, and deleted. Move it away, or name the ledger otherwise."
            )
    try:
        _create_empty(mark_path(path), path)
    except FileExistsError:
        mark = read_slots(path).mark
        count = f"; it says that {mark.sequence} entries had been recorded" if mark else ""
        raise LedgerError(
            f"ledger={path!r} is not there, but its mark {mark_path(path)!r} is{count}. A ledger "
            "that was deleted is no fresh budget: what was released from it stays spent. Put the "
            "ledger back (PrivacyAccountant.open with accept='moved' goes on with a copy that has "
            "all of its entries); for other data name another file. Only where nothing was ever "
            "released from it, delete the mark as well."
        ) from None
