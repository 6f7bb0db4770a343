"""The page of a ledger, served by HTTP to read it: it can't spend."""

from secretballot.serving._ledger_page import LedgerPage
from secretballot.serving._page_server import PageServer

__all__ = ["LedgerPage", "PageServer"]
