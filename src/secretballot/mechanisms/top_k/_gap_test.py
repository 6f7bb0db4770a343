"""Noisy test of a gap: the distance to instability of propose-test-release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from secretballot.divergences import PureRelease, StableTest, Step, draw_laplace

TestNoise = Literal["gaussian", "laplace"]


@dataclass(frozen=True)
class GapTest:
    """Test that passes if a gap's excess over the sensitivity, with noise, is above `height`."""

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
