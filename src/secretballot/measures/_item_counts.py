"""Counts of items and their names, from arrays, mappings, data frames and sparse matrices."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._numbers import check_unmasked
from secretballot.tables._cells import in_canonical_unit, object_array
from secretballot.tables._frames import check_table, container_kind

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from scipy.sparse import sparray, spmatrix

_NUMBERS = "biuf"

#: Binary places of contributions below the largest one; the others are rounded down.
_PLACES = 20

Numbers: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
Names: TypeAlias = NDArray[np.object_]
CountsInput: TypeAlias = (
    "ArrayLike | Mapping[Hashable, float] | pd.DataFrame | pl.DataFrame | sparray | spmatrix"
)


@dataclass(frozen=True)
class ItemCounts:
    """Counts of items to choose from, and the largest contributions of a person to them."""

    counts: Numbers
    names: Names | None  # None: items are named by their positions
    largest: float = 0.0  # largest contribution of a person to an item; 0 for totals
    most_items: int = 0  # largest number of items of a person; 0 for totals
    n_people: int | None = None  # None for totals

    @classmethod
    def from_input(
        cls,
        counts: CountsInput,
        max_contribution: float = 1.0,
        owner_of_row: NDArray[np.intp] | None = None,
    ) -> ItemCounts:
        """Read counts, or add up a matrix with people in rows and items in columns.

        `max_contribution` of a person to an item sets the grid to which fractions are rounded. With
        `owner_of_row`, an owner counts with the largest entry of its rows. Only a mapping, or the
        columns of a data frame, names items.
        """
        check_unmasked("counts", counts)
        _check_no_column(counts)
        if isinstance(counts, Mapping):
            names = object_array(list(counts))
            return cls(_as_numbers(list(counts.values())), names)._checked()
        if hasattr(counts, "columns"):
            people = _sum_people(_frame_numbers(counts), max_contribution, owner_of_row)
            return replace(people, names=object_array(list(counts.columns)))
        table = counts if hasattr(counts, "tocsr") else _as_numbers(counts)
        if hasattr(table, "tocsr") or table.ndim == 2:
            return _sum_people(table, max_contribution, owner_of_row)
        return cls(table, None)._checked()

    def contributed(self) -> ItemCounts:
        """Select the items that somebody contributed to, in the order of their names.

        The type of a name does not depend on names that are not released.
        """
        if self.names is None:
            raise ValueError(
                "domain='unknown' with items that have no names: their positions would be public. "
                "Pass a dict; or domain='known' if the list of items is public."
            )
        present = np.flatnonzero(self.counts)
        names = object_array([_canonical_name(name) for name in self.names[present]])
        return replace(self, counts=self.counts[present], names=names).sorted_by_name()

    def sorted_by_name(self) -> ItemCounts:
        """Sort the items by name: their order may reveal counts, and ties are broken by it."""
        if self.names is None:
            return self
        keys = [_sort_key(_canonical_name(name)) for name in self.names]
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)
        return replace(self, counts=self.counts[order], names=self.names[order])

    def check_people(self, contribution: tuple[str, float], items: tuple[str, int | None]) -> None:
        """Refuse people who exceed a limit; each limit comes with its name."""
        if self.largest > contribution[1]:
            raise ValueError(
                f"somebody contributes {self.largest:g} to an item, and {contribution[0]}="
                f"{contribution[1]!r}; clip what people contribute (at a public number), or raise "
                f"the limit. Nothing was released. {NOT_FOR_PUBLICATION}"
            )
        if items[1] is not None and self.most_items > items[1]:
            raise ValueError(
                f"somebody contributes to {self.most_items} items, and {items[0]}={items[1]!r}; "
                "keep a few of everybody's (by a public rule or at random), or raise the limit. "
                f"Nothing was released. {NOT_FOR_PUBLICATION}"
            )

    def check_whole(self) -> None:
        """Refuse totals that are no whole numbers, and so no numbers of people."""
        if (self.counts % 1 > 0).any():
            raise ValueError(
                "counts has totals that are not whole numbers: are they sums or means of amounts? "
                "One person may change those by more than 1. Count people: "
                "table[column].value_counts().to_dict(), or a matrix with people in rows and items "
                "in columns. If each person adds a fraction, and at most so much to an item, pass "
                f"max_contribution=. Nothing was released. {NOT_FOR_PUBLICATION}"
            )

    def warn_amounts(self) -> None:
        """Warn if most items are numbers with fractions, such as sums of money."""
        names = [] if self.names is None else self.names.tolist()
        n_fractions = sum(isinstance(name, float) and name % 1 > 0 for name in names)
        if 2 * n_fractions > len(names):
            warn(
                "most items of counts are numbers with fractions: are they amounts, such as sums "
                "of money? Hardly two people have the same, and those that are released are what "
                "somebody has. Take private_quantiles for amounts, or count people by ranges: "
                f"pandas.cut(column, edges).astype(str).value_counts().to_dict(). "
                f"{NOT_FOR_PUBLICATION}"
            )

    def _checked(self) -> ItemCounts:
        if self.counts.ndim != 1 or self.counts.dtype.kind not in _NUMBERS:
            raise ValueError(
                f"counts of shape {self.counts.shape} and dtype {self.counts.dtype}: pass one "
                "number for each item (a dict of items and counts, or an array), or a matrix with "
                "people in rows."
            )
        return self


def is_matrix(counts: CountsInput) -> bool:
    if isinstance(counts, Mapping):
        return False
    counts_given: Any = counts
    shape = (
        counts_given.shape if hasattr(counts_given, "shape") else _as_numbers(counts_given).shape
    )
    return len(shape) == 2


def _check_no_column(counts: CountsInput) -> None:
    """Refuse a Series: its index may number rows, or hold the ids of people."""
    if not hasattr(counts, "to_numpy") or hasattr(counts, "columns"):
        return
    remedy = "a dict of items and counts"
    if container_kind(counts) == "column":
        is_pandas = hasattr(counts, "index")
        counted, named = (
            ("column.value_counts().to_dict()", ", or counts.to_dict() if its index names items")
            if is_pandas
            else ("dict(column.drop_nulls().value_counts().iter_rows())", "")
        )
        remedy = (
            f"{counted} of a column with one answer for each row, and domain='unknown' unless the "
            "list of all answers is public. If the cells are counts of items already, pass a dict "
            f"of items and counts{named}"
        )
    raise ValueError(
        f"counts is a {type(counts).__name__}, which does not say what its cells are: answers "
        f"would be taken for numbers of people, and rows would be named. Pass {remedy}; or "
        "counts.to_numpy() if these are counts of items that go by their position."
    )


def _largest_of_owners(table: Any, owner_of_row: NDArray[np.intp]) -> Any:
    """Return a matrix of owners and items, with the largest entry of each owner's rows."""
    from scipy.sparse import csr_array

    owners = np.repeat(owner_of_row, np.diff(table.indptr))
    order = np.lexsort((table.data, table.indices, owners))
    owners, items = owners[order], table.indices[order]
    last = np.ones(len(order), dtype=bool)
    last[:-1] = (np.diff(owners) != 0) | (np.diff(items) != 0)
    shape = (int(owner_of_row.max(initial=-1)) + 1, table.shape[1])
    return csr_array((table.data[order][last], (owners[last], items[last])), shape=shape)


def _canonical_name(name: Hashable) -> Hashable:
    """Convert a name to the type that it would have if it were the only one.

    In an index one fraction makes all numbers floats, and one nanosecond changes all times.
    """
    if isinstance(name, tuple):
        return tuple(map(_canonical_name, name))
    if isinstance(name, float | complex) and name.imag == 0 and name.real.is_integer():
        return int(name.real)
    # A pandas time is in the unit of its index.
    is_time = hasattr(name, "as_unit") and name == name
    return cast("Hashable", in_canonical_unit(name)) if is_time else name


def _sort_key(name: Hashable) -> tuple[int, Hashable]:
    """Make a key by which all possible names are ordered."""
    if isinstance(name, Real) and name == name:
        return 0, name
    if isinstance(name, str):
        return 1, name
    if isinstance(name, tuple):
        return 2, tuple(map(_sort_key, name))
    return 3, f"{type(name).__name__} {name!r}"


def _as_numbers(counts: ArrayLike) -> Numbers:
    try:
        return np.asarray(counts)
    except ValueError as error:
        raise ValueError(
            "counts has entries of different lengths; pass one number for each item, or a matrix "
            "with people in rows."
        ) from error


def _frame_numbers(frame: pd.DataFrame | pl.DataFrame) -> Numbers:
    """Convert a data frame to numbers, even with columns of different numeric types."""
    check_table(frame, "counts")
    table = np.asarray(frame)
    numeric = all(getattr(dtype, "kind", "O") in _NUMBERS for dtype in frame.dtypes)
    if table.dtype == object and numeric:
        of_pandas = cast("pd.DataFrame", frame)
        return np.asarray(of_pandas.to_numpy(dtype=np.float64, na_value=np.nan))
    return table


def _sum_people(
    counts: Any, max_contribution: float, owner_of_row: NDArray[np.intp] | None
) -> ItemCounts:
    """Add up a matrix with people in rows; an owner counts with the largest entry of its rows."""
    from scipy.sparse import csr_array

    if hasattr(counts, "tocsr"):
        if counts.ndim != 2:
            raise ValueError(
                f"counts is sparse and of shape {counts.shape}; pass a matrix with people in "
                "rows, or one number for each item as counts.toarray()."
            )
        table = counts.tocsr()
    else:
        _check_numbers(counts)
        is_short = counts.dtype == np.float16  # of which there are no sparse matrices
        table = csr_array(counts.astype(np.float32) if is_short else counts)
    _check_numbers(table.data)  # a maximum would hide a negative entry
    if not table.has_canonical_format or not table.data.all():
        table = table.copy()
        table.sum_duplicates()  # a person has one contribution to an item
        table.eliminate_zeros()
    if owner_of_row is not None:
        table = _largest_of_owners(table, owner_of_row)
    most_items = np.diff(table.indptr).max(initial=0)
    rounded = _round_down(table.data, max_contribution)
    totals = np.bincount(table.indices, weights=rounded, minlength=table.shape[1])
    totals = totals if table.dtype.kind == "f" else totals.astype(np.int64)
    largest = float(table.data.max(initial=0))
    return ItemCounts(totals, None, largest, int(most_items), table.shape[0])


def _round_down(contributions: Numbers, max_contribution: float) -> Numbers:
    """Round contributions down to a grid on which sums of up to 2^32 of them are exact.

    Otherwise replacing one person could move a count by more than that person contributes, because
    the rounding of a sum depends on all people.
    """
    if contributions.dtype.kind != "f":
        return contributions.astype(np.int64)
    # Types with fewer digits would round sums by more than a contribution.
    values = contributions.astype(np.float64)
    exponent = math.frexp(max_contribution)[1] - _PLACES
    return np.asarray(np.ldexp(np.floor(np.ldexp(values, -exponent)), exponent))


def _check_numbers(values: Numbers) -> None:
    if values.dtype.kind not in _NUMBERS:
        raise ValueError(
            f"counts has dtype {values.dtype}; pass numbers, with people in rows and items in "
            "columns. If it holds texts, such as a table of visits, make a table of 0 and 1: "
            "pandas.crosstab(table['person'], table['place']).clip(upper=1), with a row for each "
            "person and a column for each place, and domain='unknown' unless the list of all "
            "places is public."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "counts must be finite and non-negative numbers. Fill cells where nothing was counted, "
            "counts.fillna(0), and leave out entries below 0. Nothing was spent. "
            f"{NOT_FOR_PUBLICATION}"
        )
