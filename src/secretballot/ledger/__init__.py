"""The ledger, which records a budget and every spend.

It stores costs. The accounting decides which of them a budget allows.
"""

from secretballot.ledger._budget import (
    ONLY_LEVEL,
    RELATIONS,
    UNITS,
    AskedOrder,
    Budget,
    Cap,
    LevelBudget,
    Scope,
    budget_levels,
    check_cap,
    is_text,
)
from secretballot.ledger._child import NAME_SEPARATOR, Child, Grant, is_child_name
from secretballot.ledger._child_ledger import ChildLedger
from secretballot.ledger._encoding import charge_digits, to_json
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._export import export
from secretballot.ledger._interrupts import HeldInterrupts
from secretballot.ledger._ledger import Accepted, Ledger
from secretballot.ledger._moving import move
from secretballot.ledger._reserved import Reserved
from secretballot.ledger._totals import Totals
from secretballot.ledger._transaction import Transaction
from secretballot.ledger.stores import is_url, roles_script, showing

__all__ = [
    "Accepted",
    "AskedOrder",
    "Budget",
    "Cap",
    "Child",
    "ChildLedger",
    "Grant",
    "HeldInterrupts",
    "Ledger",
    "LedgerEntry",
    "LevelBudget",
    "NAME_SEPARATOR",
    "ONLY_LEVEL",
    "RELATIONS",
    "Reserved",
    "Scope",
    "Totals",
    "Transaction",
    "UNITS",
    "budget_levels",
    "charge_digits",
    "check_cap",
    "export",
    "is_child_name",
    "is_text",
    "is_url",
    "move",
    "roles_script",
    "showing",
    "to_json",
]
