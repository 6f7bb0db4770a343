"""Moves of label proportions: the noise on a bag's counts, and its costs when a label changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np

from secretballot.costs._cost import GaussianCost, HasGaussianCost, Profile
from secretballot.costs._divergence import gaussian_bound
from secretballot.costs._law import Move
from secretballot.costs._noise import (
    dirichlet_delta,
    dirichlet_renyi,
    draw_laplace,
    gaussian_delta,
    laplace_delta,
    laplace_renyi,
)
from secretballot.costs._orders import ORDERS, Floats
from secretballot.costs._threshold_search import find_sharpness


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
        """Compute the largest Renyi divergences over all data."""
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
