"""Bags: public sets of instances with private labels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_unmasked
from secretballot._sklearn_compat import _num_samples, _safe_indexing


@dataclass(frozen=True, kw_only=True, repr=False)
class Bags:
    """Disjoint bags of instances.

    Make them with `group_bags` or, to simulate, with `make_bags`. Indexed like an array of bags,
    they can be split by scikit-learn.

    Attributes
    ----------
    X : tuple of array-like, or None
        The instances of each bag; public.
    y : tuple of ndarray
        The labels of each bag; private.
    names : tuple
        What each bag is called, public: a value of the grouping, or its number.
    formed_by : {"group", "label"}
        What membership depends on. By label, being in a bag gives the label away, whatever is done
        to the proportions.
    """

    X: tuple[Any, ...] | None
    y: tuple[NDArray[Any], ...]
    names: tuple[Any, ...]
    formed_by: str = field(default="group")

    def __post_init__(self) -> None:
        if self.formed_by not in ("group", "label"):
            raise ValueError(f"formed_by={self.formed_by!r} must be 'group' or 'label'.")

    @classmethod
    def from_indices(
        cls,
        X: Any,
        y: ArrayLike,
        indices: Sequence[ArrayLike],
        *,
        names: Iterable[Any] | None = None,
        formed_by: str = "group",
    ) -> Bags:
        """Return the bags whose rows are given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), sparse matrix, data frame or None
        y : array-like of shape (n_samples,)
        indices : sequence of array-like of int
            The rows of each bag; no row twice.
        names : iterable, default=None
            Names of the bags; their numbers if None.
        formed_by : {"group", "label"}, default="group"
            What decided which row is in which bag.

        Raises
        ------
        ValueError
            If bags overlap or are empty, or a row is not there.
        """
        labels = _labels(X, y)
        rows = [np.asarray(bag) for bag in indices]
        called = tuple(range(len(rows)) if names is None else names)
        if len(called) != len(rows):
            raise ValueError(f"names has {len(called)} names for {len(rows)} bags.")
        owner = np.full(len(labels), -1)
        for number, bag in enumerate(rows):
            name = called[number]
            if bag.ndim != 1 or not bag.size:
                raise ValueError(f"bag {name!r} is empty or not a list of rows; leave it out.")
            if bag.dtype.kind not in "iu" or bag.min() < 0 or bag.max() >= len(labels):
                raise ValueError(
                    f"bag {name!r} has rows that are not integers from 0 to {len(labels) - 1}."
                )
            values, times = np.unique(bag, return_counts=True)
            again = values[(owner[values] >= 0) | (times > 1)]
            if again.size:
                first = called[number if owner[again[0]] < 0 else owner[again[0]]]
                raise ValueError(
                    f"bags overlap: row {again[0]} is in the bag {first!r} and again in the bag "
                    f"{name!r}. Its label would be published twice for the price of one; give each "
                    "row one bag."
                )
            owner[bag] = number
        if not rows:
            raise ValueError("indices has no bag; give at least one.")
        instances = None if X is None else tuple(_safe_indexing(X, bag) for bag in rows)
        return cls(
            X=instances, y=tuple(labels[bag] for bag in rows), names=called, formed_by=formed_by
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many instances each bag has; public."""
        return np.array([len(bag) for bag in self.y])

    @property
    def shape(self) -> tuple[int]:
        """The number of bags, as of an array of them."""
        return (len(self.y),)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, bags: Any) -> Bags:
        """Return some of the bags: an integer, a slice, an array of integers or a mask."""
        rows = numbers_of(len(self), bags)
        X, y, names = (
            values if values is None else tuple(values[row] for row in rows)
            for values in (self.X, self.y, self.names)
        )
        return replace(self, X=X, y=y, names=names)

    def __repr__(self) -> str:
        # Not the labels: they are private.
        return (
            f"<Bags: {len(self)} bags of {self.sizes.min()} to {self.sizes.max()} instances, "
            f"formed by {self.formed_by}>"
        )


def group_bags(X: Any, y: ArrayLike, groups: ArrayLike) -> Bags:
    """Return one bag for each value of a public grouping.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), sparse matrix, data frame or None
        Instances; public. None where only the proportions are wanted.
    y : array-like of shape (n_samples,)
        Labels; private.
    groups : array-like of shape (n_samples,)
        Something public about each instance, such as a place, a site or a month. It must not
        depend on the labels: membership of a bag is public.

    Returns
    -------
    Bags
        In the order of the sorted values, which are their names.

    Examples
    --------
    >>> from secretballot.quantification import group_bags
    >>> bags = group_bags(None, [0, 1, 1, 0, 1], ["north", "south", "north", "north", "south"])
    >>> bags
    <Bags: 2 bags of 2 to 3 instances, formed by group>
    >>> bags.names
    ('north', 'south')
    """
    labels, shape = _labels(X, y), np.shape(groups)
    if shape != labels.shape:
        raise ValueError(
            f"groups has shape {shape} and y {labels.shape}; give each instance one group."
        )
    names, codes = distinct("groups", groups)
    rows = [np.flatnonzero(codes == number) for number in range(len(names))]
    return Bags.from_indices(X, labels, rows, names=names.tolist())


def numbers_of(n_bags: int, key: Any) -> NDArray[np.intp]:
    """Return which bags an index means: an integer, a slice, an array of integers or a mask."""
    try:
        return np.atleast_1d(np.arange(n_bags)[key])
    except IndexError as error:
        raise IndexError(
            f"[{key!r}] must be integers below {n_bags}, a slice, or a mask of {n_bags} bags: "
            f"{error}."
        ) from error


def distinct(name: str, values: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted values of a grouping, and which of them each instance has."""
    check_unmasked(name, values)
    rows = np.flatnonzero(_missing(values))
    if rows.size:
        shown = ", ".join(map(str, rows[:5])) + (", ..." if rows.size > 5 else "")
        raise ValueError(
            f"{name} is missing (NaN, None, NA or NaT) for {rows.size} of {np.size(values)} "
            f"instances, in the rows {shown}. Who is in no group would be made a bag of its own; "
            "leave these instances out, or give them a group."
        )
    try:
        names, codes = np.unique(np.asarray(values), return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{name} has values that can't be put in order ({error}), such as None among strings; "
            "give all instances values of one kind."
        ) from error
    return names, codes


def _missing(values: Any) -> NDArray[np.bool_]:
    """Return where no value is given."""
    # In a list of strings, numpy would make the word "nan" of NaN.
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    pandas = sys.modules.get("pandas")  # where it was never imported nothing is its NA
    if pandas is not None:
        return np.asarray(pandas.isna(array))
    if array.dtype.kind == "O":
        return np.asarray((array == None) | (array != array))  # noqa: E711
    return np.isnat(array) if array.dtype.kind in "mM" else array != array


def labels_of(y: Any) -> NDArray[Any]:
    """Return labels as an array; those of a list keep their types if one of them is a text.

    NumPy would make texts of all of them: one private label would rename all others.
    """
    labels = np.asarray(y)
    if hasattr(y, "dtype") or labels.ndim != 1 or labels.dtype.kind not in "US":
        return labels
    kept = np.empty(len(labels), dtype=object)
    for row, label in enumerate(y):
        kept[row] = label
    return labels if len(set(map(type, kept))) <= 1 else kept


def _labels(X: Any, y: ArrayLike) -> NDArray[Any]:
    check_unmasked("y", y)
    labels = labels_of(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}; give one label for each instance.")
    n_rows = len(labels) if X is None else _num_samples(X)
    if n_rows != len(labels):
        raise ValueError(f"X has {n_rows} instances and y {len(labels)} labels; they must agree.")
    return labels
