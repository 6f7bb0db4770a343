"""Commands of the command line on a ledger: to administer, price and look at it."""

from secretballot._ledger_commands._administering import add_administration
from secretballot._ledger_commands._child_budgets import add_children
from secretballot._ledger_commands._console import (
    STANDARD_OUTPUT,
    CommandError,
    add_json,
    in_commands,
    put_page,
)
from secretballot._ledger_commands._looking import show, verify, warn_of_copy
from secretballot._ledger_commands._pricing import add_price

__all__ = [
    "CommandError",
    "STANDARD_OUTPUT",
    "add_administration",
    "add_children",
    "add_json",
    "add_price",
    "in_commands",
    "put_page",
    "show",
    "verify",
    "warn_of_copy",
]
