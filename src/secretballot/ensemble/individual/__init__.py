"""Individual budgets: copies, weights or turns of ballots, from public levels."""

from secretballot.ensemble.individual._levels import Levels, check_levels, level_names
from secretballot.ensemble.individual._plan import Individualization, Plan
from secretballot.ensemble.individual._upsampling import Upsampling
from secretballot.ensemble.individual._vanishing import Vanishing
from secretballot.ensemble.individual._weighting import Weighting

__all__ = [
    "Individualization",
    "Levels",
    "Plan",
    "Upsampling",
    "Vanishing",
    "Weighting",
    "check_levels",
    "level_names",
]
