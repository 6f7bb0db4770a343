"""A whole plan priced as a game against an adversary who chooses the data row by row."""

from secretballot.games._plan_noise import least_plan_noise
from secretballot.games._plan_price import PlanPrice
from secretballot.games._price import find_most_rows, plan_rows, price_plan
from secretballot.games._split_plan import (
    PlanPiece,
    RowPart,
    SplitPlan,
    answer_steps,
    has_game,
    threshold_steps,
)
from secretballot.games.moves import FINE, Fineness

__all__ = [
    "FINE",
    "Fineness",
    "SplitPlan",
    "PlanPiece",
    "PlanPrice",
    "RowPart",
    "answer_steps",
    "has_game",
    "least_plan_noise",
    "find_most_rows",
    "plan_rows",
    "price_plan",
    "threshold_steps",
]
