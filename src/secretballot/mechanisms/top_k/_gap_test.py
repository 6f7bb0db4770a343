"""Whether a gap is wider than anybody can make it: a test with noise."""

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
    """Passes if what a gap has in excess of anybody's change is above `height`, with noise.

    Attributes
    ----------
    noise : {"gaussian", "laplace"}
    moves : float
        By how much one ballot of weight 1 changes a gap.
    rho : float
        Zero-concentrated privacy, of ballots of weight 1, which the noise is made for.
    delta : float
        With what probability a gap without any excess passes.
    """

    noise: TestNoise
    moves: float
    rho: float
    delta: float

    @property
    def scale(self) -> float:
        """The noise's standard deviation, or the scale of Laplace noise."""
        return self.moves / math.sqrt(2 * self.rho)

    @property
    def height(self) -> float:
        """What noise alone is above with probability `delta`."""
        if self.noise == "gaussian":
            return -self.scale * float(ndtri(self.delta))
        return -self.scale * math.log(2 * self.delta)

    def step(self, unit: float) -> Step:
        """Return the step of a law, for people who add so much to a count."""
        if self.noise == "gaussian":
            test = StableTest(scale=self.scale, shift=self.moves * unit)
            return Step("test", test, delta=self.delta)
        return Step("test", PureRelease(epsilon=self.moves * unit / self.scale), delta=self.delta)

    def passes(self, excess: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw which gaps pass, given what each has in excess."""
        gaussian, shape = self.noise == "gaussian", excess.shape
        noise = rng.normal(size=shape) if gaussian else draw_laplace(shape, rng)
        noisy = np.maximum(excess, 0.0) + self.scale * noise
        return np.asarray(noisy > self.height)

    def passing(self, excess: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how likely gaps pass, and how likely not."""
        over = (np.maximum(excess, 0.0) - self.height) / self.scale
        if self.noise == "gaussian":
            return ndtr(over), ndtr(-over)
        rest = np.exp(-np.abs(over)) / 2
        return np.where(over > 0, 1 - rest, rest), np.where(over > 0, rest, 1 - rest)
