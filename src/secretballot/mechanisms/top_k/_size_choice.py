"""Private choice of a set's size by the gap below it, and noisy test of that gap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from secretballot.costs._law import Step
from secretballot.costs._noise import draw_gumbel, draw_laplace
from secretballot.costs._selection import BoundedRange, NoisyGaps, PureRelease, StableTest

Selector = Literal["exponential", "gaussian"]
TestNoise = Literal["gaussian", "laplace"]
#: Regularizer per item of difference to `k`, or for each size; it is stored as a tuple then.
Regularizer = float | Sequence[float] | None


@dataclass(frozen=True)
class SizeChoice:
    """Choice of a size by its gap and a regularizer, with noise."""

    selector: Selector
    rho: float  # for ballots of weight 1; determines the noise
    unit_sensitivity: float  # of a gap to one ballot of weight 1
    gap_range: float  # of the changes of all gaps by one ballot
    min_size: int
    k: int | None  # the wanted size
    regularizer: Regularizer
    max_gap: float  # with `k`, gaps count alike from this one on

    @property
    def noise(self) -> float:
        """Scale of the Gumbel noise, or of the Gaussian noise for twice the sensitivity."""
        if self.selector == "exponential":
            return self.gap_range / math.sqrt(8 * self.rho)
        return math.sqrt(2) * self.unit_sensitivity / math.sqrt(self.rho)

    def step(self, contribution: float, n_sizes: int) -> Step:
        """Return the step of a law, for a largest contribution of a person to a count."""
        if self.selector == "exponential":
            return Step("choice", BoundedRange(width=math.sqrt(8 * self.rho) * contribution))
        shift = self.unit_sensitivity * contribution
        return Step("choice", NoisyGaps(sigma=self.noise, shift=shift, n_scores=n_sizes))

    def scores(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the scores of sizes; they are no more sensitive than their gaps."""
        clipped = gaps if self.k is None else np.minimum(gaps, self.max_gap)
        return clipped + self.preferences(gaps.shape[1])

    def preferences(self, n_sizes: int) -> NDArray[np.float64]:
        """Return the regularizer of each size."""
        if isinstance(self.regularizer, Sequence):
            return np.asarray(self.regularizer)[:n_sizes]
        if self.k is None:
            return np.zeros(n_sizes)
        penalty = math.inf if self.regularizer is None else self.regularizer
        distance = np.abs(np.arange(self.min_size, self.min_size + n_sizes) - self.k).astype(float)
        return np.where(distance > 0, -penalty * np.maximum(distance, 1.0), 0.0)

    def draw(self, gaps: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the position of a size for each row."""
        possible = np.isfinite(self.preferences(gaps.shape[1]))
        if possible.sum() == 1:
            return np.full(len(gaps), int(possible.argmax()))
        exponential = self.selector == "exponential"
        noise = draw_gumbel(gaps.shape, rng) if exponential else rng.normal(size=gaps.shape)
        return np.asarray(np.argmax(self.scores(gaps) + self.noise * noise, axis=1))


def as_regularizer(
    regularizer: Regularizer, k: int | None, k_max: int | None, min_size: int
) -> Regularizer:
    """Convert the parameter `regularizer` as it is stored, or raise `ValueError`."""
    if regularizer is None:
        return None
    try:
        values = np.asarray(regularizer)
    except ValueError:
        values = np.empty(0, dtype=object)  # rows of different lengths
    if values.dtype.kind not in "iuf" or values.ndim > 1 or np.isnan(values).any():
        raise ValueError(
            f"regularizer={regularizer!r} must be a number, or a list of one for each size: finite "
            "numbers, or minus infinity."
        )
    if values.ndim == 0:
        if k is None:
            raise ValueError(
                f"regularizer={regularizer!r} is per item more or fewer than k; without k, give "
                "one number for each size."
            )
        if values < 0:
            raise ValueError(f"regularizer={regularizer!r} must be at least 0.")
        return float(values)
    if k_max is None or len(values) != k_max + 1 - min_size:
        raise ValueError(
            f"regularizer has {len(values)} numbers; give k_max={k_max!r}, and one for each size "
            f"from {min_size} to k_max."
        )
    if not np.isfinite(values).any() or (values == np.inf).any():
        raise ValueError(
            f"regularizer={regularizer!r} leaves no size: give finite numbers, or minus infinity."
        )
    return tuple(values.astype(np.float64).tolist())


def describe_regularizer(regularizer: Regularizer) -> float | str | list[float | str] | None:
    """Return a regularizer for a ledger, with infinite numbers as text."""
    if isinstance(regularizer, Sequence):
        return [value if math.isfinite(value) else str(value) for value in regularizer]
    return str(regularizer) if regularizer == math.inf else regularizer


@dataclass(frozen=True)
class GapTest:
    """Propose-test-release: a gap's excess over the sensitivity, with noise, is above `height`."""

    noise: TestNoise
    unit_sensitivity: float  # of a gap to one ballot of weight 1
    rho: float  # for ballots of weight 1; determines the noise
    delta: float  # probability that a gap without any excess passes

    @property
    def scale(self) -> float:
        """Standard deviation of the Gaussian noise, or scale of the Laplace noise."""
        return self.unit_sensitivity / math.sqrt(2 * self.rho)

    @property
    def height(self) -> float:
        """Height that noise alone exceeds with probability `delta`."""
        if self.noise == "gaussian":
            return -self.scale * float(ndtri(self.delta))
        return -self.scale * math.log(2 * self.delta)

    def step(self, contribution: float) -> Step:
        """Return the step of a law, for a largest contribution of a person to a count."""
        shift = self.unit_sensitivity * contribution
        if self.noise == "gaussian":
            return Step("test", StableTest(scale=self.scale, shift=shift), delta=self.delta)
        return Step("test", PureRelease(epsilon=shift / self.scale), delta=self.delta)

    def passes(self, excess: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw the test's results for the excess of gaps."""
        gaussian, shape = self.noise == "gaussian", excess.shape
        noise = rng.normal(size=shape) if gaussian else draw_laplace(shape, rng)
        return np.asarray(np.maximum(excess, 0.0) + self.scale * noise > self.height)

    def probabilities(self, excess: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the probabilities that gaps pass and fail."""
        distance = (np.maximum(excess, 0.0) - self.height) / self.scale
        if self.noise == "gaussian":
            return ndtr(distance), ndtr(-distance)
        tail = np.exp(-np.abs(distance)) / 2
        return np.where(distance > 0, 1 - tail, tail), np.where(distance > 0, tail, 1 - tail)
