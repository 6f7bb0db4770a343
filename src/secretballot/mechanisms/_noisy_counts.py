"""Counts of people, released with Gaussian noise on each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.divergences import EVERYONE, Law, NoisyVector, Step
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._fields import Relation, by_group, check_count_spacing

#: Released numbers are whole multiples of one over this.
_RESOLUTION = 1_024


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

    `secretballot.publication.publish_epsilon` releases it; the number is a `Margin`. A replaced
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

    Counts have shape (n_rows, n_columns), a row for each release. To the counts of a row each
    person adds non-negative numbers with a sum of at most `weight`: 1 to one of the counts, an
    average over the person's records, or nothing. A replaced person moves a single count by at most
    1, and several counts by at most the square root of 2 (l2): one goes down, and another up.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count.
    relation : {"replace", "add_remove"}, default="replace"
        Neighbouring data sets: one person is replaced by another, or added or removed, which
        moves the counts by at most 1 together.
    weight : float or dict of str to float, default=1.0
        Largest sum of one person's contributions; per privacy level where it differs.

    See Also
    --------
    BestOfCounts : The largest count's column, for less.
    secretballot.scoring.score_private : Accuracy on private rows, with an interval.

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
