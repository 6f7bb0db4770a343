"""Counts of items, and what the items are called, from all that counts come in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot._numbers import check_unmasked

_NUMBERS = "biuf"

#: Binary places of the largest contribution that are added up.
_PLACES = 20


@dataclass(frozen=True)
class Candidates:
    """Items that may be released.

    Attributes
    ----------
    counts : ndarray of shape (n_items,)
    names : ndarray or Index of shape (n_items,), or None
        None: they are called by their positions.
    largest : float
        The most that anybody contributes to an item, where people were passed.
    n_items : int
        To how many items anybody contributes at most.
    """

    counts: NDArray[Any]
    names: Any
    largest: float = 0.0
    n_items: int = 0

    @classmethod
    def of(cls, counts: Any, max_contribution: float = 1.0) -> Candidates:
        """Read counts, or people in rows and items in columns.

        Parameters
        ----------
        counts : array, Series, dict, data frame or sparse matrix
        max_contribution : float, default=1.0
            Of a person to an item: what fractions are rounded by.

        Raises
        ------
        ValueError
            If it is none of these.
        """
        check_unmasked("counts", counts)
        if isinstance(counts, Mapping):
            return cls(_as_numbers(list(counts.values())), _as_objects(list(counts)))._each_once()
        if hasattr(counts, "tocsr"):
            return _of_sparse(counts, max_contribution)
        if hasattr(counts, "columns"):
            people = _of_people(_as_table(counts), max_contribution)
            return replace(people, names=counts.columns)._each_once()
        if hasattr(counts, "index") and hasattr(counts, "to_numpy"):
            return cls(counts.to_numpy(), counts.index)._each_once()
        table = _as_numbers(counts)
        if table.ndim == 2:
            return _of_people(table, max_contribution)
        return cls(table, None)._each_once()

    def brought(self) -> Candidates:
        """Return the items that somebody brought, in an order that no other item decides.

        Their names are objects: the type of an index, and the levels and categories that it keeps,
        would tell of the names that are not released.

        Raises
        ------
        ValueError
            If they have no names.
        """
        if self.names is None:
            raise ValueError(
                "domain='unknown' with items that have no names: their positions would be public. "
                "Pass a Series or a dict; or domain='known' if the list of items is public."
            )
        there = np.flatnonzero(self.counts)
        names = _as_objects([_as_if_alone(name) for name in self.names[there]])
        return replace(self, counts=self.counts[there], names=names).sorted_by_name()

    def sorted_by_name(self) -> Candidates:
        """Return the items in the order of their names; those without names as they are.

        The order that they came in may be that of their counts, as in `value_counts`, and both
        what is returned and ties go by the order.
        """
        if self.names is None:
            return self
        keys = [_rank(_as_if_alone(name)) for name in self.names]
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)
        return replace(self, counts=self.counts[order], names=self.names[order])

    def called(self, positions: NDArray[np.intp]) -> Any:
        """Return what the items at some positions are called."""
        return positions if self.names is None else self.names[positions]

    def check_people(self, contribution: tuple[str, float], items: tuple[str, int | None]) -> None:
        """Refuse people who have more than was said; each limit with what it is called."""
        if self.largest > contribution[1]:
            raise ValueError(
                f"somebody contributes {self.largest:g} to an item, and {contribution[0]}="
                f"{contribution[1]!r}; clip what people contribute (at a public number), or say "
                f"more. Nothing was released. {NOT_FOR_PUBLICATION}"
            )
        if items[1] is not None and self.n_items > items[1]:
            raise ValueError(
                f"somebody contributes to {self.n_items} items, and {items[0]}={items[1]!r}; keep "
                "a few of everybody's (by a public rule or at random), or say more. Nothing was "
                f"released. {NOT_FOR_PUBLICATION}"
            )

    def _each_once(self) -> Candidates:
        if self.counts.ndim != 1 or self.counts.dtype.kind not in _NUMBERS:
            raise ValueError(
                f"counts of shape {self.counts.shape} and dtype {self.counts.dtype} are none: pass "
                "one number for each item (an array, a Series, a dict), or a matrix with people in "
                "rows."
            )
        if not getattr(self.names, "is_unique", True):
            raise ValueError(
                "counts names an item twice; add its counts up first, as by groupby(level=0).sum()."
            )
        return self


def _as_objects(names: list[Any]) -> NDArray[Any]:
    """Return names as an array of one axis, whatever they are."""
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


def _as_if_alone(name: Any) -> Any:
    """Return a name as it would be without others.

    One fraction makes an index, or a level of one, floats; one finer time gives all its unit.
    """
    if isinstance(name, tuple):
        return tuple(map(_as_if_alone, name))
    if isinstance(name, float | complex) and name.imag == 0 and name.real.is_integer():
        return int(name.real)
    if hasattr(name, "as_unit") and name == name:  # a time of pandas, in the unit of its index
        fine = getattr(name, "nanosecond", 0) or getattr(name, "nanoseconds", 0)
        try:
            return name.as_unit("ns" if fine else "us")
        except (OverflowError, ValueError):
            return name.as_unit("s")
    return name


def _rank(name: Any) -> tuple[Any, ...]:
    """Return where a name belongs among all that there could be."""
    if isinstance(name, Real) and name == name:
        return 0, name
    if isinstance(name, str):
        return 1, name
    if isinstance(name, tuple):
        return 2, tuple(map(_rank, name))
    return 3, f"{type(name).__name__} {name!r}"


def _as_numbers(counts: Any) -> NDArray[Any]:
    try:
        return np.asarray(counts)
    except ValueError as error:
        raise ValueError(
            "counts has entries of different lengths; pass one number for each item, or a matrix "
            "with people in rows."
        ) from error


def _as_table(frame: Any) -> NDArray[Any]:
    """Return a data frame as numbers, also where its columns are numbers of different types."""
    table = np.asarray(frame)
    if table.dtype == object and all(
        getattr(dtype, "kind", "O") in _NUMBERS for dtype in frame.dtypes
    ):
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    return table


def _of_people(table: NDArray[Any], max_contribution: float) -> Candidates:
    _check_numbers(table)
    n_items = (table != 0).sum(axis=1).max(initial=0)
    whole = _exact(table, max_contribution)
    return Candidates(whole.sum(axis=0), None, float(table.max(initial=0)), int(n_items))


def _of_sparse(counts: Any, max_contribution: float) -> Candidates:
    if counts.ndim != 2:
        raise ValueError(
            f"counts is sparse and of shape {counts.shape}; pass a matrix with people in rows, or "
            "one number for each item as counts.toarray()."
        )
    table = counts.tocsr()
    _check_numbers(table.data)
    if not table.has_canonical_format or not table.data.all():
        table = table.copy()
        table.sum_duplicates()  # or one person would have several small contributions to an item
        table.eliminate_zeros()
    n_items = np.diff(table.indptr).max(initial=0)
    whole = np.bincount(
        table.indices, weights=_exact(table.data, max_contribution), minlength=table.shape[1]
    )
    totals = whole if table.dtype.kind == "f" else whole.astype(np.int64)
    return Candidates(totals, None, float(table.data.max(initial=0)), int(n_items))


def _exact(contributions: NDArray[Any], max_contribution: float) -> NDArray[Any]:
    """Round contributions down to a grid on which sums of up to 2^32 of them are exact.

    Sums of floats are rounded by what all others contribute: replacing one person could move a
    count by more than that person contributes.
    """
    if contributions.dtype.kind != "f":
        return contributions.astype(np.int64)
    # Of few digits sums would be rounded by more than a person.
    plain = contributions.astype(np.float64)
    exponent = math.frexp(max_contribution)[1] - _PLACES
    return np.asarray(np.ldexp(np.floor(np.ldexp(plain, -exponent)), exponent))


def _check_numbers(values: NDArray[Any]) -> None:
    if values.dtype.kind not in _NUMBERS:
        raise ValueError(f"counts has dtype {values.dtype}; pass numbers.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("counts must be finite and non-negative numbers.")
