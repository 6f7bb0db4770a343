"""Random numbers whose tails are not cut off, however far out they are."""

from secretballot.divergences.drawing._full_tails import (
    draw_exponential,
    draw_gumbel,
    draw_laplace,
    draw_uniform,
)

__all__ = ["draw_exponential", "draw_gumbel", "draw_laplace", "draw_uniform"]
