"""Label proportions of bags: noise on their counts, its cost, and proportions on a public grid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from secretballot._base._numbers import check_integer, check_number, check_pair
from secretballot.costs._cost import GaussianCost, HasGaussianCost, Profile, RenyiCost
from secretballot.costs._divergence import gaussian_bound
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import Law, Move, Step
from secretballot.costs._noise import (
    dirichlet_delta,
    dirichlet_renyi,
    draw_laplace,
    draw_uniform,
    gaussian_delta,
    laplace_delta,
    laplace_renyi,
)
from secretballot.costs._orders import ORDERS, Floats
from secretballot.costs._threshold_search import find_sharpness
from secretballot.mechanisms._base import Mechanism


class ProportionsMove(Move):
    """Base class: a move with an exact (epsilon, delta) curve beside its Renyi curve."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Compute the least delta at `epsilon` over all data."""

    def known_delta(self, state: Floats, epsilon: float) -> Floats:
        """Compute the least delta on known data, shape (n_rows,): by default the worst case."""
        return np.full(len(state), self.delta(epsilon))

    @abstractmethod
    def _renyi(self, orders: Floats) -> Floats:
        """Compute the largest Renyi divergences over all data."""

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        return self._renyi(ORDERS if orders is None else np.asarray(orders, dtype=np.float64))

    def priced(self) -> HasGaussianCost:
        """Return the price in a Gaussian budget: by default the exact profile of `delta`."""
        return Profile.from_function(self.delta)


@dataclass(frozen=True, kw_only=True)
class DirichletProportionsMove(ProportionsMove):
    """Draw from Dir(concentration * counts + pseudo_count); the state is the counts.

    In the worst case a label moves between the two smallest counts, from (min_count + 1, min_count)
    to (min_count, min_count + 1). Exchanging the classes turns one direction into the other.
    """

    concentration: float
    pseudo_count: float
    min_count: int

    def _parameter(self, count: float | Floats) -> Floats:
        return np.asarray(self.concentration * count + self.pseudo_count)

    def _smallest_parameters(self) -> tuple[Floats, Floats]:
        return self._parameter(self.min_count + 1), self._parameter(self.min_count)

    def _renyi(self, orders: Floats) -> Floats:
        return dirichlet_renyi(*self._smallest_parameters(), self.concentration, orders)

    def delta(self, epsilon: float) -> float:
        return float(dirichlet_delta(*self._smallest_parameters(), self.concentration, epsilon))

    def exact(self, state: Floats) -> Floats:
        return self._max_over_neighbours(
            state, lambda x, y: dirichlet_renyi(x, y, self.concentration), (len(ORDERS),)
        )

    def known_delta(self, state: Floats, epsilon: float) -> Floats:
        return self._max_over_neighbours(
            state, lambda x, y: dirichlet_delta(x, y, self.concentration, epsilon), ()
        )

    def _max_over_neighbours(
        self, state: Floats, cost: Callable[[Floats, Floats], Floats], shape: tuple[int, ...]
    ) -> Floats:
        """Maximise a cost over all ordered pairs of classes and both directions."""
        largest = np.zeros((len(state), *shape))
        step = self.concentration
        for i, j in permutations(range(state.shape[1]), 2):
            rows = np.flatnonzero(state[:, i] > self.min_count)  # the neighbour keeps the promise
            x, y = self._parameter(state[rows, i]), self._parameter(state[rows, j])
            # From the neighbour's side the two classes change places.
            for costs in (cost(x, y), cost(y + step, x - step)):
                largest[rows] = np.maximum(largest[rows], costs)
        return largest


@dataclass(frozen=True, kw_only=True)
class AdditiveProportionsMove(ProportionsMove):
    """Base class: counts with independent noise, at the same cost on all data."""

    noise: float
    n_classes: int | None = None

    pure: ClassVar[bool] = False  # True if enough noise gives a delta of 0

    @classmethod
    def least_noise(
        cls, epsilon: float, delta: float, n_classes: int | None, start: float = 1.0
    ) -> float:
        """Search for the least amount of noise that is (epsilon, delta)-private."""

        def delta_of(sharpness: float) -> float:
            return cls(noise=start / sharpness, n_classes=n_classes).delta(epsilon)

        return start / find_sharpness(delta_of, delta)

    @abstractmethod
    def draw_noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw the noise on counts."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise on each count."""

    @property
    def n_counts(self) -> int:
        """Number of released counts that a changed label moves: of two classes one is released."""
        return 1 if self.n_classes == 2 else 2


@dataclass(frozen=True, kw_only=True)
class LaplaceProportionsMove(AdditiveProportionsMove):
    """Counts with Laplace noise of scale `noise`."""

    pure: ClassVar[bool] = True

    @classmethod
    def least_noise(
        cls, epsilon: float, delta: float, n_classes: int | None, start: float = 1.0
    ) -> float:
        start *= (1 if n_classes == 2 else 2) / epsilon  # which has a delta of 0
        return super().least_noise(epsilon, delta, n_classes, start) if delta > 0 else start

    def draw_noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return self.noise * draw_laplace(shape, rng)

    @property
    def variance(self) -> float:
        return 2 * self.noise**2

    def _renyi(self, orders: Floats) -> Floats:
        return laplace_renyi(1 / self.noise, self.n_counts, orders)

    def delta(self, epsilon: float) -> float:
        return laplace_delta(1 / self.noise, epsilon, self.n_counts)


@dataclass(frozen=True, kw_only=True)
class GaussianProportionsMove(AdditiveProportionsMove):
    """Counts with Gaussian noise of standard deviation `noise`."""

    def draw_noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return rng.normal(scale=self.noise, size=shape)

    @property
    def variance(self) -> float:
        return self.noise**2

    @property
    def _mu(self) -> float:
        return float(np.sqrt(self.n_counts)) / self.noise

    def _renyi(self, orders: Floats) -> Floats:
        return gaussian_bound(self._mu, orders)

    def delta(self, epsilon: float) -> float:
        return float(gaussian_delta(self._mu, epsilon))

    def priced(self) -> HasGaussianCost:
        return GaussianCost(self._mu**2)


#: Number of draws that an expected distortion is averaged over.
_N_DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Proportions(Mechanism):
    """Base class: label counts of bags, shape (n_bags, n_classes), become noisy proportions.

    One label of one bag is protected. The bags' members, and so their sizes, are public. Bags are
    disjoint people: a release costs as much as its most expensive bag. `GaussianProportions`
    describes the fields.
    """

    rows: ClassVar[str] = "parallel"

    epsilon: float | None = field(default=None)
    resolution: int = field(default=2**20)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("resolution", self.resolution, most=2**40)

    @abstractmethod
    def move(self, n_columns: int | None = None) -> ProportionsMove:
        """Return the noisy move of one bag."""

    def priced(self, n_columns: int | None = None) -> HasGaussianCost:
        """Return the price of one bag in a Gaussian budget."""
        return self.move(n_columns).priced()

    @abstractmethod
    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Draw proportions, not yet on the grid."""

    @abstractmethod
    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        """Estimate each bag's noise covariance at its released proportions.

        Parameters
        ----------
        proportions : array-like of shape (n_bags, n_classes)
        sizes : array-like of shape (n_bags,)

        Returns
        -------
        ndarray of shape (n_bags, n_classes, n_classes)
            Singular: proportions sum to 1. The projection of negative proportions to 0 is ignored.
        """

    def expected_distortion(self, size: int, n_classes: int, *, min_count: int = 0) -> float:
        """Compute the expected L1 distance between released and true proportions of a bag.

        Of `size` labels, without data: the larger distance of two cases, all classes alike, and
        all but one at `min_count`.
        """
        rng = np.random.default_rng(0)
        return max(
            float(np.abs(self._draw(np.tile(case, (_N_DRAWS, 1)), rng) - case / size).sum(1).mean())
            for case in public_cases(size, n_classes, min_count)
        )

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return whole label counts of shape (n_bags, n_classes), or raise `ValueError`."""
        checked = super().check_counts(counts)
        if checked.shape[1] < 2:
            raise ValueError(f"counts has shape {checked.shape}; proportions need two classes.")
        if (checked != np.floor(checked)).any():
            raise ValueError("counts must be whole numbers of labels.")
        empty = np.flatnonzero(checked.sum(axis=1) == 0)
        if empty.size:
            raise ValueError(f"bag {empty[0]} is empty; leave it out, it has no proportions.")
        return checked

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Draw the proportions of each bag, shape (n_bags, n_classes); rows sum to 1."""
        return on_grid(self._draw(counts, rng), self.resolution)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the one move of a bag, for everyone's label."""
        return {EVERYONE: (Step("proportions", self.move(n_columns)),)}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the counts, on which the exact cost may depend."""
        return {"proportions": counts}

    def max_cost(
        self,
        n_columns: int | None = None,
        counts: ArrayLike | None = None,
        *,
        order: float | None = None,
    ) -> dict[str, RenyiCost]:
        """Compute the largest cost of a bag: see `Mechanism.max_cost`."""
        if self.epsilon is None:
            return super().max_cost(n_columns, counts, order=order)
        if counts is None:
            return {EVERYONE: _pure_cost(self.epsilon, self.move(n_columns).delta(self.epsilon))}
        return self.cost(np.asarray(counts), counts)

    def cost(
        self, outcome: ArrayLike, counts: ArrayLike | None = None, *, n_columns: int | None = None
    ) -> dict[str, RenyiCost]:
        """Compute the cost of each bag: see `Mechanism.cost`."""
        if self.epsilon is None:
            return super().cost(outcome, counts, n_columns=n_columns)
        if counts is None:
            delta = np.full(len(np.asarray(outcome)), self.move(n_columns).delta(self.epsilon))
        else:
            votes = self.check_counts(counts)
            delta = self.move(votes.shape[1]).known_delta(votes, self.epsilon)
        return {EVERYONE: _pure_cost(self.epsilon, delta)}


def _pure_cost(epsilon: float, delta: float | Floats) -> RenyiCost:
    curve = RenyiCost.from_epsilon_delta(epsilon).curve
    return RenyiCost(np.broadcast_to(curve, (*np.shape(delta), len(curve))), delta)


def public_cases(size: int, n_classes: int, min_count: int) -> list[Floats]:
    """Return the even and the skewed counts of a bag, for an expected distortion."""
    if n_classes * min_count > size:
        raise ValueError(
            f"min_count={min_count!r} for each of {n_classes} classes can't hold in a bag of "
            f"{size} labels; use at most {size // n_classes}."
        )
    skewed = np.full(n_classes, float(min_count))
    skewed[-1] = size - (n_classes - 1) * min_count
    return [np.full(n_classes, size / n_classes), skewed]


def on_simplex(values: Floats) -> Floats:
    """Project rows to the simplex: the nearest (least squares) non-negative rows of sum 1."""
    ordered = -np.sort(-values, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    ranks = np.arange(1, values.shape[1] + 1)
    n_positive = (ordered - excess / ranks > 0).sum(axis=1)[:, None]
    lift = np.take_along_axis(excess, n_positive - 1, axis=1) / n_positive
    return np.asarray(np.maximum(values - lift, 0.0))


def on_grid(proportions: Floats, resolution: int) -> Floats:
    """Round rows to multiples of 1/resolution that sum to 1: largest remainders go up.

    Otherwise the last digits of a float would reveal the counts.
    """
    steps = proportions * resolution
    floor = np.floor(steps)
    missing = np.rint(resolution - floor.sum(axis=1))
    ranks = np.argsort(np.argsort(floor - steps, axis=1, kind="stable"), axis=1)
    return np.asarray((floor + (ranks < missing[:, None])) / resolution)


@dataclass(frozen=True, kw_only=True)
class AdditiveProportions(Proportions):
    """Base class: independent noise on each class's count, then the nearest proportions.

    Of two classes one is drawn, the other makes up the bag, whose size is public.
    """

    _move: ClassVar[type[AdditiveProportionsMove]]
    _noise_field: ClassVar[str]  # the field with the amount of noise

    @classmethod
    def calibrated(
        cls, epsilon: float, delta: float, *, n_classes: int | None = None, resolution: int = 2**20
    ) -> Self:
        """Return the mechanism with the least noise that is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            The privacy of one label. All of delta is used; 0 is pure privacy, which takes Laplace
            noise.
        n_classes : int, default=None
            Any number if None; two need less noise.
        resolution : int, default=2**20
            Proportions are multiples of ``1 / resolution``.
        """
        check_pair(epsilon, delta, pure=cls._move.pure)
        if n_classes is not None:
            check_integer("n_classes", n_classes, least=2)
        noise: dict[str, Any] = {cls._noise_field: cls._move.least_noise(epsilon, delta, n_classes)}
        return cls(**noise, epsilon=epsilon, resolution=resolution)

    def move(self, n_columns: int | None = None) -> AdditiveProportionsMove:
        return self._move(noise=getattr(self, self._noise_field), n_classes=n_columns)

    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        noise = self.move().draw_noise(counts.shape, rng)
        if counts.shape[1] == 2:
            noise = np.concatenate([noise[:, :1], -noise[:, :1]], axis=1)
        return self._estimate(counts + noise, counts.sum(axis=1, keepdims=True))

    def _estimate(self, noisy: Floats, sizes: Floats) -> Floats:
        return on_simplex(noisy / sizes)

    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        # Independent noise on each count, less its mean over the classes.
        n_classes = np.shape(proportions)[1]
        centring: Floats = np.eye(n_classes) - 1 / n_classes
        # Two classes share one draw, which the second has with the opposite sign.
        factor = 2.0 if n_classes == 2 else 1.0
        per_bag = factor * self.move().variance / np.asarray(sizes, dtype=np.float64) ** 2
        return np.asarray(per_bag[:, None, None] * centring)


@dataclass(frozen=True, kw_only=True)
class GaussianProportions(AdditiveProportions):
    """Label proportions: Gaussian noise on each class's count, then the nearest proportions.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count, in labels. Of two classes one is drawn, the
        other makes up the bag.
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it, for budgets at order infinity.
        None: charge the Renyi curve.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``.

    References
    ----------
    Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018).

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import GaussianProportions
    >>> mechanism = GaussianProportions.calibrated(epsilon=1, delta=1e-5, n_classes=3)
    >>> round(mechanism.sigma, 2)
    5.28
    >>> accountant = PrivacyAccountant(1, 1e-5, unit="label", order=float("inf"))
    >>> accountant.release(mechanism, [[500, 300, 200]]).shape
    (1, 3)
    """

    _move = GaussianProportionsMove
    _noise_field = "sigma"

    sigma: float


@dataclass(frozen=True, kw_only=True)
class LaplaceProportions(AdditiveProportions):
    """Label proportions: Laplace noise on each class's count, then the nearest proportions.

    Parameters
    ----------
    scale : float
        Scale of the noise on each count, in labels. Of two classes one is drawn.
    epsilon, resolution
        As for `GaussianProportions`; at an epsilon of ``2 / scale`` and above delta is 0.

    Examples
    --------
    >>> from secretballot.mechanisms import LaplaceProportions
    >>> LaplaceProportions.calibrated(epsilon=0.5, delta=0, n_classes=3).scale
    4.0
    >>> round(LaplaceProportions.calibrated(epsilon=0.5, delta=0.05, n_classes=3).scale, 2)
    2.86
    """

    _move = LaplaceProportionsMove
    _noise_field = "scale"

    scale: float


@dataclass(frozen=True, kw_only=True)
class LaplacePriorProportions(LaplaceProportions):
    """Label proportions: Laplace noise, then each count's posterior mean under a flat prior.

    Charged as `LaplaceProportions`: posterior means are post-processing of the noisy counts. The
    prior is uniform from 0 to the bag's size. It pulls counts away from both ends, and helps where
    the noise is large beside the bag.

    Parameters
    ----------
    scale, epsilon, resolution
        As for `LaplaceProportions`.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import LaplacePriorProportions
    >>> accountant = PrivacyAccountant(2, 0, unit="label", order=float("inf"))
    >>> accountant.release(LaplacePriorProportions(scale=1, epsilon=2), [[5, 0, 3]]).sum()
    np.float64(1.0)
    """

    def _estimate(self, noisy: Floats, sizes: Floats) -> Floats:
        return on_simplex(_truncated_mean(noisy, self.scale, sizes) / sizes)


def _truncated_mean(centre: Floats, scale: float, size: Floats) -> Floats:
    """Compute the mean of a Laplace law around `centre`, truncated at 0 and at `size`."""
    # Beyond an end the truncated law is exponential, whatever the distance: as at that end.
    inside = np.clip(centre, 0.0, size)
    low, high = inside / scale, (size - inside) / scale
    mass_below, mass_above = -np.expm1(-low), -np.expm1(-high)
    shift = (mass_above - high * np.exp(-high)) - (mass_below - low * np.exp(-low))
    return np.asarray(np.clip(inside + scale * shift / (mass_below + mass_above), 0.0, size))


@dataclass(frozen=True, kw_only=True)
class DirichletProportions(Proportions):
    """Label proportions: a draw from Dir(concentration * counts + pseudo_count).

    The draw reveals rare classes, unless there is a public floor under every parameter:
    pseudo-counts, which bias towards even proportions, or a promised minimum of labels of every
    class in every bag. The guarantee then covers neighbours that both keep the promise. A bag that
    breaks it is refused, and that refusal is itself outside the guarantee.

    Parameters
    ----------
    concentration : float
        Increase of a parameter by one label: the larger, the less noise.
    pseudo_count : float, default=0.0
        Constant part of every parameter.
    min_count : int, default=0
        Promised minimum of labels of each class in every bag.
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it, for budgets at order infinity.
        None: charge the Renyi curve, which is infinite from order
        ``1 + min_count + pseudo_count / concentration`` on.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or there is neither a pseudo-count nor a promise.

    References
    ----------
    Iyer, Nath and Sarawagi, "Privacy-preserving Class Ratio Estimation" (KDD 2016), Section 3.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import DirichletProportions
    >>> mechanism = DirichletProportions.calibrated(epsilon=1, delta=1e-5, min_count=50)
    >>> round(mechanism.concentration, 2)
    1.78
    >>> accountant = PrivacyAccountant(1, 1e-5, unit="label", order=float("inf"))
    >>> accountant.release(mechanism, [[500, 300, 200], [60, 70, 80]]).shape
    (2, 3)
    """

    concentration: float
    pseudo_count: float = field(default=0.0)
    min_count: int = field(default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("pseudo_count", self.pseudo_count, least=0)
        check_integer("min_count", self.min_count, least=0)
        if not self.pseudo_count and not self.min_count:
            raise ValueError(
                "pseudo_count=0 and min_count=0: a class without labels would be revealed. Use "
                "a positive pseudo_count, or promise a min_count."
            )

    @classmethod
    def calibrated(
        cls,
        epsilon: float,
        delta: float,
        *,
        pseudo_count: float = 0.0,
        min_count: int = 0,
        resolution: int = 2**20,
    ) -> DirichletProportions:
        """Return the mechanism with the least noise that is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            The privacy of one label; delta above 0.
        pseudo_count, min_count, resolution
            As for the class.
        """
        check_pair(epsilon, delta, pure=False)
        mechanism = cls(
            concentration=1.0,
            pseudo_count=pseudo_count,
            min_count=min_count,
            epsilon=epsilon,
            resolution=resolution,
        )

        def delta_of(concentration: float) -> float:
            return replace(mechanism, concentration=concentration).move().delta(epsilon)

        return replace(mechanism, concentration=find_sharpness(delta_of, delta))

    def move(self, n_columns: int | None = None) -> DirichletProportionsMove:
        return DirichletProportionsMove(
            concentration=self.concentration,
            pseudo_count=self.pseudo_count,
            min_count=self.min_count,
        )

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return label counts that keep the promise, or raise `ValueError`."""
        checked = super().check_counts(counts)
        broken = np.flatnonzero((checked < self.min_count).any(axis=1))
        if broken.size:
            raise ValueError(
                f"min_count={self.min_count} is promised, but bag {broken[0]} has a class with "
                "fewer labels. Promise less, use pseudo_count instead, or merge bags. That this "
                "was refused is itself outside the guarantee: nobody but the publisher may learn "
                "it."
            )
        return checked

    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        parameters = self.concentration * counts + self.pseudo_count
        # G(a) = G(a + 1) U^(1/a): logarithms, because gammas of small parameters underflow.
        logs = np.log(rng.standard_gamma(parameters + 1))
        logs += np.log(draw_uniform(parameters.shape, rng)) / parameters
        draws = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(draws / draws.sum(axis=1, keepdims=True))

    def expected_distortion(self, size: int, n_classes: int, *, min_count: int = 0) -> float:
        worst = 0.0
        for case in public_cases(size, n_classes, min_count):
            a = self.concentration * case + self.pseudo_count
            b = a.sum() - a
            truth, mean = case / size, a / a.sum()
            # Mean absolute distance of a Beta variable from a point.
            below, weighted = betainc(a, b, truth), betainc(a + 1, b, truth)
            worst = max(worst, float((truth * (2 * below - 1) + mean * (1 - 2 * weighted)).sum()))
        return worst

    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        q = np.asarray(proportions, dtype=np.float64)
        total = self.concentration * np.asarray(sizes, float) + q.shape[1] * self.pseudo_count
        spread = q[:, :, None] * (np.eye(q.shape[1]) - q[:, None, :])
        return np.asarray(spread / (total + 1)[:, None, None])
