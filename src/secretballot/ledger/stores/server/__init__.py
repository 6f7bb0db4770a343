"""Ledgers on a PostgreSQL server, with a mark on each machine that spends from them."""

from secretballot.ledger.stores.server._scripts import roles_script
from secretballot.ledger.stores.server._server_store import ServerStore
from secretballot.ledger.stores.server._server_url import is_url

__all__ = ["ServerStore", "is_url", "roles_script"]
