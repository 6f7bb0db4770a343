"""Individual budgets: who votes with what weight on which rows, from public levels."""

from secretballot.ensemble.individual._levels import Levels, check_levels
from secretballot.ensemble.individual._plan import Plan
from secretballot.ensemble.individual._upsampling import Upsampling
from secretballot.ensemble.individual._vanishing import Vanishing
from secretballot.ensemble.individual._weighting import Weighting

__all__ = [
    "Levels",
    "Plan",
    "Upsampling",
    "Vanishing",
    "Weighting",
    "check_levels",
]
