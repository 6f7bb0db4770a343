"""Moves on integer counts with Skellam noise: two counts, the largest of many, all of them."""

from secretballot.costs.integer._integer_bit import IntegerBit as IntegerBit
from secretballot.costs.integer._integer_bit import IntegerCounts as IntegerCounts
from secretballot.costs.integer._integer_max import IntegerMax as IntegerMax
from secretballot.costs.integer._skellam import draw_skellam as draw_skellam
from secretballot.costs.integer._skellam import winner_log_probabilities as winner_log_probabilities
