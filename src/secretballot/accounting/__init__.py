"""Costs of releases, budgets, and the accountant that spends them."""

from secretballot._base._errors import (
    BudgetExceededError,
    CompletedInterrupt,
    LedgerError,
    PrivacyLeakWarning,
)
from secretballot._base._objects import published
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._publish_epsilon import PublishedEpsilon, publish_epsilon
from secretballot.accounting._release_plan import PlannedRelease, ReleasePlan
from secretballot.accounting._report import PrivacyRemaining, PrivacySpent
from secretballot.accounting._reservations import Reservation
from secretballot.accounting._statement import PrivacyStatement
from secretballot.costs._cost import GaussianCost, RenyiCost
from secretballot.costs._groups import EVERYONE
from secretballot.costs._orders import ORDERS
from secretballot.costs._price import PlanPrice, plan_rows, price_plan
from secretballot.ledger._budget import Scope

__all__ = [
    "PublishedEpsilon",
    "publish_epsilon",
    "PrivacyAccountant",
    "PrivacySpent",
    "PrivacyRemaining",
    "PrivacyStatement",
    "Reservation",
    "ReleasePlan",
    "PlannedRelease",
    "Scope",
    "RenyiCost",
    "GaussianCost",
    "ORDERS",
    "EVERYONE",
    "price_plan",
    "plan_rows",
    "PlanPrice",
    "BudgetExceededError",
    "CompletedInterrupt",
    "LedgerError",
    "PrivacyLeakWarning",
]

published(globals())
