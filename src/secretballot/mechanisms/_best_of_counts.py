"""The best of several candidates, by counts that each person moves a little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_number
from secretballot.divergences import BoundedRange, Law, Step, draw_gumbel
from secretballot.mechanisms._base import Mechanism, Relation, apart, by_group, check_relation
from secretballot.mechanisms._noisy_max import finer_than


@dataclass(frozen=True, kw_only=True)
class BestOfCounts(Mechanism):
    """Which candidate has the largest count, with Gumbel noise: the exponential mechanism.

    Counts are right answers on private rows, of models that are public: shape (n_rows,
    n_candidates), one row for each choice. Each person adds to each of them a score from an
    interval of width `weight`, the same for all candidates: 1 for a right answer, a Brier score, an
    average over what the person has. How many candidates there are makes no difference to the cost.

    Parameters
    ----------
    scale : float
        Scale of the noise, in right answers. Candidates that differ by three times as much are
        told apart with some 95 %.
    relation : {"replace", "add_remove"}, default="replace"
        Whether one person is another in a neighbouring data set, or is not there. All scores move
        one way if somebody joins, which costs a quarter.
    weight : float or dict of str to float, default=1.0
        Width of the interval that one person's scores are from; per privacy level where that
        differs.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    NoisyCounts : How large the counts are.

    References
    ----------
    McSherry and Talwar, "Mechanism Design via Differential Privacy" (FOCS 2007). What is charged is
    exact: Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for Exponential
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

    def __post_init__(self) -> None:
        check_number("scale", self.scale, above=0)
        check_relation(self.relation)
        check_number("weight", self.weight, above=0, per_level=True)

    @property
    def relations(self) -> frozenset[str]:  # type: ignore[override]
        """The one neighbouring relation that it is charged for."""
        return frozenset({self.relation})

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one choice a row, for each privacy group's weight."""
        width = apart(self.relation) / self.scale
        return {
            group: (Step("choice", BoundedRange(width=width * weight)),)
            for group, weight in by_group(self.weight).items()
        }

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return counts as floats that are fine enough for the noise, or raise `ValueError`."""
        return finer_than(self.scale, super().check_counts(counts), "scale")

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the best candidate of each row, shape (n_rows,)."""
        noisy = counts + self.scale * draw_gumbel(counts.shape, rng)
        return np.asarray(noisy.argmax(axis=1))

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every row is one choice."""
        return {"choice": np.ones(len(outcome))}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return nothing: the cost is the same whatever the counts."""
        return {}
