"""Moves with a bounded privacy loss: the exponential mechanism, and any purely private release.

Proofs: docs/theory/divergences.md, "Bounded privacy loss".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri_exp

from secretballot._base._cached_property import cached_property
from secretballot.costs._moves import Move
from secretballot.costs._orders import Floats, order_array

#: Rounding: relative, and of the logarithms whose difference a divergence is.
_RELATIVE, _OF_LOGARITHMS = 1e-11, 1e-15


@dataclass(frozen=True, kw_only=True)
class BoundedRange(Move):
    """Release of the largest score with Gumbel noise: log ratios lie in an interval of `width`.

    `width` is the largest difference between the changes of two candidates' scores, over the noise
    scale. The cost is the same on all data.

    References
    ----------
    Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"
    (ICML 2020); Cesar and Rogers, "Bounding, Concentrating, and Truncating" (ALT 2021), Lemma 17,
    for a width^2 / 8.
    """

    width: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum over all data in closed form, rounded up."""
        return bounded_range_renyi(self.width, order_array(orders))

    def dominated_by(self, other: Move) -> bool:
        """Compare widths."""
        return isinstance(other, BoundedRange) and self.width <= other.width

    @cached_property
    def ratio(self) -> float:
        """Shift of a Gaussian pair that dominates the move, in standard deviations."""
        return pure_ratio(self.width / 2)


@dataclass(frozen=True, kw_only=True)
class FewDraws(Move):
    """Release of at most `most` largest scores, one after the other, with Gumbel noise on all.

    Earlier outcomes fix the number n of draws. Fewer draws have less noise: each has log ratios in
    an interval of `width` / sqrt(n + 2), with n rounded up to one of `offered_draws`, so that all
    numbers cost about the same (Durfee and Rogers, "Practical Differentially Private Top-k
    Selection with Pay-what-you-get Composition", NeurIPS 2019, Lemma 4.2).
    """

    width: float
    most: int

    @property
    def draws_by_size(self) -> tuple[tuple[int, BoundedRange], ...]:
        """Offered numbers of draws, each with the move of one draw."""
        return tuple(
            (n, BoundedRange(width=self.width / draw_noise_factor(n)))
            for n in offered_draws(self.most)
        )

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum over all data and numbers of draws."""
        if self.most == 0:
            return np.zeros(len(order_array(orders)))
        costs = [n * draw.worst_case(orders) for n, draw in self.draws_by_size]
        return np.asarray(np.max(costs, axis=0))

    @cached_property
    def ratio(self) -> float:
        """Shift of a Gaussian pair that dominates the move, in standard deviations."""
        return max((float(np.sqrt(n)) * draw.ratio for n, draw in self.draws_by_size), default=0.0)


@dataclass(frozen=True, kw_only=True)
class PureRelease(Move):
    """Release that is `epsilon`-private; its step may have a delta besides.

    Randomised response, which tells the truth with probability e^epsilon / (1 + e^epsilon),
    dominates it.

    References
    ----------
    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy" (ICML 2015).
    """

    epsilon: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the divergence of randomised response, rounded up."""
        a = order_array(orders)
        out = np.full(a.shape, float(self.epsilon))
        finite = np.isfinite(a)
        at = a[finite]
        # p^a q^(1-a) + q^a p^(1-a) with p/q = e^epsilon: cosh((a - 1/2) eps) / cosh(eps / 2).
        moment = _log_cosh((at - 0.5) * self.epsilon) - _log_cosh(self.epsilon / 2)
        bound = (np.maximum(moment, 0.0) * (1 + _RELATIVE) + _OF_LOGARITHMS) / (at - 1)
        gaussian = at * self.epsilon**2 / 2
        out[finite] = np.minimum(np.minimum(bound, gaussian), self.epsilon)
        return out

    def dominated_by(self, other: Move) -> bool:
        """Compare epsilons."""
        return isinstance(other, PureRelease) and self.epsilon <= other.epsilon

    @cached_property
    def ratio(self) -> float:
        """Shift of a Gaussian pair that dominates the move, in standard deviations."""
        return pure_ratio(self.epsilon)


def pure_ratio(epsilon: float) -> float:
    """Compute the shift of the Gaussian pair that dominates randomised response."""
    return float(-2 * ndtri_exp(-np.logaddexp(0.0, epsilon))) * (1 + 1e-12)


def bounded_range_renyi(width: float, orders: ArrayLike) -> Floats:
    """Compute the Renyi divergence of log ratios in an interval of `width`, rounded up."""
    a = np.asarray(orders, dtype=np.float64)
    out = np.full(a.shape, float(width))
    finite = np.isfinite(a)
    at = a[finite]
    if width > 0 and np.isfinite(width):
        first, second = -np.expm1(-at * width), -np.expm1(-(at - 1) * width)
        # Logarithms of quotients: those of small numbers would be rounded by more than they are.
        log_x = np.log1p(-1 / at) + width + np.log(first / second)
        last = np.log(first / (at * -np.expm1(-width)))
        moment = (at - 1) * log_x + last
        error = _OF_LOGARITHMS * ((at - 1) * (1 + width + np.abs(log_x)) + 4 + np.abs(last))
        divergence = (np.maximum(moment, 0.0) + error) / (at - 1) * (1 + _RELATIVE)
        out[finite] = np.minimum(np.minimum(divergence, at * width**2 / 8), width)
    return out


def draw_noise_factor(number: int) -> float:
    """Compute the noise of each of `number` draws over that of a single draw."""
    return float(np.sqrt(number + 2))


def offered_draws(most: int) -> tuple[int, ...]:
    """List the numbers of draws with noise of their own: 1, 2, 3, 4, 6, 8, ... and the most."""
    sizes = {2**power * unit for power in range(most.bit_length()) for unit in (2, 3)} | {1}
    return (*sorted(size for size in sizes if size < most), most) if most else ()


def charged_draws(number: int, most: int) -> int:
    """Round a number of draws up to one of `offered_draws`."""
    return next((size for size in offered_draws(most) if size >= number), 0) if number else 0


def _log_cosh(x: Floats | float) -> Floats:
    """Compute log(cosh(x)) with full relative precision, for small x too."""
    size = np.abs(np.asarray(x, dtype=np.float64))
    far = size + np.log1p(np.exp(-2 * size)) - np.log(2)
    return np.asarray(np.where(size < 1, np.log1p(2 * np.sinh(np.minimum(size, 1) / 2) ** 2), far))
