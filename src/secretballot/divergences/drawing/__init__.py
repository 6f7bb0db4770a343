"""Random numbers whose tails are not cut off, however far out they are."""

from secretballot.divergences.drawing._full_tails import draw_exponential as draw_exponential
from secretballot.divergences.drawing._full_tails import draw_gumbel as draw_gumbel
from secretballot.divergences.drawing._full_tails import draw_laplace as draw_laplace
from secretballot.divergences.drawing._full_tails import draw_uniform as draw_uniform
