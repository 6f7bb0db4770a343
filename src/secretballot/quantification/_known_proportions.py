"""The proportions that estimators learn from: what is taken for them, and what may be wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from secretballot._numbers import check_unmasked
from secretballot.quantification._bag_ids import are_numbers, ids_of_table, positions
from secretballot.quantification._unsaid_noise import warn_of_noise
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
                f"{n_bags} bag{'s' if n_bags > 1 else ''} can't tell {n_classes} classes apart; "
                "give at least as many bags as classes."
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

    def rows(self, which: NDArray[np.intp]) -> KnownProportions:
        """Return some bags, in this order."""
        noise = None if self.covariance is None else self.covariance[which]
        return KnownProportions(self.values[which], self.classes, noise)

    def in_order(self, classes: NDArray[Any]) -> KnownProportions:
        """Return them with their columns in the order of `classes`.

        Columns that are only numbered have that order already.
        """
        given, wanted = self.classes.tolist(), np.asarray(classes).tolist()
        if given == wanted or (given == list(range(len(wanted))) and set(given) != set(wanted)):
            return self._replace(classes=np.asarray(classes))
        if sorted(map(repr, given)) != sorted(map(repr, wanted)) or len(set(given)) < len(given):
            raise ValueError(
                f"proportions has the classes {given!r}, and should have {wanted!r}, each once."
            )
        columns = [given.index(one) for one in wanted]
        noise = self.covariance
        return KnownProportions(
            self.values[:, columns],
            np.asarray(classes),
            None if noise is None else noise[:, columns][:, :, columns],
        )

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
    proportions: Any,
    n_bags: int,
    covariance: ArrayLike | None = None,
    *,
    names: Sequence[Any] | None = None,
    sizes: ArrayLike | None = None,
) -> KnownProportions:
    """Return proportions, classes and the covariance of the noise.

    Parameters
    ----------
    proportions : PublishedProportions, data frame, array-like or mapping
        Rows of shape (n_bags, n_classes), or of shape (n_bags,): the shares of the second of two
        classes, which are called 0 and 1. A mapping has a row or a share for each name.
    n_bags : int
    covariance : array-like of shape (n_bags, n_classes, n_classes), default=None
        In the order of the rows of `proportions`.
    names : sequence of length n_bags, default=None
        What the bags are called. Where `proportions` has names too they are matched; not where
        either only counts from 0, and the other does not, unless that is a mapping.
    sizes : array-like of shape (n_bags,), default=None
        Instances in each bag to be learned from: proportions that show to be noisy, without
        anything said of the noise, are warned of.

    Raises
    ------
    ValueError
        If a bag's proportions don't add up to one, within 0.001. They are never normalised: a row
        of counts, or a class that was left out, would go unnoticed. If one side has names that the
        other has not.
    """
    ids = ids_of_table(proportions)
    if isinstance(proportions, Mapping) and names is None:
        raise ValueError(
            "proportions is a mapping, by name, and these bags have no names; give Bags, or let "
            "align_bags make bags in the order of the mapping."
        )
    known = _table(proportions, covariance)
    by_name = isinstance(proportions, Mapping)  # whose keys have no order that means anything
    if ids is not None and names is not None and (by_name or _named(names, ids)):
        known = known.rows(positions(list(names), ids))
    if known.values.shape[0] != n_bags:
        raise ValueError(
            f"there are {n_bags} bags and {known.values.shape[0]} rows of proportions; give each "
            "bag one."
        )
    if sizes is not None and known.covariance is None:
        warn_of_noise(known.values, np.asarray(sizes))
    return known


def proportions_by_id(
    proportions: Any,
    ids: Sequence[Any],
    covariance: ArrayLike | None = None,
    *,
    unused: str = "refuse",
) -> KnownProportions:
    """Return what is known of these bags, in this order, from a table that names its rows.

    Parameters
    ----------
    proportions : PublishedProportions, data frame, series or mapping
        Keyed by id.
    ids : sequence
        The bags wanted.
    covariance : array-like of shape (n_rows, n_classes, n_classes), default=None
        In the order of the rows of `proportions`.
    unused : {"refuse", "drop"}, default="refuse"
        What is done about rows of other bags.
    """
    return _table(proportions, covariance).rows(
        positions(ids, required_ids(proportions), unused=unused)
    )


def required_ids(proportions: Any) -> list[Any]:
    """Return what the rows of a table are called, or refuse one whose rows aren't."""
    ids = ids_of_table(proportions)
    if ids is None:
        raise ValueError(
            f"proportions is of type {type(proportions).__name__}, and must say which bag each row "
            "is of: give PublishedProportions, a data frame or series whose index is the bags' "
            "ids, or a mapping {id: row}."
        )
    return ids


def _named(names: Sequence[Any], ids: list[Any]) -> bool:
    """Whether both sides have names: what only counts from 0 has none, unless both say the same."""
    counted = are_numbers(list(names)) or are_numbers(ids)
    return not counted or set(names) == set(ids)


def _table(proportions: Any, covariance: ArrayLike | None) -> KnownProportions:
    """Return what a table says, in its own order."""
    if isinstance(proportions, PublishedProportions):
        values, classes = proportions.proportions, np.asarray(proportions.classes)
        covariance = proportions.covariance() if covariance is None else covariance
    else:
        named = getattr(proportions, "columns", None)
        check_unmasked("y", proportions)
        table = list(proportions.values()) if isinstance(proportions, Mapping) else proportions
        try:
            values = check_array(table, dtype=np.float64, input_name="proportions", ensure_2d=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "y must be a table of proportions, with a row for each bag and a column for each "
                f"class: {error}"
            ) from error
        if values.ndim == 1:
            off = np.flatnonzero((values < -SUM_TOLERANCE) | (values > 1 + SUM_TOLERANCE))
            if off.size:
                raise ValueError(
                    f"the share of bag {off[0]} is {values[off[0]]:.6g}: one-dimensional "
                    "proportions are shares of the second of two classes, from 0 to 1. Divide "
                    "counts by the size of the bag."
                )
            values = np.stack([1 - values, values], axis=1)
        classes = np.arange(values.shape[1]) if named is None else np.asarray(named)
    if values.shape[1] < 2:
        raise ValueError(
            "proportions has one column; give one for each of two or more classes, or a "
            "one-dimensional array: the shares of the second of two."
        )
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
    if not np.isfinite(known).all() or off.any():
        raise ValueError(
            "covariance has a matrix that is none of a noise: they must be finite and symmetric, "
            "with variances of at least 0."
        )
    least = np.linalg.eigvalsh(known)[:, 0]
    negative = np.flatnonzero(least < -1e-8 * np.abs(known).max(axis=(1, 2), initial=0))
    if negative.size:
        raise ValueError(
            f"covariance of bag {negative[0]} is none of a noise: some mixture of its classes has "
            f"the variance {least[negative[0]]:.3g}. Variances are at least 0 and no correlation "
            "is beyond 1 (a positive semidefinite matrix); published.covariance() is one."
        )
    return known
