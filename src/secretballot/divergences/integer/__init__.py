"""What integer counts reveal with Skellam noise: two of them, the largest of many, all of them."""

from secretballot.divergences.integer._draw_skellam import draw_skellam
from secretballot.divergences.integer._integer_bit import IntegerBit, IntegerCounts
from secretballot.divergences.integer._integer_max import IntegerMax
from secretballot.divergences.integer._integer_winner import winner_log_probabilities

__all__ = [
    "IntegerBit",
    "IntegerCounts",
    "IntegerMax",
    "draw_skellam",
    "winner_log_probabilities",
]
