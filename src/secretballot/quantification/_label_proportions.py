"""Label proportions of bags: released ones, and the reading of those that estimators learn from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.utils import check_array

from secretballot._base._errors import warn
from secretballot._base._numbers import check_unmasked
from secretballot.accounting._statement import PrivacyStatement
from secretballot.mechanisms._proportions import Proportions
from secretballot.quantification._bag_ids import (
    BagId,
    BagIndex,
    Floats,
    Integers,
    ProportionsTable,
    are_named,
    bag_rows,
    check_row_ids,
    encode_ids,
    is_frame,
    match_rows,
)

#: Published proportions are multiples of this.
_GRID = 2.0**-20
#: Exact proportions of bags of up to 2**14 instances are never all multiples of `_GRID` and not
#: all of this.
_COARSE_GRID = 2.0**-15
#: Most decimals to which figures may have been rounded.
_DECIMALS = 12
#: Rounding error of a share in single precision.
_ROUNDING = 1e-7
#: Largest distance from 1 of the sum of a bag's proportions: rounding of published figures.
SUM_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True, repr=False)
class PublishedProportions:
    """Result of `publish_proportions`; all of it may be published.

    Indexed like an array of bags, it keeps names, sizes and noise, so that scikit-learn's searches
    and splits take it as ``y``. ``numpy.asarray`` gives the bare proportions.

    Attributes
    ----------
    proportions : ndarray of shape (n_bags, n_classes)
        Rows sum to 1.
    classes : ndarray of shape (n_classes,)
        The class of each column, sorted.
    names : tuple
        The name of each bag.
    sizes : ndarray of shape (n_bags,)
        Labels in each bag.
    mechanism : Proportions
        The mechanism that drew them.
    expected_distortion : ndarray of shape (n_bags,)
        Expected L1 distance from the true proportions: the larger of an even and a skewed bag.
    statement : PrivacyStatement
        Guarantee of the budget after this release (of all bags, of which these may be some).

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import publish_proportions
    >>> labels = [np.repeat([0, 1], counts) for counts in ([800, 200], [500, 500], [100, 900])]
    >>> published = publish_proportions(labels, [0, 1], 1.0, 1e-5)
    >>> published[[2, 0]].names, published[1:].covariance().shape, len(published[0])
    ((2, 0), (2, 2, 2), 1)
    """

    proportions: Floats
    classes: NDArray[np.generic]
    names: tuple[BagId, ...]
    sizes: Integers
    mechanism: Proportions
    expected_distortion: Floats
    statement: PrivacyStatement

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of bags and of classes."""
        return (len(self.proportions), len(self.classes))

    def __len__(self) -> int:
        return len(self.proportions)

    def __getitem__(self, key: BagIndex) -> PublishedProportions:
        """Select bags by an integer, a slice, an array of integers or a mask."""
        rows = bag_rows(len(self), key)
        return replace(
            self,
            proportions=self.proportions[rows],
            names=tuple(self.names[row] for row in rows),
            sizes=self.sizes[rows],
            expected_distortion=self.expected_distortion[rows],
        )

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        return np.array(self.proportions, dtype=dtype, copy=copy)

    def covariance(self) -> Floats:
        """Return the covariance of each bag's noise, shape (n_bags, n_classes, n_classes)."""
        return self.mechanism.covariance(self.proportions, self.sizes)

    def __repr__(self) -> str:
        return (
            f"<PublishedProportions: {len(self.sizes)} bags, {len(self.classes)} classes, "
            f"{type(self.mechanism).__name__}, expected distortion "
            f"{self.expected_distortion.mean():.3g}>"
        )


def warn_of_unstated_noise(values: Floats, sizes: Integers | None = None) -> None:
    """Warn of proportions that can't be exact; no sizes if they are also of other instances."""
    sign = _sign_of_noise(values, sizes)
    if sign is not None:
        warn(
            f"{sign}, and nothing was said of their noise, so that they are taken to be exact. If "
            "they were published with noise give the PublishedProportions themselves, or "
            "covariance=published.covariance(); if they are right as they are, a covariance of "
            "zeros."
        )


def _sign_of_noise(values: Floats, sizes: Integers | None) -> str | None:
    if (values < -_ROUNDING).any():
        return "some proportions are negative"
    exact = None if sizes is None else _are_exact(values, sizes[:, None])
    if exact is not None and exact.all():
        return None
    if _on_grid(values, _GRID) and not _on_grid(values, _COARSE_GRID):
        return "the proportions are all multiples of 1/2**20, as publish_proportions rounds them"
    if exact is not None and exact.mean() < 0.5:
        return (
            f"the proportions of {np.count_nonzero(~exact)} of {len(exact)} bags are shares of no "
            "whole number of their instances (they may also be those of others than these)"
        )
    return None


def _on_grid(values: Floats, step: float) -> bool:
    return bool((np.abs(values / step - np.rint(values / step)) < 1e-6).all())


def _are_exact(values: Floats, sizes: Integers) -> NDArray[np.bool_]:
    """Test, per bag, if proportions times bag size are whole numbers, up to the decimals given.

    A proportion with three decimals may have been rounded from any one within 0.0005 of it.
    """
    error = np.full(values.shape, _ROUNDING)
    for decimals in range(_DECIMALS, 0, -1):
        scaled = values * 10.0**decimals
        error[np.abs(scaled - np.rint(scaled)) < 1e-3] = 0.5 * 10.0**-decimals
    counts = values * sizes
    # Rounding to d decimals errs by at most 0.5 * 10**-d. The 2 % cover halves that floating-point
    # error puts just beyond that.
    fits = np.abs(counts - np.rint(counts)) <= 1.02 * error * sizes + _ROUNDING
    return np.asarray(fits.all(axis=1))


class LabelProportions(NamedTuple):
    """Label proportions of bags; without a covariance of noise they are taken to be exact."""

    values: Floats
    classes: NDArray[np.generic]
    covariance: Floats | None
    ids: list[BagId] | None = None  # of the rows of a table

    @property
    def mean(self) -> Floats:
        """The bags' mean: the ratios of a group of which nothing else is known."""
        return np.asarray(self.values.mean(axis=0))

    def check_full_rank(self) -> None:
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

    def append(self, new: LabelProportions) -> LabelProportions:
        if len(self.classes) != len(new.classes) or (self.classes != new.classes).any():
            raise ValueError(
                f"these bags have the classes {new.classes.tolist()!r}, but earlier ones had "
                f"{self.classes.tolist()!r}; name all classes in every call."
            )
        covariance = None
        if self.covariance is not None or new.covariance is not None:
            covariance = np.concatenate(
                [
                    np.zeros((*part.values.shape, len(self.classes)))
                    if part.covariance is None
                    else part.covariance
                    for part in (self, new)
                ]
            )
        values = np.concatenate([self.values, new.values])
        return LabelProportions(values, self.classes, covariance)

    def take(self, bags: Integers) -> LabelProportions:
        covariance = None if self.covariance is None else self.covariance[bags]
        return LabelProportions(self.values[bags], self.classes, covariance)

    def match(self, ids: Sequence[BagId], *, unused: str = "raise") -> Integers:
        if self.ids is None:
            raise ValueError(
                "proportions must say which bag each row is of: give PublishedProportions, a data "
                "frame or series whose index is the bags' ids, or a mapping {id: row}."
            )
        return match_rows(ids, self.ids, unused=unused)

    def reorder_classes(self, classes: NDArray[np.generic]) -> LabelProportions:
        columns = class_columns("proportions", self.classes.tolist(), classes.tolist())
        covariance = self.covariance
        return LabelProportions(
            self.values[:, columns],
            classes,
            None if covariance is None else covariance[:, columns][:, :, columns],
        )

    def noise_factors(self) -> Floats | None:
        """Return square roots of the covariances, factors last, or None without noise."""
        return None if self.covariance is None else matrix_roots(self.covariance)


def matrix_roots(covariance: Floats) -> Floats:
    """Return A with A A' = covariance, for each matrix of a stack."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def class_columns(name: str, columns: Sequence[Hashable], classes: Sequence[Hashable]) -> list[int]:
    """Return the column of each class; columns that are only numbered are in order already."""
    if columns == classes or (
        columns == list(range(len(classes))) and set(columns) != set(classes)
    ):
        return list(range(len(columns)))
    if sorted(map(repr, columns)) != sorted(map(repr, classes)) or len(set(columns)) < len(columns):
        raise ValueError(
            f"{name} has the classes {columns!r}, and should have {classes!r}, each once."
        )
    return [columns.index(label) for label in classes]


def check_proportions(
    proportions: ProportionsTable,
    n_bags: int,
    covariance: ArrayLike | None = None,
    *,
    names: Sequence[BagId] | None = None,
    sizes: ArrayLike | None = None,
    argument: str = "proportions",
) -> LabelProportions:
    """Return the proportions of a sequence of bags; rows that don't sum to 1 are refused.

    Rows are matched by `names`, the ids of the bags, where both sides have them: numbers from 0 are
    no names, but for keys of a mapping. `covariance` is in the order of the rows of `proportions`.
    With `sizes`, proportions that look noisy are warned of. `argument` is what the caller calls
    them. Nothing is normalised: a row of counts,
    or a class that was left out, would go unnoticed.
    """
    checked = read_table(proportions, covariance, argument)
    by_key = isinstance(proportions, Mapping)
    if by_key and names is None:
        raise ValueError(
            "proportions is a mapping, by name, and these bags have no names; give Bags, such as "
            "Bags.from_groups makes."
        )
    if checked.ids and names is not None and (by_key or are_named(names, checked.ids)):
        checked = checked.take(checked.match(names))
    if len(checked.values) != n_bags:
        raise ValueError(
            f"there are {n_bags} bags and {len(checked.values)} rows of proportions; give each "
            "bag one."
        )
    if sizes is not None and checked.covariance is None:
        warn_of_unstated_noise(checked.values, np.asarray(sizes))
    return checked


def proportions_by_id(
    proportions: ProportionsTable,
    bag_ids: ArrayLike,
    n_instances: int,
    covariance: ArrayLike | None = None,
    argument: str = "proportions",
) -> tuple[Integers, LabelProportions]:
    """Return the bag of each instance, and the proportions of the bags that have instances."""
    ids, bag = encode_ids("bag_ids", bag_ids, n_instances)
    table = read_table(proportions, covariance, argument)
    return bag, table.take(table.match(ids, unused="drop"))


def read_table(
    proportions: ProportionsTable,
    covariance: ArrayLike | None = None,
    argument: str = "proportions",
) -> LabelProportions:
    if isinstance(proportions, PublishedProportions):
        values, classes = proportions.proportions, np.asarray(proportions.classes)
        covariance = proportions.covariance() if covariance is None else covariance
    else:
        values = _read_numbers(proportions, argument)
        columns = getattr(proportions, "columns", None)
        classes = np.arange(values.shape[1]) if columns is None else np.asarray(columns)
    if values.shape[1] < 2:
        raise ValueError(
            "proportions has one column; give one for each of two or more classes, or a "
            "one-dimensional array: the shares of the second of two."
        )
    sums = values.sum(axis=1)
    wrong = np.flatnonzero(
        (np.abs(sums - 1) > SUM_TOLERANCE) | (values < -SUM_TOLERANCE).any(axis=1)
    )
    if wrong.size:
        raise ValueError(
            f"proportions of bag {wrong[0]} are {values[wrong[0]].tolist()}, with sum "
            f"{sums[wrong[0]]:.6g}: they must not be negative and must sum to 1 (within "
            f"{SUM_TOLERANCE:g}). Divide counts by the size of the bag; give a class that was left "
            "out a column."
        )
    checked = None if covariance is None else _check_covariance(covariance, values.shape)
    return LabelProportions(values, classes, checked, _row_ids(proportions))


def _row_ids(table: ProportionsTable) -> list[BagId] | None:
    if isinstance(table, PublishedProportions):
        return check_row_ids(table.names)
    if isinstance(table, Mapping):
        return check_row_ids(table)
    if not is_frame(table):
        return None
    n_levels = getattr(table.index, "nlevels", 1)
    if n_levels > 1:
        raise ValueError(
            f"the index of proportions has {n_levels} levels; bags are called by one: "
            "reset_index() and set_index(...) with the column of ids."
        )
    return check_row_ids(table.index)


def _read_numbers(proportions: ProportionsTable, argument: str) -> Floats:
    check_unmasked(argument, proportions)
    table = list(proportions.values()) if isinstance(proportions, Mapping) else proportions
    try:
        values = check_array(
            table,
            dtype=np.float64,
            input_name="proportions",
            ensure_2d=False,
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{argument} must be a table of proportions, with a row for each bag and a column for "
            f"each class: {error}"
        ) from error
    unknown = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if unknown.size:
        ids = _row_ids(proportions) or range(len(values))
        others = f", and of {unknown.size - 1} more," if unknown.size > 1 else ""
        raise ValueError(
            f"{argument} must be a table of proportions, and the row of bag "
            f"{ids[unknown[0]]!r}{others} contains NaN or infinity: leave out bags whose "
            "proportions are not known."
        )
    if values.ndim != 1:
        return np.asarray(values)
    wrong = np.flatnonzero((values < -SUM_TOLERANCE) | (values > 1 + SUM_TOLERANCE))
    if wrong.size:
        raise ValueError(
            f"the share of bag {wrong[0]} is {values[wrong[0]]:.6g}: one-dimensional proportions "
            "are shares of the second of two classes, from 0 to 1. Divide counts by the size of "
            "the bag."
        )
    return np.stack([1 - values, values], axis=1)


def _check_covariance(covariance: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return a covariance matrix for each bag, or refuse what is none."""
    check_unmasked("covariance", covariance)
    try:
        checked = np.asarray(covariance, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"covariance must be an array of numbers: {error}") from error
    if checked.shape != (*shape, shape[1]):
        raise ValueError(
            f"covariance has shape {checked.shape}; give one matrix for each bag: "
            f"{(*shape, shape[1])}."
        )
    # Symmetric but for rounding.
    asymmetry = np.abs(checked - checked.transpose(0, 2, 1))
    if not np.isfinite(checked).all() or asymmetry.max() > 1e-9 * np.abs(checked).max():
        raise ValueError(
            "covariance has a matrix that is none of a noise: they must be finite and symmetric, "
            "with variances of at least 0."
        )
    least = np.linalg.eigvalsh(checked)[:, 0]
    negative = np.flatnonzero(least < -1e-8 * np.abs(checked).max(axis=(1, 2)))
    if negative.size:
        raise ValueError(
            f"covariance of bag {negative[0]} is none of a noise: some mixture of its classes has "
            f"the variance {least[negative[0]]:.3g}. Variances are at least 0 and no correlation "
            "is beyond 1 (a positive semidefinite matrix); published.covariance() is one."
        )
    return checked
