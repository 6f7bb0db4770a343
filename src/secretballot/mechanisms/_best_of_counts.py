"""Choice of the best of several candidates by counts of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.costs._law import Law, Step
from secretballot.costs._noise import draw_gumbel
from secretballot.costs._selection import BoundedRange
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._fields import (
    Relation,
    by_group,
    check_count_spacing,
    difference_sensitivity,
)


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
