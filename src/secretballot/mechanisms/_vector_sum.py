"""Sums of vectors, one a person, with Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_number, check_unmasked
from secretballot.divergences import Law, NoisyVector, Step
from secretballot.mechanisms._base import Mechanism, by_group

#: Released numbers are whole multiples of about the noise over this.
_RESOLUTION = 2**20


@dataclass(frozen=True, kw_only=True)
class VectorSum(Mechanism):
    """Sums of bounded vectors, one a person, with Gaussian noise on each number.

    Counts are sums over all people, shape (n_rows, n_columns): each row one sum, such as a round of
    `PrivateLogisticRegression`, a mean of features or a gradient. That nobody's vector is longer
    than `norm` is for the caller to see to, by clipping: a sum can't tell. Sums should be of
    multiples of a power of two, small enough to be exact, so that one more term is what it changes
    and not the rounding of others.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each number.
    norm : float, default=1.0
        The most that a person's vector is long (l2), before its `weight`.
    diameter : float, default=None
        The most that two people's vectors lie apart, where that is known to be less than twice the
        norm: vectors without negative numbers are ``sqrt(2) * norm`` apart at most.
    weight : float or dict of str to float, default=1.0
        What people's vectors were multiplied by; per privacy level where that differs.
    relation : {"replace", "add_remove"}, default="replace"
        Whether one person is another in a neighbouring data set, or is not there.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Neighbours' sums lie ``weight * diameter`` apart (``weight * norm`` where one joins), so a row
    is the Gaussian mechanism with mu that much over sigma: every budget charges exactly that. It
    costs the same on all data.

    References
    ----------
    Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Theorem 2.7; Balle and Wang,
    "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018), Theorem 8.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant, VectorSum
    >>> vectors = np.tile([0.25, -0.5], (1000, 1))  # each .56 long
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
    relation: Literal["replace", "add_remove"] = field(default="replace")

    def __post_init__(self) -> None:
        for name in ("sigma", "norm"):
            check_number(name, getattr(self, name), above=0)
        if self.diameter is not None:
            check_number("diameter", self.diameter, above=0)
            if self.diameter > 2 * self.norm:
                raise ValueError(
                    f"diameter={self.diameter!r} is more than twice norm={self.norm!r}: no two "
                    "vectors lie so far apart. Leave it out."
                )
        if not by_group(self.weight):
            raise ValueError(
                f"weight={self.weight!r} has no level; give one number, or one per level."
            )
        for weight in by_group(self.weight).values():
            check_number("weight", weight, above=0)
        if self.relation not in get_args(Literal["replace", "add_remove"]):
            raise ValueError(
                f"relation={self.relation!r} is unknown; use 'replace' or 'add_remove'."
            )

    @property
    def relations(self) -> frozenset[str]:  # type: ignore[override]
        """The one neighbouring relation that the noise was made for."""
        return frozenset({self.relation})

    @property
    def change(self) -> float:
        """The most that one person of weight 1 moves a sum (l2)."""
        if self.relation == "add_remove":
            return self.norm
        return 2 * self.norm if self.diameter is None else self.diameter

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the noisy vector of each privacy group, for any number of columns."""
        return {
            group: (Step("sum", NoisyVector(ratio=weight * self.change / self.sigma)),)
            for group, weight in by_group(self.weight).items()
        }

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return sums as an array of shape (n_rows, n_columns), or raise `ValueError`."""
        check_unmasked("counts", counts)
        try:
            sums = np.asarray(counts, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError("counts is no table of numbers; pass one row per sum.") from error
        if sums.ndim != 2 or sums.shape[1] == 0:
            raise ValueError(
                f"counts has shape {sums.shape}; pass sums over all people, one row per sum."
            )
        if not np.isfinite(sums).all():
            raise ValueError("counts must be finite sums of people's vectors.")
        return sums

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy sums, of the shape of `counts`, on a public grid."""
        grid = 2.0 ** math.floor(math.log2(self.sigma)) / _RESOLUTION
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(np.rint(noisy / grid) * grid)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every row is one noisy vector."""
        return {"sum": np.ones(len(outcome))}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return nothing: the cost is the same whatever the sums."""
        return {}
