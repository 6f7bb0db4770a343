"""What a release costs in the currency of Gaussian privacy: mu^2, and a delta beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences._additive_noise import gaussian_delta
from secretballot.divergences._just_enough import bracket
from secretballot.divergences._orders import Floats

#: What is allowed is rounded down by this.
_ROUNDING = 1e-9


class GaussianCost:
    """The privacy cost of one release, or of each row of a batch: `mu2` and an approximation delta.

    No two neighbouring data sets are easier to tell apart by the release than, up to `delta`, the
    normal distributions N(0, 1) and N(mu, 1) are: its curve of pairs (epsilon, delta) lies, in both
    directions, under ``delta + (1 - delta) * gaussian_delta(mu, epsilon)``.

    Such costs add, also where outcomes decide what is released next, as long as each cost is fixed
    before its release.

    Parameters
    ----------
    mu2 : array-like of shape (...)
        mu squared. Leading axes are a batch (the rows of an outcome).
    delta : array-like of shape (...), default=0.0
        Probability of failure on top.

    Raises
    ------
    ValueError
        If a value is negative or not a number.

    References
    ----------
    Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Corollary 3.3. Adaptive budgets:
    Smith and Thakurta, "Fully Adaptive Composition for Gaussian Differential Privacy" (2022);
    Koskela, Tobaben and Honkela, "Individual Privacy Accounting with Gaussian Differential
    Privacy" (2023).

    Examples
    --------
    >>> from secretballot.accounting import GaussianCost
    >>> vector = GaussianCost(2 / 40**2)
    >>> round(float((100 * vector).epsilon(delta=1e-5)), 3)
    1.356
    """

    __slots__ = ("delta", "mu2")
    # numpy leaves ``array * cost`` to `__rmul__`.
    __array_ufunc__ = None

    mu2: Floats
    delta: Floats

    def __init__(self, mu2: ArrayLike, delta: ArrayLike = 0.0) -> None:
        square = np.asarray(mu2, dtype=np.float64)
        failure = np.asarray(delta, dtype=np.float64)
        for name, array in (("mu2", square), ("delta", failure)):
            if array.size and not array.min() >= 0:
                raise ValueError(f"{name} must be non-negative and not NaN.")
        object.__setattr__(self, "mu2", square)
        object.__setattr__(self, "delta", np.broadcast_to(failure, square.shape))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"GaussianCost is immutable; cannot set {name!r}.")

    def __reduce__(self) -> tuple[type[GaussianCost], tuple[Floats, Floats]]:
        return GaussianCost, (self.mu2, self.delta)

    @classmethod
    def zero(cls) -> GaussianCost:
        """Return the cost of releasing nothing."""
        return cls(0.0)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch; ``()`` for a single release."""
        return self.mu2.shape

    def __getitem__(self, rows: Any) -> GaussianCost:
        return GaussianCost(self.mu2[rows], self.delta[rows])

    def __add__(self, other: GaussianCost) -> GaussianCost:
        """Sequential composition: squares and approximation deltas add."""
        if not isinstance(other, GaussianCost):
            return NotImplemented
        return GaussianCost(self.mu2 + other.mu2, self.delta + other.delta)

    def __mul__(self, count: ArrayLike) -> GaussianCost:
        """``count`` such releases one after the other; an array makes a batch."""
        times = np.asarray(count, dtype=np.float64)
        if times.size and not times.min() >= 0:
            raise ValueError(f"count must be non-negative, got {count!r}.")
        # An infinite cost that is paid zero times is none; inf * 0 would be NaN.
        mu2 = np.where(times == 0, 0.0, self.mu2) * times
        return GaussianCost(mu2, self.delta * times)

    __rmul__ = __mul__

    def parallel(self, other: GaussianCost) -> GaussianCost:
        """Parallel composition over disjoint people: the larger of the two."""
        return GaussianCost(np.maximum(self.mu2, other.mu2), np.maximum(self.delta, other.delta))

    def sum(self) -> GaussianCost:
        """Sequential composition of a whole batch, along its first axis."""
        return GaussianCost(self.mu2.sum(axis=0), self.delta.sum(axis=0))

    def max(self) -> GaussianCost:
        """Parallel composition of a whole batch, along its first axis."""
        return GaussianCost(self.mu2.max(axis=0), self.delta.max(axis=0))

    def epsilon(self, delta: float) -> Floats:
        """Return the least epsilon at `delta`, rounded up; infinite where there is none.

        After an adaptive run that is a guarantee only as far as the budget is: which costs occurred
        depends on what was released.
        """
        mu2, failure = np.broadcast_arrays(self.mu2, self.delta)
        spare = np.asarray((delta - failure) / (1 - np.minimum(failure, 0.5)))
        return np.asarray(np.vectorize(_epsilon, otypes=[float])(np.sqrt(mu2), spare))

    def __repr__(self) -> str:
        if self.shape:
            return f"<GaussianCost of {self.shape} releases>"
        return f"<GaussianCost: mu^2 {float(self.mu2):.4g}, delta {float(self.delta):.3g}>"


def gaussian_budget(epsilon: float, delta: float, approximation_delta: float) -> float:
    """Return the largest mu^2 that, with its approximations, is (epsilon, delta)-private.

    Rounded down; 0 if there is none.
    """
    spare = (delta - approximation_delta) / (1 - approximation_delta)
    if not spare > 0:
        return 0.0
    within, _ = bracket(lambda mu: float(gaussian_delta(mu, epsilon)) > spare)
    return within**2 * (1 - _ROUNDING)


def _epsilon(mu: float, delta: float) -> float:
    if not delta > 0 or not np.isfinite(mu):
        return 0.0 if mu == 0 and delta >= 0 else float("inf")
    if float(gaussian_delta(mu, 0.0)) <= delta:
        return 0.0
    return bracket(lambda epsilon: float(gaussian_delta(mu, epsilon)) <= delta)[1]
