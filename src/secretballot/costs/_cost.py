"""Cost of a release, as a Renyi curve on the shared grid of orders or as mu^2, and its epsilon.

Gaussian bounds of privacy profiles: docs/theory/divergences.md, "Gaussian bounds of a profile".
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, ndtri_exp

from secretballot._base._objects import cached_property
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._orders import GAUSSIAN, ORDERS, Floats, Order, order_index
from secretballot.costs._threshold_search import bracket_threshold, bracket_zero


def add_up(first: ArrayLike, second: ArrayLike) -> Floats:
    """Add numbers, rounded up to the next float where the sum is not exact."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        # The exact error of the sum (Knuth); NaN at infinity.
        added = total - a
        error = (a - (total - added)) + (b - added)
        return np.where(error > 0, np.nextafter(total, np.inf), total)


def add_down(first: ArrayLike, second: ArrayLike) -> Floats:
    """Add numbers, rounded down to the next float where the sum is not exact."""
    return -add_up(-np.asarray(first), -np.asarray(second))


def sum_up(numbers: Floats) -> Floats:
    """Compute an upper bound of the sum of non-negative numbers along the first axis."""
    n_sums = max(len(numbers) - 1, 0)
    rounding = 1 + n_sums * np.finfo(np.longdouble).eps
    bound = np.sum(numbers, axis=0, dtype=np.longdouble) * rounding
    total = np.asarray(np.sum(numbers, axis=0), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        # Multiples of the last place of a sum add up without rounding. (`fmod` is slow.)
        place = np.spacing(total)
        rounded = numbers / place
        np.rint(rounded, out=rounded)
        rounded *= place
        is_exact = (rounded == numbers).all(axis=0)
    upper = np.asarray(bound, dtype=np.float64)
    upper = np.where(upper < bound, np.nextafter(upper, np.inf), upper)
    return np.where(is_exact, total, upper)


def sums_before(numbers: Floats) -> Floats:
    """Compute an upper bound of the sum of all earlier numbers, for each non-negative number."""
    before = np.zeros(len(numbers))
    np.cumsum(numbers[:-1], out=before[1:])
    return before * (1 + np.arange(len(numbers)) * np.finfo(float).eps)


Conversion = Literal["cks", "mironov"]

#: Relative difference of costs that were added up in another order.
_ROUNDING = 1e-9


class Cost(ABC):
    """Base class: cost of releases in one currency, as amounts that add up and a delta.

    `curve` has shape (..., n_amounts), `delta` (...); the leading axes are a batch (the rows of an
    outcome).
    """

    __slots__ = ("curve", "delta")
    # numpy leaves ``array * cost`` to `__rmul__`.
    __array_ufunc__ = None

    _n_amounts: ClassVar[int]
    curve: Floats
    delta: Floats

    def _set(self, curve: Floats, delta: ArrayLike, name: str) -> None:
        failure = np.asarray(delta, dtype=np.float64)
        for label, array in ((name, curve), ("delta", failure)):
            if not _is_not_negative(array):
                raise ValueError(f"{label} must be non-negative and not NaN.")
        if failure.shape != curve.shape[:-1]:
            failure = np.broadcast_to(failure, curve.shape[:-1])
        object.__setattr__(self, "curve", curve)
        object.__setattr__(self, "delta", failure)

    @classmethod
    @abstractmethod
    def from_curve(cls, curve: Floats, delta: ArrayLike) -> Self:
        """Make the cost with these amounts."""

    @classmethod
    def zero(cls) -> Self:
        """Make the cost of an empty release."""
        return cls.from_curve(np.zeros(cls._n_amounts), 0.0)

    @abstractmethod
    def at(self, order: Order) -> float | Floats:
        """Return the amount that a budget of this order counts; an array for a batch."""

    @abstractmethod
    def epsilon(self, delta: float) -> float | Floats:
        """Compute the least epsilon that is certified at `delta`."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; cannot set {name!r}.")

    def __reduce__(self) -> tuple[Any, tuple[Floats, Floats]]:
        return type(self).from_curve, (self.curve, self.delta)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch; ``()`` for a single release."""
        return self.curve.shape[:-1]

    def __getitem__(self, rows: Any) -> Self:
        return self.from_curve(self.curve[rows], self.delta[rows])

    def __add__(self, other: Self) -> Self:
        """Sequential composition: amounts and approximation deltas add, rounded up."""
        if type(other) is not type(self):
            return NotImplemented
        return self.from_curve(add_up(self.curve, other.curve), add_up(self.delta, other.delta))

    def __mul__(self, count: ArrayLike) -> Self:
        """Sequential composition of ``count`` such releases; an array makes a batch."""
        times = np.asarray(count, dtype=np.float64)
        if times.size and not times.min() >= 0:
            raise ValueError(f"count must be non-negative, got {count!r}.")
        with np.errstate(invalid="ignore"):
            curve = np.asarray(self.curve * times[..., None])
        if not times.all():
            # An infinite cost that is paid zero times is 0; inf * 0 is NaN.
            curve[np.broadcast_to(times == 0, curve.shape[:-1])] = 0.0
        return self.from_curve(curve, self.delta * times)

    __rmul__ = __mul__

    def without(self, part: Self) -> Self:
        """Subtract a part of a sum, rounded up; infinite amounts stay infinite."""
        return self._less(part, add_up)

    def refund_after(self, spent: Self) -> Self:
        """Subtract what was spent of a payment, rounded down; infinite amounts stay infinite."""
        return self._less(spent, add_down)

    def _less(self, part: Self, add: Callable[[Floats, Floats], Floats]) -> Self:
        finite = np.isfinite(self.curve)
        curve = np.where(finite, add(self.curve, -np.where(finite, part.curve, 0.0)), np.inf)
        delta = add(self.delta, -part.delta)
        return self.from_curve(np.maximum(curve, 0.0), np.maximum(delta, 0.0))

    def is_at_most(self, most: Cost) -> bool:
        """Return True if no amount and no delta is larger, but for rounding."""
        if type(most) is not type(self):
            return False
        limit = 1 + _ROUNDING
        is_less = (self.curve <= most.curve * limit).all() and (self.delta <= most.delta * limit)
        return bool(np.all(is_less))

    def amounts_at_most(self, most: Cost) -> bool:
        """Return True if no amount is larger, whatever the deltas are."""
        return type(most) is type(self) and bool((self.curve <= most.curve).all())

    def capped(self, most: Self) -> Self:
        """Return the smaller of both, amount by amount."""
        return self.from_curve(
            np.minimum(self.curve, most.curve), np.minimum(self.delta, most.delta)
        )

    def parallel(self, other: Self) -> Self:
        """Parallel composition over disjoint people: the maximum of both."""
        return self.from_curve(
            np.maximum(self.curve, other.curve), np.maximum(self.delta, other.delta)
        )

    def sum(self) -> Self:
        """Sequential composition of a whole batch, along its first axis, rounded up."""
        return self.from_curve(sum_up(self.curve), sum_up(self.delta))

    def max(self) -> Self:
        """Parallel composition of a whole batch, along its first axis."""
        return self.from_curve(self.curve.max(axis=0), self.delta.max(axis=0))


class RenyiCost(Cost):
    """The privacy cost of one release, or of each row of a batch.

    A curve of Renyi divergences on the shared grid of orders, and an approximation delta: the
    release is ``delta``-approximate ``(order, curve)``-Renyi differentially private at every order.

    Parameters
    ----------
    curve : array-like of shape (..., n_orders)
        Non-negative divergence bounds at `secretballot.accounting.ORDERS`, in nats. Leading axes
        are a batch (the rows of an outcome).
    delta : array-like of shape (...), default=0.0
        Probability of failure besides.

    Raises
    ------
    ValueError
        If a value is negative or not a number, or the last axis is not the grid's.

    Examples
    --------
    >>> from secretballot.accounting import ORDERS, RenyiCost
    >>> gaussian = RenyiCost(ORDERS / (2 * 40**2))
    >>> round((100 * gaussian).epsilon(delta=1e-5), 3)
    1.012
    """

    __slots__ = ()
    _n_amounts = len(ORDERS)

    def __init__(self, curve: ArrayLike, delta: ArrayLike = 0.0) -> None:
        values = np.asarray(curve, dtype=np.float64)
        if values.ndim == 0 or values.shape[-1] != len(ORDERS):
            raise ValueError(
                f"curve has shape {values.shape}; its last axis must hold {len(ORDERS)} orders."
            )
        self._set(values, delta, "curve")

    @classmethod
    def from_curve(cls, curve: Floats, delta: ArrayLike) -> Self:
        """Make the cost with this curve."""
        return cls(curve, delta)

    @classmethod
    def from_epsilon_delta(cls, epsilon: float, delta: float = 0.0) -> RenyiCost:
        """Make the cost of a release that is (``epsilon``, ``delta``)-DP.

        Pure DP bounds every order by ``min(epsilon, order * epsilon**2 / 2)`` (Bun and Steinke,
        2016, Proposition 3.3); `delta` is the approximation.
        """
        amount = float(epsilon)
        finite = np.minimum(amount, ORDERS[:-1] * (amount * amount) / 2)  # the square may overflow
        return cls(np.append(finite, amount), delta)

    def at(self, order: Order) -> float | Floats:
        """Return the divergence at one order of the grid: a float, or an array for a batch."""
        return plain(self.curve[..., order_index(order)])

    def epsilon(
        self, delta: float, *, conversion: Conversion = "cks", orders: Iterable[float] | None = None
    ) -> float | Floats:
        """Compute the least epsilon that the curve certifies at ``delta``.

        Valid for a total that was fixed in advance. After an adaptive run the guarantee is that of
        a budget that gates on an order fixed beforehand, and not this figure.

        Parameters
        ----------
        delta : float
            Total delta, the approximation delta included.
        conversion : {"cks", "mironov"}, default="cks"
            Canonne, Kamath and Steinke (2020), Proposition 12; or Mironov (2017), Proposition 3,
            which published tables use.
        orders : iterable of float, default=None
            Orders to choose from; all of the grid if None.

        Returns
        -------
        float or ndarray of shape (...)
            Epsilon, infinite where the approximation delta uses up ``delta``; a float for a
            single release.
        """
        chosen = [order_index(order) for order in (ORDERS if orders is None else orders)]
        spare = (delta - self.delta)[..., None]
        converted = epsilon_at_orders(self.curve[..., chosen], ORDERS[chosen], spare, conversion)
        return plain(converted.min(axis=-1))

    def __repr__(self) -> str:
        if self.shape:
            return f"<RenyiCost of {self.shape} releases>"
        return (
            f"<RenyiCost: {self.at(2.0):.4g} at order 2, {self.at(10.0):.4g} at order 10, "
            f"delta {float(self.delta):.3g}>"
        )


def _is_not_negative(array: Floats) -> bool:
    """Check that no number is negative or NaN."""
    if array.size <= 1:
        return not array.size or bool(array.item() >= 0)
    # Axes that were broadcast repeat their first entry.
    distinct = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
    # min() is one pass without a temporary, and a NaN anywhere makes it NaN.
    return bool(distinct.min() >= 0)


def plain(values: Floats) -> float | Floats:
    """Return a number for a single release, an array for a batch."""
    return float(values) if np.ndim(values) == 0 else values


def _overhead(orders: Floats, delta: ArrayLike, conversion: str) -> Floats:
    """Compute the epsilon that conversion adds to a divergence; infinite if it is impossible."""
    if conversion not in ("cks", "mironov"):
        raise ValueError(f"conversion={conversion!r} is unknown; use 'cks' or 'mironov'.")
    spare = np.asarray(delta, dtype=np.float64)
    finite = np.where(np.isinf(orders), 2.0, orders)
    log_delta = np.log(np.where(spare > 0, spare, 1.0))
    if conversion == "mironov":
        added = -log_delta / (finite - 1)
    else:
        added = np.log1p(-1 / finite) - (log_delta + np.log(finite)) / (finite - 1)
    added = np.where(spare > 0, added, np.inf)
    # Order infinity is pure DP: a delta of 0 is enough, a negative one is not.
    return np.where(np.isinf(orders), np.where(spare >= 0, 0.0, np.inf), added)


def epsilon_at_orders(
    curve: ArrayLike, orders: ArrayLike, delta: ArrayLike, conversion: str = "cks"
) -> Floats:
    """Compute the epsilon, at least 0, that each order certifies at ``delta``."""
    # With divergence r at order a, "cks" is eps = r + log((a - 1)/a) - (log delta + log a)/(a - 1),
    # "mironov" eps = r + log(1/delta)/(a - 1).
    at = np.asarray(orders, dtype=np.float64)
    return np.maximum(np.asarray(curve) + _overhead(at, delta, conversion), 0.0)


def renyi_budget(epsilon: ArrayLike, delta: ArrayLike, orders: ArrayLike) -> Floats:
    """Compute the largest divergence at each order that converts to ``epsilon`` at ``delta``."""
    # Rounded down; negative where an order can't certify epsilon even for an empty release.
    at = np.asarray(orders, dtype=np.float64)
    allowed = np.asarray(epsilon, dtype=np.float64) - _overhead(at, delta, "cks")
    return allowed - 1e-12 * np.abs(allowed)


def best_order(epsilon: float, delta: float) -> float:
    """Find the order at which a total of the form ``rate * order`` allows the largest rate."""
    finite = ORDERS[:-1]
    allowed = renyi_budget(epsilon, delta, finite)
    if not allowed.max() > 0:
        raise ValueError(
            f"epsilon={epsilon:g} can't be certified at delta={delta:g}: converting at the best "
            f"of the Renyi orders alone takes {epsilon - float(allowed.max()):.3g}; use a larger "
            "epsilon, a larger delta, or order=inf (basic composition)."
        )
    return float(finite[np.argmax(allowed / finite)])


def gate_budget(epsilon: float, delta: float, order: float) -> float:
    """Compute the budget at `order`; not positive if the order can't be used."""
    if math.isinf(order):
        return epsilon  # no conversion, no rounding
    return float(renyi_budget(epsilon, delta, order))


#: Relative rounding of a budget, downwards.
_BUDGET_ROUNDING = 1e-9


class GaussianCost(Cost):
    """The privacy cost of one release, or of each row of a batch: `mu2` and an approximation delta.

    Up to `delta`, the pair N(0, 1) and N(mu, 1) dominates the release: its privacy profile lies, in
    both directions, under ``delta + (1 - delta) * gaussian_delta(mu, epsilon)``.

    Costs add up under fully adaptive composition, if each cost is fixed before its release.

    Parameters
    ----------
    mu2 : array-like of shape (...)
        Mu squared. Leading axes are a batch (the rows of an outcome).
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

    __slots__ = ()
    _n_amounts = 1

    def __init__(self, mu2: ArrayLike, delta: ArrayLike = 0.0) -> None:
        self._set(np.asarray(mu2, dtype=np.float64)[..., None], delta, "mu2")

    @classmethod
    def from_curve(cls, curve: Floats, delta: ArrayLike) -> Self:
        """Make the cost whose mu^2 is the one entry of `curve`."""
        return cls(curve[..., 0], delta)

    @property
    def mu2(self) -> Floats:
        """Mu squared, of the batch's shape."""
        return np.asarray(self.curve[..., 0])

    def at(self, order: Order) -> float | Floats:
        """Return mu^2, the amount that a Gaussian budget counts."""
        if order != GAUSSIAN:
            raise ValueError(f"order={order!r}: a Gaussian cost has {GAUSSIAN!r} only.")
        return plain(self.curve[..., 0])

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Return itself, or an infinite cost beside too little approximation delta."""
        if float(self.delta) > approximation_delta:
            return GaussianCost(np.inf, approximation_delta)
        return GaussianCost(self.mu2, approximation_delta)

    def epsilon(self, delta: float) -> float | Floats:
        """Compute the least epsilon at `delta`, rounded up; infinite if there is none.

        After an adaptive run the guarantee is the budget's: the costs depend on released outcomes.
        """
        mu2, failure = np.broadcast_arrays(self.mu2, self.delta)
        spare = np.asarray((delta - failure) / (1 - np.minimum(failure, 0.5)))
        return plain(np.asarray(np.vectorize(_epsilon, otypes=[float])(np.sqrt(mu2), spare)))

    def __repr__(self) -> str:
        if self.shape:
            return f"<GaussianCost of {self.shape} releases>"
        return f"<GaussianCost: mu^2 {float(self.mu2):.4g}, delta {float(self.delta):.3g}>"


def gaussian_budget(epsilon: float, delta: float, approximation_delta: float) -> float:
    """Compute the largest mu^2 that is (epsilon, delta)-private, rounded down; 0 if none is."""
    spare = (delta - approximation_delta) / (1 - approximation_delta)
    if not spare > 0:
        return 0.0
    within, _ = bracket_threshold(lambda mu: float(gaussian_delta(mu, epsilon)) > spare)
    return within**2 * (1 - _BUDGET_ROUNDING)


def _epsilon(mu: float, delta: float) -> float:
    if mu == 0 and delta >= 0:
        return 0.0
    if not delta > 0 or not np.isfinite(mu):
        return float("inf")
    if float(gaussian_delta(mu, 0.0)) <= delta:
        return 0.0
    return bracket_threshold(lambda epsilon: float(gaussian_delta(mu, epsilon)) <= delta)[1]


#: Relative rounding of mu.
_MU_ROUNDING = 1e-9

#: Nodes of a profile that is a function: up to where delta is negligible, or an epsilon of 512.
_NODES = 256
_NEGLIGIBLE_DELTA, _FURTHEST = 1e-18, 512.0


@dataclass(frozen=True, eq=False)
class Profile:
    """Upper bounds of delta at nodes e^epsilon = `ratio`, ascending from 1, in both directions."""

    ratio: Floats
    delta: Floats

    @classmethod
    def from_epsilons(cls, epsilon: Floats, delta: Floats) -> Profile:
        return cls(np.exp(epsilon), np.asarray(delta, dtype=np.float64))

    @classmethod
    def from_function(cls, delta: Callable[[float], float]) -> Profile:
        """Make the profile of a function that gives delta at every epsilon."""
        furthest = 0.125
        while delta(furthest) > _NEGLIGIBLE_DELTA and furthest < _FURTHEST:
            furthest *= 2
        epsilon = furthest * np.linspace(0.0, 1.0, _NODES) ** 1.5
        return cls.from_epsilons(epsilon, np.array([delta(float(node)) for node in epsilon]))

    @classmethod
    def from_renyi(cls, cost: RenyiCost) -> Profile:
        """Make the profile that a Renyi curve implies, looser than that of a game."""
        finite, orders = cost.curve[:-1], ORDERS[:-1]
        failure, pure = float(cost.delta), float(cost.curve[-1])

        def delta(epsilon: float) -> float:
            if epsilon >= pure:
                return failure
            # Randomised response dominates any purely private release.
            response = (
                math.expm1(pure - epsilon) / (math.exp(-epsilon) + math.exp(pure - epsilon))
                if pure < _FURTHEST
                else 1.0
            )
            # The inverse of the conversion to epsilon (Canonne, Kamath and Steinke, 2020).
            log = (orders - 1) * (finite - epsilon + np.log1p(-1 / orders)) - np.log(orders)
            return min(failure + min(float(np.exp(min(log.min(), 0.0))), response), 1.0)

        beyond = cls.from_function(lambda epsilon: delta(epsilon) - failure)
        return cls(beyond.ratio, np.minimum(beyond.delta + failure, 1.0))

    @cached_property
    def _tests(self) -> tuple[Floats, Floats]:
        """Tests of the lower hull's segments: rejection a under P, and log b under Q."""
        ratio, delta = self.ratio, np.minimum.accumulate(self.delta)
        while True:
            slope = np.diff(delta) / np.diff(ratio)
            # A node above the chord of its neighbours is not on the hull.
            above = np.diff(slope) < 0
            if not above.any():
                break
            on_hull = np.concatenate([[True], ~above, [True]])
            ratio, delta = ratio[on_hull], delta[on_hull]
        falls = slope < 0
        with np.errstate(divide="ignore"):
            log_b = np.log(-slope)
        # A segment is flat only at the end, where delta has reached its last value.
        return (delta[:-1] - slope * ratio[:-1])[falls], log_b[falls]

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Compute the least sufficient mu^2, rounded up; infinite below the profile's tail."""
        failure = approximation_delta
        if self.delta[0] <= failure:
            return GaussianCost(0.0, failure)
        if self.delta[-1] > failure:
            return GaussianCost(math.inf, failure)
        a, log_b = self._tests
        rejected = (a - failure) / (1 - failure)
        with np.errstate(invalid="ignore", divide="ignore"):
            mu = ndtri(np.clip(rejected, 0.0, 1.0)) - ndtri_exp(
                np.minimum(log_b - math.log1p(-failure), 0.0)
            )
        # No shift is enough where delta begins at 1.
        mu = np.where(np.isnan(mu), np.inf, mu)
        largest = float(np.where(rejected > 0, mu, 0.0).max(initial=0.0)) * (1 + _MU_ROUNDING)
        return GaussianCost(largest**2, failure)


class HasGaussianCost(Protocol):
    """Release with a price in mu^2 beside any approximation delta."""

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Compute the least sufficient mu^2, rounded up."""


def gaussian_share(
    priced: Sequence[tuple[float, HasGaussianCost]], mu2: float, approximation_delta: float
) -> float:
    """Compute the least share of (`mu2`, `approximation_delta`) that pays, perhaps infinite."""
    # Each release comes with its part of the approximation delta; the parts sum to 1.

    def spare_mu2(s: float) -> float:
        costs = [item.gaussian_cost(part * s * approximation_delta) for part, item in priced]
        return s * mu2 - sum(float(cost.mu2) for cost in costs)

    if not mu2 > 0:
        return 0.0 if spare_mu2(0.0) >= 0 else math.inf
    # A delta of a half or more is no privacy to speak of.
    most = 0.5 / approximation_delta if approximation_delta else 1e12
    return bracket_zero(spare_mu2, most, 1e-7)[1]
