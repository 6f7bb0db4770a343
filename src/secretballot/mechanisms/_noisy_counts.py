"""Numbers that each person moves a little, released as they are but for Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_number
from secretballot.divergences import Law, NoisyVector, Step
from secretballot.mechanisms._base import Mechanism, Relation, by_group, check_relation
from secretballot.mechanisms._noisy_max import finer_than

#: Released numbers are whole multiples of one over this.
_RESOLUTION = 1_024


@dataclass(frozen=True, kw_only=True)
class NoisyNumbers(Mechanism):
    """Base class: each row of numbers with noise on each of them, on a public grid."""

    sigma: float

    def __post_init__(self) -> None:
        check_number("sigma", self.sigma, above=0)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return counts as floats that are fine enough for the noise, or raise `ValueError`."""
        return finer_than(self.sigma, super().check_counts(counts))

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the noisy numbers, of the shape of `counts`, on a public grid."""
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(np.rint(noisy * _RESOLUTION) / _RESOLUTION)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every row is released once."""
        return {"numbers": np.ones(len(outcome))}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return nothing: the cost is the same whatever the numbers."""
        return {}


@dataclass(frozen=True, kw_only=True)
class NoisyCounts(NoisyNumbers):
    """Counts of people, with Gaussian noise: right answers, or a whole confusion matrix.

    Counts have shape (n_rows, n_columns), a row for each release. To the counts of a row each
    person adds numbers that are not negative, and no more than `weight` together: 1 to one of them,
    an average over what the person has, or nothing. So a person that is replaced moves one count
    alone by 1, and several by the square root of 2: one goes down, and another up.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count.
    relation : {"replace", "add_remove"}, default="replace"
        Whether one person is another in a neighbouring data set, or is not there, which moves
        counts by 1 however many there are.
    weight : float or dict of str to float, default=1.0
        The most that one person adds to counts; per privacy level where that differs.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    BestOfCounts : Which count is the largest, for less.
    secretballot.scoring.score_private : Accuracy on private rows, with an interval.

    References
    ----------
    Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018); Dong,
    Roth and Su, "Gaussian Differential Privacy" (2022), for what it costs beside other releases.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_relation(self.relation)
        check_number("weight", self.weight, above=0, per_level=True)

    @property
    def relations(self) -> frozenset[str]:  # type: ignore[override]
        """The one neighbouring relation that it is charged for."""
        return frozenset({self.relation})

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the noisy counts of one row, for each privacy group's weight."""
        several = self.relation == "replace" and n_columns != 1
        moved = math.sqrt(2) if several else 1.0
        return {
            group: (Step("numbers", NoisyVector(ratio=moved * weight / self.sigma)),)
            for group, weight in by_group(self.weight).items()
        }
