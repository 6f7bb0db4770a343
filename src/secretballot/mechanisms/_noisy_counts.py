"""Counts and sums over people with noise on each number, and the choice of the largest count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_number
from secretballot.costs._groups import EVERYONE
from secretballot.costs._law import Law, NoisyVector, Step
from secretballot.costs._noise import draw_gumbel
from secretballot.costs._selection import BoundedRange
from secretballot.mechanisms._base import (
    Mechanism,
    Relation,
    as_table,
    by_group,
    check_count_spacing,
    difference_sensitivity,
)

#: Released counts are whole multiples of one over this.
_RESOLUTION = 1_024

#: Released sums are whole multiples of about the noise over this.
_SUM_RESOLUTION = 2**20


@dataclass(frozen=True, kw_only=True)
class NoisyNumbers(Mechanism):
    """Base class: rows of numbers with Gaussian noise on each, rounded to a public grid."""

    sigma: float

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return counts that are small enough for the noise, or raise `ValueError`."""
        return check_count_spacing(self.sigma, super().check_counts(counts))

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the noisy numbers, of the shape of `counts`, on a public grid."""
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(np.rint(noisy * _RESOLUTION) / _RESOLUTION)


@dataclass(frozen=True, kw_only=True)
class NoisyMargin(NoisyNumbers):
    """Number of ballots between votes and their worst case, with Gaussian noise.

    `secretballot.accounting.publish_epsilon` releases it; the number is a `Margin`. A replaced
    ballot changes it by no more than 1.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in ballots.
    """

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one noisy number."""
        return {EVERYONE: (Step("numbers", NoisyVector(ratio=1 / self.sigma)),)}

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return margins as an array of shape (n_rows, 1), or raise `ValueError`."""
        margin = super().check_counts(counts)
        if margin.shape[1] != 1:
            raise ValueError(f"counts has shape {margin.shape}; pass one number, [[margin]].")
        return margin


@dataclass(frozen=True, kw_only=True)
class NoisyCounts(NoisyNumbers):
    """Counts of people, with Gaussian noise: right answers, or a whole confusion matrix.

    Counts have shape (n_rows, n_columns). To those of a row each person adds non-negative numbers
    with a sum of at most `weight`. A replaced person moves a single count by at most 1, and several
    counts by at most the square root of 2 (l2): one goes down, and another up.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count.
    relation : {"replace", "add_remove"}, default="replace"
        Neighbouring data sets: one person is replaced, or added or removed, which moves the counts
        by at most 1 together.
    weight : float or dict of str to float, default=1.0
        Largest sum of one person's contributions; per privacy level where it differs.

    See Also
    --------
    BestOfCounts : The largest count's column, for less.
    secretballot.measures.score_private : Accuracy on private rows, with an interval.

    References
    ----------
    Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018); Dong,
    Roth and Su, "Gaussian Differential Privacy" (2022), for its cost beside other releases.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import NoisyCounts
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> right = accountant.release(NoisyCounts(sigma=30), [[8_212]])
    >>> right.shape
    (1, 1)
    """

    relation: Relation = field(default="replace")
    weight: float | Mapping[str, float] = field(default=1.0)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row of noisy counts, for each privacy group's weight."""
        replaced = self.relation == "replace" and n_columns != 1
        sensitivity = math.sqrt(2) if replaced else 1.0
        return {
            group: (Step("numbers", NoisyVector(ratio=sensitivity * weight / self.sigma)),)
            for group, weight in by_group(self.weight).items()
        }


@dataclass(frozen=True, kw_only=True)
class VectorSum(Mechanism):
    """Sums of bounded vectors, one per person, with Gaussian noise on each number.

    Counts are sums over all people, such as gradients, shape (n_rows, n_columns). The
    caller clips each vector to `norm`, which can't be checked on a sum. Vectors should hold
    multiples of a power of two, small enough for exact sums: then no person changes the rounding of
    the other terms.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each number.
    norm : float, default=1.0
        Largest length (l2) of a person's vector, before its `weight`.
    diameter : float, default=None
        Largest distance (l2) between two people's vectors, if it is less than twice the norm:
        non-negative vectors are at most ``sqrt(2) * norm`` apart.
    weight : float or dict of str to float, default=1.0
        Factor that people's vectors were multiplied by; per privacy level where that differs.
    relation : {"replace", "add_remove"}, default="replace"
        Neighbouring data sets: one person is replaced by another, or added or removed.

    Notes
    -----
    The l2 sensitivity is ``weight * diameter`` (``weight * norm`` where a person is added or
    removed), so a row is the Gaussian mechanism with mu = sensitivity / sigma. Every budget charges
    exactly that, on all data.

    References
    ----------
    Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Theorem 2.7; Balle and Wang,
    "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018), Theorem 8.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import VectorSum
    >>> vectors = np.tile([0.25, -0.5], (1000, 1))  # of length .56
    >>> mechanism = VectorSum(sigma=8.0, norm=0.56)
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> accountant.release(mechanism, vectors.sum(axis=0, keepdims=True)).shape
    (1, 2)
    >>> round(accountant.spent().epsilon, 2)
    0.49
    """

    sigma: float
    norm: float = field(default=1.0)
    diameter: float | None = field(default=None)
    weight: float | Mapping[str, float] = field(default=1.0)
    relation: Relation = field(default="replace")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("norm", self.norm, above=0)
        if self.diameter is not None:
            check_number("diameter", self.diameter, above=0)
            if self.diameter > 2 * self.norm:
                raise ValueError(
                    f"diameter={self.diameter!r} is more than twice norm={self.norm!r}: no two "
                    "vectors lie so far apart. Leave it out."
                )

    @property
    def sensitivity(self) -> float:
        """Largest change (l2) of a sum by one person of weight 1."""
        if self.relation == "add_remove":
            return self.norm
        return 2 * self.norm if self.diameter is None else self.diameter

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the noisy vector of each privacy group, for any number of columns."""
        return {
            group: (Step("sum", NoisyVector(ratio=weight * self.sensitivity / self.sigma)),)
            for group, weight in by_group(self.weight).items()
        }

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return sums as an array of shape (n_rows, n_columns), or raise `ValueError`."""
        sums = as_table(counts, "sums over all people, one row per sum").astype(np.float64)
        if not np.isfinite(sums).all():
            raise ValueError("counts must be finite sums of people's vectors.")
        return sums

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy sums, of the shape of `counts`, on a public grid."""
        grid = 2.0 ** math.floor(math.log2(self.sigma)) / _SUM_RESOLUTION
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(np.rint(noisy / grid) * grid)


@dataclass(frozen=True, kw_only=True)
class BestOfCounts(Mechanism):
    """The candidate with the largest count after Gumbel noise: the exponential mechanism.

    Counts are right answers of public models on private rows: shape (n_rows, n_candidates), one row
    for each choice. Each person adds to each count a score from an interval of width `weight`, such
    as 1 for a right answer. The cost does not depend on the number of candidates.

    Parameters
    ----------
    scale : float
        Scale of the noise, in right answers. The better of two candidates that differ by three
        times as much is chosen with a probability of about 95 %.
    relation : {"replace", "add_remove"}, default="replace"
        Neighbouring data sets: one person is replaced by another, or added or removed. The latter
        moves all counts one way, which costs a quarter.
    weight : float or dict of str to float, default=1.0
        Width of the interval of one person's scores; per privacy level where that differs.

    See Also
    --------
    NoisyCounts : The counts themselves.

    References
    ----------
    McSherry and Talwar, "Mechanism Design via Differential Privacy" (FOCS 2007). The exact
    charge: Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for Exponential
    Mechanisms" (ICML 2020).

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import BestOfCounts
    >>> right = [[29_804, 30_121, 28_455]]
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> accountant.release(BestOfCounts(scale=20), right)
    array([1])
    """

    scale: float
    relation: Relation = field(default="replace")
    weight: float | Mapping[str, float] = field(default=1.0)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one choice a row, for each privacy group's weight."""
        width = difference_sensitivity(self.relation) / self.scale
        return {
            group: (Step("choice", BoundedRange(width=width * weight)),)
            for group, weight in by_group(self.weight).items()
        }

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return counts that are small enough for the noise, or raise `ValueError`."""
        return check_count_spacing(self.scale, super().check_counts(counts), "scale")

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the best candidate of each row, shape (n_rows,)."""
        noisy = counts + self.scale * draw_gumbel(counts.shape, rng)
        return np.asarray(noisy.argmax(axis=1))
