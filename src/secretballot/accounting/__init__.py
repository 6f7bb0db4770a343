"""Costs of releases, budgets, and the accountant that spends them.

Names that are imported as themselves are for other folders of the library, not for users.
"""

from secretballot._errors import (
    BudgetExceededError,
    CompletedInterrupt,
    LedgerError,
    PrivacyLeakWarning,
)
from secretballot._public import published
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._answer_amount import Share as Share
from secretballot.accounting._answer_amount import answer_scope as answer_scope
from secretballot.accounting._answer_amount import check_amount as check_amount
from secretballot.accounting._budget_view import budget_view as budget_view
from secretballot.accounting._epsilon_factor import epsilon_factor as epsilon_factor
from secretballot.accounting._random import is_seeded as is_seeded
from secretballot.accounting._random import noise_generator as noise_generator
from secretballot.accounting._release_words import entry_text as entry_text
from secretballot.accounting._replay import replay as replay
from secretballot.accounting._replay import spent_by_level as spent_by_level
from secretballot.accounting._report import PrivacyRemaining, PrivacySpent
from secretballot.accounting._statement import PrivacyStatement
from secretballot.accounting._unnamed_budgets import UnnamedBudget as UnnamedBudget
from secretballot.accounting.pricing import answered_rows as answered_rows
from secretballot.accounting.reserving import Reservation
from secretballot.divergences import EVERYONE, ORDERS, GaussianCost, RenyiCost
from secretballot.games import PlanPrice, plan_rows, price_plan
from secretballot.ledger import Scope

__all__ = [
    "PrivacyAccountant",
    "PrivacySpent",
    "PrivacyRemaining",
    "PrivacyStatement",
    "Reservation",
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
