"""Ids of bags, how they are matched, and the types of what users give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from secretballot._base._numbers import check_unmasked
from secretballot.tables._cells import missing_cells, object_array

if TYPE_CHECKING:
    from secretballot.quantification._bags import Bags
    from secretballot.quantification._label_proportions import PublishedProportions

BagId: TypeAlias = Hashable
#: Index of an array of bags.
BagIndex: TypeAlias = "int | slice | Sequence[int] | NDArray[np.integer | np.bool_]"
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.integer]
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
#: Instances of one or of all bags: an array, a data frame, a sparse matrix or a list of texts.
Instances: TypeAlias = "ArrayLike | sparse.sparray | sparse.spmatrix"
#: Instances after validation.
Matrix: TypeAlias = "NDArray[np.floating] | sparse.csr_array"
#: X of the estimators of class ratios.
BagSequence: TypeAlias = "Bags | Sequence[Instances] | NDArray[np.floating]"
#: y of the estimators of class ratios. A data frame is an ArrayLike.
ProportionsTable: TypeAlias = "PublishedProportions | Mapping[BagId, ArrayLike] | ArrayLike"

_MOST_QUOTED = 5


class Frame(Protocol):
    """The part of a pandas data frame or series that is used here."""

    index: Sequence[Hashable]
    columns: Sequence[Hashable]
    iloc: Mapping[Integers, Frame]

    def __getitem__(self, column: Hashable) -> Frame: ...

    def drop(self, column: Hashable = ..., *, columns: Hashable = ...) -> Frame: ...


def is_frame(values: object) -> TypeGuard[Frame]:
    return hasattr(values, "iloc")


def encode_ids(name: str, values: ArrayLike, n_instances: int) -> tuple[list[BagId], Integers]:
    """Return the sorted distinct ids of a column, and the index of each instance's id."""
    check_unmasked(name, values)
    column = _to_column(values)
    if column.shape != (n_instances,):
        raise ValueError(
            f"{name} has shape {column.shape}, but there are {n_instances} instances; give each "
            "one id."
        )
    rows = np.flatnonzero(missing_cells(column))
    if rows.size:
        further = ", ..." if len(rows) > _MOST_QUOTED else ""
        quoted = ", ".join(map(str, rows[:_MOST_QUOTED])) + further
        raise ValueError(
            f"{name} is missing (NaN, None, NA or NaT) for {rows.size} of {n_instances} instances, "
            f"in the rows {quoted}; leave these instances out, or give them an id of their own."
        )
    try:
        ids, codes = np.unique(column, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{name} has values that can't be put in order ({error}), such as None among strings; "
            "give all instances values of one kind."
        ) from error
    return _to_list(ids), codes.astype(np.int64, copy=False)


def check_row_ids(ids: Iterable[BagId]) -> list[BagId]:
    # An object array keeps 1 and "1" apart.
    column = _to_column(ids if hasattr(ids, "dtype") else object_array(list(ids)))
    missing = missing_cells(column)
    if missing.any():
        raise ValueError(
            "proportions has a row whose bag is not named (row "
            f"{int(np.argmax(missing))}); name it, or leave it out."
        )
    listed = _to_list(column)
    repeated = [bag for bag, count in Counter(listed).items() if count > 1]
    if repeated:
        raise ValueError(
            f"proportions has several rows for {_quote_bags(repeated)}; give each bag one row."
        )
    return listed


def match_rows(bag_ids: Sequence[BagId], table_ids: Sequence[BagId], *, unused: str) -> Integers:
    """Return the row of each bag in a table; rows without instances are refused or dropped."""
    row_of = {bag: row for row, bag in enumerate(table_ids)}
    missing = [bag for bag in bag_ids if bag not in row_of]
    if missing:
        kinds = [sorted({type(bag).__name__ for bag in side}) for side in (bag_ids, table_ids)]
        hint = ""
        if kinds[0] != kinds[1]:
            hint = f" Ids in the data are of type {kinds[0]}, those of proportions {kinds[1]}."
        raise ValueError(
            f"proportions has no row for {_quote_bags(missing)}, but the data has instances of "
            f"{'it' if len(missing) == 1 else 'them'}; add the row, or leave those instances "
            f"out.{hint}"
        )
    in_data = set(bag_ids)
    surplus = [bag for bag in table_ids if bag not in in_data]
    if surplus and unused != "drop":
        raise ValueError(
            f"proportions has rows for {_quote_bags(surplus)}, of which there is no instance; "
            "leave them out, or look for the instances."
        )
    return np.array([row_of[bag] for bag in bag_ids], dtype=np.intp)


def are_named(bag_ids: Sequence[BagId], table_ids: Sequence[BagId]) -> bool:
    """Return False where one side only counts its bags from 0 and the other has other ids."""
    counted = any(
        all(isinstance(bag, int) and bag == number for number, bag in enumerate(ids))
        for ids in (bag_ids, table_ids)
    )
    return not counted or set(bag_ids) == set(table_ids)


def bag_rows(n_bags: int, key: BagIndex) -> Integers:
    try:
        return np.atleast_1d(np.arange(n_bags)[key])
    except IndexError as error:
        raise IndexError(
            f"[{key!r}] must be integers below {n_bags}, a slice, or a mask of {n_bags} bags: "
            f"{error}."
        ) from error


def _quote_bags(ids: Sequence[BagId]) -> str:
    quoted = [str(bag) if isinstance(bag, np.datetime64) else repr(bag) for bag in ids]
    suffix = f" and {len(ids) - _MOST_QUOTED} more" if len(ids) > _MOST_QUOTED else ""
    return f"the bag{'s' if len(ids) > 1 else ''} {', '.join(quoted[:_MOST_QUOTED])}{suffix}"


def array_of_values(values: ArrayLike | Iterable[object]) -> NDArray[np.generic]:
    """Return values as an array; a list of texts and other values keeps their types.

    NumPy would make texts of all of them: one private label would rename all others.
    """
    array = np.asarray(values)
    if hasattr(values, "dtype") or array.ndim != 1 or array.dtype.kind not in "US":
        return array
    objects = object_array(list(values))  # type: ignore[arg-type]
    return objects if len(set(map(type, objects))) > 1 else array


def _to_column(values: ArrayLike | Iterable[BagId]) -> NDArray[np.generic]:
    """Return ids as an array in which equal ids compare equal: dates in one unit, no casts."""
    column = array_of_values(values)
    if column.ndim != 1:
        return column
    if column.dtype.kind == "O":
        kinds = set(map(type, column.tolist()))
        if kinds and all(hasattr(kind, "to_datetime64") or kind is np.datetime64 for kind in kinds):
            column = column.astype("datetime64[ns]")
    return column.astype("datetime64[ns]") if column.dtype.kind == "M" else column


def _to_list(column: NDArray[np.generic]) -> list[BagId]:
    return list(column) if column.dtype.kind == "M" else column.tolist()
