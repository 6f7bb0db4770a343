"""A whole plan priced as a game against an adversary who chooses the data row by row."""

from secretballot.games._parted_plan import (
    PartedPlan,
    PlanPiece,
    What,
    answers_of,
    has_game,
    most_rows,
    thresholds_of,
)
from secretballot.games._plan_noise import least_plan_noise
from secretballot.games._plan_price import PlanPrice
from secretballot.games._price import Planned, plan_rows, plan_shares, price_plan
from secretballot.games._worst_game import FINE, Fineness

__all__ = [
    "FINE",
    "Fineness",
    "PartedPlan",
    "PlanPiece",
    "PlanPrice",
    "Planned",
    "What",
    "answers_of",
    "has_game",
    "least_plan_noise",
    "most_rows",
    "plan_rows",
    "plan_shares",
    "price_plan",
    "thresholds_of",
]
