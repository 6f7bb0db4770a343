"""The exponential mechanism: the largest of many scores with Gumbel noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri_exp

from secretballot.divergences._law import Move
from secretballot.divergences._orders import ORDERS, Floats

#: Rounding, relative and of the logarithms that a divergence is a difference of.
_RELATIVE, _OF_LOGARITHMS = 1e-11, 1e-15


@dataclass(frozen=True, kw_only=True)
class BoundedRange(Move):
    """Releases which score is largest with Gumbel noise: log ratios lie in an interval of `width`.

    Between neighbours each candidate's score changes by something; `width` is how far apart these
    changes can be, over the scale of the noise. It costs the same on all data.

    Notes
    -----
    Of all pairs of laws whose log ratios lie in [t - width, t], the one with two outcomes, of the
    ratios e^t and e^(t - width), is easiest to tell apart: a convex function is below its chord.
    With q = (e^-t - e^-width) / (1 - e^-width) the first has probability q under Q and q e^t under
    P. What a move costs is the largest over t.

    References
    ----------
    Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"
    (ICML 2020); Cesar and Rogers, "Bounding, Concentrating, and Truncating" (ALT 2021), Lemma 17,
    for a width^2 / 8.
    """

    width: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the supremum over all data: its closed form, rounded up."""
        return bounded_range_renyi(self.width, ORDERS if orders is None else np.asarray(orders))

    def exact(self, state: Any) -> Floats:
        """Return the supremum over all data, for each row."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))

    def dominated_by(self, other: Move) -> bool:
        """Compare widths."""
        return isinstance(other, BoundedRange) and self.width <= other.width

    @cached_property
    def ratio(self) -> float:
        """Shift in standard deviations of a noisy number that tells at least as much.

        The normal law has to reach the one corner of a two-outcome law's trade-off; the symmetrical
        one, t = width / 2, asks for most.
        """
        return pure_ratio(self.width / 2)


def pure_ratio(epsilon: float) -> float:
    """Return the shift of a noisy number that tells as much as randomised response."""
    return float(-2 * ndtri_exp(-np.logaddexp(0.0, epsilon))) * (1 + 1e-12)


def bounded_range_renyi(width: float, orders: ArrayLike) -> Floats:
    """Renyi divergence of a move whose log ratios lie in an interval of `width`, rounded up.

    Notes
    -----
    With x = e^t the moment at order a is

        (x^(a-1) (1 - e^(-a width)) - x^a (e^-width - e^(-a width))) / (1 - e^-width),

    largest at x = ((a - 1) / a) (1 - e^(-a width)) / (e^-width - e^(-a width)).
    """
    a = np.asarray(orders, dtype=np.float64)
    out = np.full(a.shape, float(width))
    finite = np.isfinite(a)
    at = a[finite]
    if width > 0 and np.isfinite(width):
        whole, rest = -np.expm1(-at * width), -np.expm1(-(at - 1) * width)
        # Logarithms of quotients: those of small numbers would be rounded by more than is left.
        log_x = np.log1p(-1 / at) + width + np.log(whole / rest)
        last = np.log(whole / (at * -np.expm1(-width)))
        moment = (at - 1) * log_x + last
        error = _OF_LOGARITHMS * ((at - 1) * (1 + width + np.abs(log_x)) + 4 + np.abs(last))
        divergence = (np.maximum(moment, 0.0) + error) / (at - 1) * (1 + _RELATIVE)
        out[finite] = np.minimum(np.minimum(divergence, at * width**2 / 8), width)
    return out
