"""Which size of a set: the one with the largest gap below it, with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import BoundedRange, NoisyGaps, Step, draw_gumbel

Selector = Literal["exponential", "gaussian"]
#: As it is stored: per item more or fewer than wanted, or of each size.
Regularizer = float | tuple[float, ...] | None


@dataclass(frozen=True)
class SizeChoice:
    """The choice of a size by its gap, and by what else speaks for it.

    Attributes
    ----------
    selector : {"exponential", "gaussian"}
    rho : float
        Zero-concentrated privacy, of ballots of weight 1, which the noise is made for.
    moves, gap_range : float
        By how much one ballot of weight 1 changes a gap, and how far apart it can change gaps.
    least : int
        The smallest size.
    k : int or None
        What is wanted.
    regularizer : Regularizer
    enough : float
        With `k`, the gap beyond which more does not count.
    """

    selector: Selector
    rho: float
    moves: float
    gap_range: float
    least: int
    k: int | None
    regularizer: Regularizer
    enough: float

    @property
    def noise(self) -> float:
        """Scale of the noise: Gumbel, or Gaussian made for twice the sensitivity."""
        if self.selector == "exponential":
            return self.gap_range / math.sqrt(8 * self.rho)
        return math.sqrt(2) * self.moves / math.sqrt(self.rho)

    def step(self, unit: float, n_sizes: int) -> Step:
        """Return the step of a law, for people who add so much to a count."""
        if self.selector == "exponential":
            return Step("choice", BoundedRange(width=math.sqrt(8 * self.rho) * unit))
        noisy = NoisyGaps(sigma=self.noise, shift=self.moves * unit, n_scores=n_sizes)
        return Step("choice", noisy)

    def scores(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what sizes count; between neighbours no more apart than their gaps are."""
        counted = gaps if self.k is None else np.minimum(gaps, self.enough)
        return counted + self.preferred(gaps.shape[1])

    def preferred(self, n_sizes: int) -> NDArray[np.float64]:
        """Return by how much more each size counts."""
        sizes = np.arange(self.least, self.least + n_sizes)
        if isinstance(self.regularizer, tuple):
            return np.asarray(self.regularizer)[:n_sizes]
        if self.k is None:
            return np.zeros(n_sizes)
        each = math.inf if self.regularizer is None else self.regularizer
        away = np.abs(sizes - self.k).astype(np.float64)
        return np.where(away > 0, -each * np.maximum(away, 1.0), 0.0)

    def draw(self, gaps: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
        """Choose a size for each row, as a position among those considered."""
        possible = np.isfinite(self.preferred(gaps.shape[1]))
        if possible.sum() == 1:
            return np.full(len(gaps), int(possible.argmax()))
        exponential = self.selector == "exponential"
        noise = draw_gumbel(gaps.shape, rng) if exponential else rng.normal(size=gaps.shape)
        return np.asarray(np.argmax(self.scores(gaps) + self.noise * noise, axis=1))


def checked_regularizer(
    given: float | Sequence[float] | None, k: int | None, k_max: int | None, least: int
) -> Regularizer:
    """Return the parameter `regularizer` as it is stored, or raise `ValueError`."""
    if given is None:
        return None
    if isinstance(given, bool | np.bool_ | str):
        raise ValueError(f"regularizer={given!r} must be a number, or one for each size.")
    if isinstance(given, float | int | np.number):
        if k is None:
            raise ValueError(
                f"regularizer={given!r} is per item more or fewer than k; without k, give one "
                "number for each size."
            )
        if not given >= 0:
            raise ValueError(f"regularizer={given!r} must be at least 0.")
        return float(given)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(math.nan)  # which is none of what is asked for
    if values.ndim != 1 or np.isnan(values).any() or (values == np.inf).any():
        raise ValueError(f"regularizer={given!r} must be finite numbers, or minus infinity.")
    if k_max is None or len(values) != k_max + 1 - least:
        raise ValueError(
            f"regularizer has {len(values)} numbers; give k_max={k_max!r}, and one for each size "
            f"from {least} to k_max."
        )
    if not np.isfinite(values).any():
        raise ValueError(f"regularizer={given!r} leaves no size.")
    return tuple(values.tolist())


def described(given: Regularizer) -> Any:
    """Return a regularizer with infinite numbers as text, which a ledger can hold."""
    if isinstance(given, tuple):
        return [each if math.isfinite(each) else str(each) for each in given]
    return str(given) if given == math.inf else given
