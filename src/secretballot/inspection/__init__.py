"""Displays in scikit-learn's style; they need matplotlib when they draw."""

from secretballot.inspection._budget_display import BudgetDisplay

__all__ = ["BudgetDisplay"]

BudgetDisplay.__module__ = __name__
