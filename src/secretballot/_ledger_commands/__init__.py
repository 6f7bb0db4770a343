"""Commands of the command line on a ledger: to administer, price, look at and watch it."""

from secretballot._ledger_commands._administering import add_administration
from secretballot._ledger_commands._child_budgets import add_children
from secretballot._ledger_commands._console import CommandError, add_json
from secretballot._ledger_commands._looking import show, verify, warn_of_copy
from secretballot._ledger_commands._pricing import add_price
from secretballot._ledger_commands._watching import (
    add_watching,
    add_witness,
    check_witness,
    witness_of,
)

__all__ = [
    "CommandError",
    "add_administration",
    "add_children",
    "add_json",
    "add_price",
    "add_watching",
    "add_witness",
    "check_witness",
    "show",
    "verify",
    "warn_of_copy",
    "witness_of",
]
