"""Noisy ranks of many columns by one vector sum (square root of prefix sums), and quantiles."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular, toeplitz
from sklearn.isotonic import isotonic_regression

from secretballot.mechanisms._noisy_counts import VectorSum

Floats = NDArray[np.float64]

#: Binary places of the entries of the root, whose sums are exact.
_ROOT_PLACES = 20
#: Factor of the vectors' distances that covers rounding.
_DISTANCE_MARGIN = 1 + 2.0**-40
#: Bins proportional to the distance from 0 are even below this part of its largest bound.
_LINEAR_PART = 1e-6
#: A column has quantiles if its noisy number of people exceeds 0 by this many standard errors.
LEAST_ERRORS = 2.0


@dataclass(frozen=True)
class RankGrid:
    """Public grid on which the ranks of columns are released."""

    names: tuple[Hashable, ...]
    edges: Floats  # of the bins, shape (n_columns, n_bins + 1)

    @classmethod
    def between(
        cls, names: Sequence[Hashable], bounds: Mapping[Hashable, tuple[float, float]], n_bins: int
    ) -> RankGrid:
        """Make a grid of bins, half of them even and half proportional to the distance from 0.

        The proportional half resolves small values within bounds that are too wide; the even half
        resolves large values that hardly differ.
        """
        edges = np.empty((len(names), n_bins + 1))
        for row, name in zip(edges, names, strict=True):
            low, high = bounds[name]
            scale = _LINEAR_PART * max(abs(low), abs(high))
            even = np.linspace(low, high, n_bins - n_bins // 2 + 1)
            steps = np.linspace(math.asinh(low / scale), math.asinh(high / scale), n_bins // 2 + 2)
            proportional = (scale * np.sinh(steps[1:-1])).clip(low, high)
            row[:] = np.sort(np.concatenate([even, proportional]))
        return cls(tuple(names), edges)

    @property
    def n_bins(self) -> int:
        return self.edges.shape[1] - 1

    def mechanism(self, sigma: float, weight: float | Mapping[str, float] = 1.0) -> VectorSum:
        """Make the mechanism that releases `sums`; `weight` is a person's, per privacy level."""
        norm, diameter = _lengths(self.n_bins)
        root = math.sqrt(len(self.names)) * _DISTANCE_MARGIN
        return VectorSum(sigma=sigma, norm=root * norm, diameter=root * diameter, weight=weight)

    def sums(self, columns: Sequence[Floats], weights: Floats, n_people: int) -> Floats:
        """Compute the sums over private rows, of shape (1, n_columns * n_bins).

        A missing value (NaN) has no bin, and values beyond the bounds are in the outermost bins.
        Weights of rows, which add up to at most a person's, are rounded towards zero so that sums
        are exact: no row changes the rounding of another.
        """
        places = max(52 - _ROOT_PLACES - n_people.bit_length(), 0)
        weights = np.trunc(np.ldexp(weights, places)) * 2.0**-places
        histograms = [
            self._histogram(x, edges, weights) for x, edges in zip(columns, self.edges, strict=True)
        ]
        return (np.stack(histograms) @ prefix_root(self.n_bins).T).reshape(1, -1)

    def ranks(self, noisy_sums: Floats, sigma: float, n_people: int) -> NoisyRanks:
        """Compute ranks from released sums: the prefix sums, made to rise."""
        sums = noisy_sums.reshape(len(self.names), self.n_bins)
        histograms = solve_triangular(prefix_root(self.n_bins), sums.T, lower=True)
        ranks = np.cumsum(histograms, axis=0).T
        rising = [isotonic_regression(row, y_min=0.0, y_max=n_people) for row in ranks]
        return NoisyRanks(self.edges, np.reshape(rising, sums.shape), self.error(sigma), n_people)

    def error(self, sigma: float) -> float:
        # The prefix sums are the root applied twice: their noise is the root's.
        return sigma * float(np.linalg.norm(prefix_root(self.n_bins)[-1]))

    def _histogram(self, x: Floats, edges: Floats, weights: Floats) -> Floats:
        present = ~np.isnan(x)
        bins = np.searchsorted(edges[1:-1], x[present], side="right")
        counts = np.bincount(bins, weights=weights[present], minlength=self.n_bins)
        return counts.astype(np.float64)


@lru_cache(maxsize=4)
def prefix_root(n_bins: int) -> Floats:
    """Compute the square root of the matrix of prefix sums, rounded to a binary grid."""
    steps = np.arange(1, n_bins)
    entries = np.cumprod(np.concatenate([[1.0], 1 - 1 / (2 * steps)]))
    rounded = np.rint(np.ldexp(entries, _ROOT_PLACES)) * 2.0**-_ROOT_PLACES
    return np.tril(toeplitz(rounded))


@lru_cache(maxsize=4)
def _lengths(n_bins: int) -> tuple[float, float]:
    """Compute the largest length of a column of the root, and their largest distance.

    The zero vector of a missing value is one of them.
    """
    entries = prefix_root(n_bins)[:, 0]
    # Column j has the first n - j entries, from row j on. By number of entries:
    squares = np.cumsum(entries**2)
    furthest = squares.max()
    for lag in range(1, n_bins):
        products = np.cumsum(entries[lag:] * entries[:-lag])
        distances = squares[lag:] + squares[:-lag] - 2 * products
        furthest = max(furthest, distances.max())
    return math.sqrt(squares.max()), math.sqrt(furthest)


@dataclass(frozen=True)
class NoisyRanks:
    """Noisy numbers of people at or below each bin of a grid, released."""

    edges: Floats  # of the bins, shape (n_columns, n_bins + 1)
    ranks: Floats  # people in a bin or below, shape (n_columns, n_bins); they rise along the bins
    error: float  # largest standard deviation of a rank
    n_people: int  # with and without a value

    def quantiles(self, q: Floats) -> Floats:
        """Compute quantiles by column, shape (n_columns, n_levels).

        Values are spread evenly within a bin. A column in which no more people have a value than
        noise could show has NaN.
        """
        bins, people = self._bins(q), np.diff(self.ranks, prepend=0.0)
        below = np.take_along_axis(self.ranks - people, bins, axis=1)
        inside = np.maximum(np.take_along_axis(people, bins, axis=1), np.finfo(float).tiny)
        parts = np.clip((self._wanted_ranks(q) - below) / inside, 0.0, 1.0)
        low, high = self._ends(bins)
        return np.where(self._has_people, low + parts * (high - low), np.nan)

    def intervals(self, q: Floats, width: float) -> Floats:
        """Compute the ends of the bins that hold the quantiles at q - width and at q + width."""
        low, _ = self._ends(self._bins(q - width))
        _, high = self._ends(self._bins(q + width))
        return np.where(self._has_people[..., None], np.stack([low, high], axis=-1), np.nan)

    @property
    def _has_people(self) -> NDArray[np.bool_]:
        return np.asarray(self.ranks[:, -1:] > LEAST_ERRORS * self.error)

    def _wanted_ranks(self, q: Floats) -> Floats:
        return np.asarray(np.clip(q, 0, 1) * self.ranks[:, -1:])

    def _bins(self, q: Floats) -> NDArray[np.intp]:
        bins = np.stack(list(map(np.searchsorted, self.ranks, self._wanted_ranks(q))))
        return np.minimum(bins, self.ranks.shape[1] - 1)

    def _ends(self, bins: NDArray[np.intp]) -> tuple[Floats, Floats]:
        edges = self.edges
        return np.take_along_axis(edges, bins, axis=1), np.take_along_axis(edges, bins + 1, axis=1)
