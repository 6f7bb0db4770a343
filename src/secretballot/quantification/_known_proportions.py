"""The proportions that estimators learn from: what is taken for them, and what may be wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from secretballot._numbers import check_unmasked
from secretballot.quantification.publishing import PublishedProportions

#: How far from one the proportions of a bag may add up to: rounding of published figures.
SUM_TOLERANCE = 1e-3


class KnownProportions(NamedTuple):
    """Checked proportions: what they are of, and what is known about their noise."""

    values: NDArray[np.float64]
    classes: NDArray[Any]
    covariance: NDArray[np.float64] | None

    def check_separable(self) -> None:
        """Refuse proportions from which some class can't be learned."""
        n_bags, n_classes = self.values.shape
        if n_bags < n_classes:
            raise ValueError(
                f"{n_bags} bags can't tell {n_classes} classes apart; give at least as many bags "
                "as classes."
            )
        if np.linalg.matrix_rank(self.values) < n_classes:
            raise ValueError(
                "the bags' proportions are linearly dependent, so that some class could be any "
                "mixture of others; give bags that differ more, or merge those classes."
            )

    def joined(self, new: KnownProportions) -> KnownProportions:
        """Return these and those of further bags; ones without a covariance are exact."""
        if len(self.classes) != len(new.classes) or (self.classes != new.classes).any():
            raise ValueError(
                f"these bags have the classes {new.classes.tolist()!r}, but earlier ones had "
                f"{self.classes.tolist()!r}; name all classes in every call."
            )
        covariance = None
        if self.covariance is not None or new.covariance is not None:
            covariance = np.concatenate([self._noise(), new._noise()])
        values = np.concatenate([self.values, new.values])
        return KnownProportions(values, self.classes, covariance)

    def only(self, bags: NDArray[np.intp]) -> KnownProportions:
        """Return those of some bags."""
        covariance = None if self.covariance is None else self.covariance[bags]
        return KnownProportions(self.values[bags], self.classes, covariance)

    def noise_roots(self) -> NDArray[np.float64] | None:
        """Return roots of the covariances, factors last; None without noise."""
        if self.covariance is None:
            return None
        values, vectors = np.linalg.eigh(self.covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])

    def _noise(self) -> NDArray[np.float64]:
        if self.covariance is not None:
            return self.covariance
        return np.zeros((*self.values.shape, self.values.shape[1]))


def check_proportions(
    proportions: Any, n_bags: int, covariance: ArrayLike | None = None
) -> KnownProportions:
    """Return proportions, classes and the covariance of the noise.

    Raises
    ------
    ValueError
        If a bag's proportions don't add up to one, within 0.001. They are never normalised: a row
        of counts, or a class that was left out, would go unnoticed.
    """
    if isinstance(proportions, PublishedProportions):
        values, classes = proportions.proportions, np.asarray(proportions.classes)
        covariance = proportions.covariance() if covariance is None else covariance
    else:
        named = getattr(proportions, "columns", None)
        check_unmasked("y", proportions)
        try:
            values = check_array(proportions, dtype=np.float64, input_name="proportions")
        except (TypeError, ValueError) as error:
            raise ValueError(
                "y must be a table of proportions, with a row for each bag and a column for each "
                f"class: {error}"
            ) from error
        classes = np.arange(values.shape[1]) if named is None else np.asarray(named)
    if values.shape[0] != n_bags:
        raise ValueError(
            f"there are {n_bags} bags and {values.shape[0]} rows of proportions; give each bag one."
        )
    if values.shape[1] < 2:
        raise ValueError("proportions has one column; give one for each of two or more classes.")
    total = values.sum(axis=1)
    off = np.flatnonzero(
        (np.abs(total - 1) > SUM_TOLERANCE) | (values < -SUM_TOLERANCE).any(axis=1)
    )
    if off.size:
        raise ValueError(
            f"proportions of bag {off[0]} are {values[off[0]].tolist()}, with sum "
            f"{total[off[0]]:.6g}: they must not be negative and must sum to 1 (within "
            f"{SUM_TOLERANCE:g}). Divide counts by the size of the bag; give a class that was left "
            "out a column."
        )
    return KnownProportions(values, classes, _check_covariance(covariance, values.shape))


def _check_covariance(
    covariance: ArrayLike | None, shape: tuple[int, int]
) -> NDArray[np.float64] | None:
    if covariance is None:
        return None
    check_unmasked("covariance", covariance)
    try:
        known = np.asarray(covariance, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"covariance must be an array of numbers: {error}") from error
    if known.shape != (*shape, shape[1]):
        raise ValueError(
            f"covariance has shape {known.shape}; give one matrix for each bag: "
            f"{(*shape, shape[1])}."
        )
    # Of a noise that is known exactly, but for rounding.
    off = np.abs(known - known.transpose(0, 2, 1)) > 1e-9 * np.abs(known).max(initial=0)
    if not np.isfinite(known).all() or off.any() or (np.einsum("ijj->ij", known) < 0).any():
        raise ValueError(
            "covariance has a matrix that is none of a noise: they must be finite and symmetric, "
            "with variances of at least 0."
        )
    return known
