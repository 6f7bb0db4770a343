"""Choice of a store by the name of a ledger."""

from __future__ import annotations

import os

from secretballot.ledger.stores._store import Store
from secretballot.ledger.stores.file import FileStore
from secretballot.ledger.stores.server import ServerStore, is_url


def named_store(name: str | os.PathLike[str]) -> Store:
    """Return the store of a ledger; TypeError or ValueError if that is no name."""
    if is_url(name):
        return ServerStore(os.fspath(name))
    return FileStore.at(name)


def pickled_store(name: str, is_temporary: bool) -> Store:
    """Return the store that a pickle names; nothing is opened."""
    return ServerStore(name) if is_url(name) else FileStore(name, is_temporary)
