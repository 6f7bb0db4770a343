"""Displays in scikit-learn's style; they need matplotlib when they draw."""

from secretballot._public import published
from secretballot.inspection._budget_display import BudgetDisplay

__all__ = ["BudgetDisplay"]

published(globals())
