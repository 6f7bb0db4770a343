"""Ledgers in a SQLite file on a local disk, with a mark beside it."""

from secretballot.ledger.stores.file._file_store import FileStore

__all__ = ["FileStore"]
