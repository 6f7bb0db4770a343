"""What releases cost, what a budget allows, and the ledger that remembers what was spent."""

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._budget import Scope
from secretballot.accounting._calibrate import calibrate
from secretballot.accounting._cost import ORDERS, RenyiCost
from secretballot.accounting._errors import BudgetExceededError, LedgerError, PrivacyLeakWarning
from secretballot.accounting._game_price import PlanPrice, plan_rows, price_plan
from secretballot.accounting._protocol import EVERYONE
from secretballot.accounting._report import PrivacyRemaining, PrivacySpent
from secretballot.accounting._statement import PrivacyStatement

__all__ = [
    "PrivacyAccountant",
    "PrivacySpent",
    "PrivacyRemaining",
    "PrivacyStatement",
    "Scope",
    "RenyiCost",
    "ORDERS",
    "EVERYONE",
    "calibrate",
    "price_plan",
    "plan_rows",
    "PlanPrice",
    "BudgetExceededError",
    "LedgerError",
    "PrivacyLeakWarning",
]

# Errors, pickles and the documentation name the path that users import from.
for _name in __all__:
    if hasattr(globals()[_name], "__module__") and not isinstance(globals()[_name], str):
        globals()[_name].__module__ = __name__
