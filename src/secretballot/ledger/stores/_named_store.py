"""Choice of a store by the name of a ledger."""

from __future__ import annotations

import os

from secretballot.ledger.stores._store import Store
from secretballot.ledger.stores.file import FileStore


def named_store(name: str | os.PathLike[str]) -> Store:
    """Return the store of a ledger; TypeError or ValueError if that is no name."""
    return FileStore.at(name)


def pickled_store(name: str, is_temporary: bool) -> Store:
    """Return the store that a pickle names; nothing is opened."""
    return FileStore(name, is_temporary)
