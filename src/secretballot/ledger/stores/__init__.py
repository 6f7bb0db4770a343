"""Stores of ledgers: where their rows are kept, in transactions."""

from secretballot.ledger.stores._named_store import named_store, pickled_store
from secretballot.ledger.stores._slots import SLOTS, Mark
from secretballot.ledger.stores._store import (
    TABLES,
    Rows,
    Store,
    Written,
    meaning,
    naming,
    same_place,
)
from secretballot.ledger.stores._waiting import showing
from secretballot.ledger.stores.file import FileStore
from secretballot.ledger.stores.server import is_url, roles_script

__all__ = [
    "SLOTS",
    "FileStore",
    "Mark",
    "Rows",
    "Store",
    "TABLES",
    "Written",
    "is_url",
    "meaning",
    "named_store",
    "naming",
    "pickled_store",
    "roles_script",
    "same_place",
    "showing",
]
