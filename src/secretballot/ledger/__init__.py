"""The ledger, which records a budget and every spend.

It stores costs. The accounting decides which of them a budget allows.
"""

from secretballot.ledger._budget import (
    ONLY_LEVEL,
    AskedOrder,
    Budget,
    Cap,
    LevelBudget,
    Scope,
    budget_levels,
    check_cap,
    is_text,
)
from secretballot.ledger._entry import LedgerEntry, to_json
from secretballot.ledger._export import export
from secretballot.ledger._interrupts import HeldInterrupts
from secretballot.ledger._ledger import Ledger, Walk
from secretballot.ledger._reserved import Reserved
from secretballot.ledger._totals import Totals
from secretballot.ledger._transaction import Transaction
from secretballot.ledger.stores import roles_script, showing

__all__ = [
    "AskedOrder",
    "Budget",
    "Cap",
    "HeldInterrupts",
    "Ledger",
    "LedgerEntry",
    "LevelBudget",
    "ONLY_LEVEL",
    "Reserved",
    "Scope",
    "Totals",
    "Transaction",
    "Walk",
    "budget_levels",
    "check_cap",
    "export",
    "is_text",
    "roles_script",
    "showing",
    "to_json",
]
