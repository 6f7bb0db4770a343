"""The noisy moves of label proportions: what a bag releases, and what a changed label shifts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np

from secretballot.divergences import (
    ORDERS,
    Floats,
    GaussianCost,
    HasGaussianCost,
    Move,
    Profile,
    dirichlet_delta,
    dirichlet_renyi,
    find_sharpness,
    gaussian_bound,
    gaussian_delta,
    laplace_delta,
    laplace_renyi,
)

_Orders = tuple[float, ...] | None


class ProportionMove(Move):
    """Base class: a move whose (epsilon, delta) is known exactly too."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return the least delta at `epsilon` over all data."""

    @abstractmethod
    def known_delta(self, state: Floats, epsilon: float) -> Floats:
        """Return the least delta at `epsilon` on known data, shape (n_rows,)."""

    @abstractmethod
    def priced(self) -> HasGaussianCost:
        """Return the price in a Gaussian budget, over all data."""


@dataclass(frozen=True, kw_only=True)
class DirichletMove(ProportionMove):
    """Releases a draw from Dir(concentration * counts + pseudo_count).

    The state is the counts, shape (n_rows, n_classes). The worst case is over all counts of at
    least `min_count`, the neighbour's included: its dearest change is that of the two smallest
    counts, from (min_count + 1, min_count) to (min_count, min_count + 1). Exchanging the two
    classes turns one direction into the other.
    """

    concentration: float
    pseudo_count: float
    min_count: int

    def _parameter(self, count: float | Floats) -> Floats:
        return np.asarray(self.concentration * count + self.pseudo_count)

    def _smallest(self) -> tuple[Floats, Floats]:
        return self._parameter(self.min_count + 1), self._parameter(self.min_count)

    def worst_case(self, orders: _Orders = None) -> Floats:
        """Return the supremum over all counts that keep the promise."""
        at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
        return dirichlet_renyi(*self._smallest(), self.concentration, at)

    def delta(self, epsilon: float) -> float:
        """Return the least delta over all counts that keep the promise."""
        return float(dirichlet_delta(*self._smallest(), self.concentration, epsilon))

    def priced(self) -> HasGaussianCost:
        """Return the profile over all counts that keep the promise."""
        return Profile.from_function(self.delta)

    def exact(self, state: Floats) -> Floats:
        """Return the cost on known counts."""
        return self._dearest(
            state, lambda x, y: dirichlet_renyi(x, y, self.concentration), (len(ORDERS),)
        )

    def known_delta(self, state: Floats, epsilon: float) -> Floats:
        """Return the least delta on known counts."""
        return self._dearest(
            state, lambda x, y: dirichlet_delta(x, y, self.concentration, epsilon), ()
        )

    def _dearest(
        self, state: Floats, cost: Callable[[Floats, Floats], Floats], shape: tuple[int, ...]
    ) -> Floats:
        """Maximum over all ordered pairs of classes and both directions."""
        out = np.zeros((len(state), *shape))
        step = self.concentration
        for i, j in permutations(range(state.shape[1]), 2):
            rows = np.flatnonzero(state[:, i] > self.min_count)  # the neighbour keeps the promise
            x, y = self._parameter(state[rows, i]), self._parameter(state[rows, j])
            # Seen from the neighbour the two classes change their parts.
            for one in (cost(x, y), cost(y + step, x - step)):
                out[rows] = np.maximum(out[rows], one)
        return out


@dataclass(frozen=True, kw_only=True)
class AdditiveMove(ProportionMove):
    """Releases counts with independent noise; alike whatever the counts are.

    The state is the counts. With two classes one count says all; otherwise two change.

    Attributes
    ----------
    pure : bool
        Whether there is noise with no delta at all.
    """

    noise: float
    n_classes: int | None = None

    pure: ClassVar[bool] = False

    @classmethod
    def least(cls, epsilon: float, delta: float, n_classes: int | None) -> float:
        """Return the least noise that is (epsilon, delta)-private."""
        return cls._least(epsilon, delta, n_classes, unit=1.0)

    @classmethod
    def _least(cls, epsilon: float, delta: float, n_classes: int | None, unit: float) -> float:
        """Search about an amount of noise that is near."""

        def delta_of(sharpness: float) -> float:
            return cls(noise=unit / sharpness, n_classes=n_classes).delta(epsilon)

        return unit / find_sharpness(delta_of, delta)

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of the noise on each count."""

    @property
    def n_counts(self) -> int:
        """Counts that a changed label changes and that are released."""
        return 1 if self.n_classes == 2 else 2

    @abstractmethod
    def worst_case(self, orders: _Orders = None) -> Floats:
        """Return the cost at `orders`."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return the least delta."""

    def priced(self) -> HasGaussianCost:
        """Return what has a price in a Gaussian budget."""
        return Profile.from_function(self.delta)

    def exact(self, state: Floats) -> Floats:
        """Return the worst case, once for each row."""
        return np.broadcast_to(self.worst_case(), (len(state), len(ORDERS)))

    def known_delta(self, state: Floats, epsilon: float) -> Floats:
        """Return the least delta, once for each row."""
        return np.full(len(state), self.delta(epsilon))


@dataclass(frozen=True, kw_only=True)
class LaplaceMove(AdditiveMove):
    """Releases counts with Laplace noise of scale `noise`."""

    pure: ClassVar[bool] = True

    @classmethod
    def least(cls, epsilon: float, delta: float, n_classes: int | None) -> float:
        """Return the least noise that is (epsilon, delta)-private."""
        pure = (1 if n_classes == 2 else 2) / epsilon
        return cls._least(epsilon, delta, n_classes, unit=pure) if delta > 0 else pure

    @property
    def variance(self) -> float:
        """Of the noise on each count."""
        return 2 * self.noise**2

    def worst_case(self, orders: _Orders = None) -> Floats:
        """Return the cost at `orders`."""
        at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
        return laplace_renyi(1 / self.noise, self.n_counts, at)

    def delta(self, epsilon: float) -> float:
        """Return the least delta."""
        return laplace_delta(1 / self.noise, epsilon, self.n_counts)


@dataclass(frozen=True, kw_only=True)
class GaussianMove(AdditiveMove):
    """Releases counts with Gaussian noise of standard deviation `noise`."""

    @property
    def variance(self) -> float:
        """Of the noise on each count."""
        return self.noise**2

    @property
    def _ratio(self) -> float:
        return float(np.sqrt(self.n_counts)) / self.noise

    def priced(self) -> HasGaussianCost:
        """Return the exact cost: this is what Gaussian budgets count in."""
        return GaussianCost(self._ratio**2)

    def worst_case(self, orders: _Orders = None) -> Floats:
        """Return the cost at `orders`."""
        at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
        return gaussian_bound(self._ratio, at)

    def delta(self, epsilon: float) -> float:
        """Return the least delta."""
        return float(gaussian_delta(self._ratio, epsilon))
