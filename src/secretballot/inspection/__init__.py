"""Displays in scikit-learn's style, which need matplotlib when they draw, and what they show."""

from secretballot._base._objects import published
from secretballot.inspection._budget_display import BudgetDisplay
from secretballot.inspection._label_scores import LabelScores, label_scores
from secretballot.inspection._labels_display import LabelsDisplay
from secretballot.inspection._show_progress import show_progress
from secretballot.inspection._terms_display import TermsDisplay

__all__ = [
    "BudgetDisplay",
    "LabelScores",
    "LabelsDisplay",
    "TermsDisplay",
    "label_scores",
    "show_progress",
]

published(globals())
