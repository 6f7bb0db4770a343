"""Counts of items, and what the items are called, from all that counts come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._numbers import check_unmasked

_NUMBERS = "biuf"


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
    def of(cls, counts: Any) -> Candidates:
        """Read counts, or people in rows and items in columns.

        Raises
        ------
        ValueError
            If it is none of these.
        """
        check_unmasked("counts", counts)
        if isinstance(counts, Mapping):
            return cls(_as_numbers(list(counts.values())), _as_objects(list(counts)))._each_once()
        if hasattr(counts, "tocsr"):
            return _of_sparse(counts)
        if hasattr(counts, "columns"):
            return replace(_of_people(_as_table(counts)), names=counts.columns)._each_once()
        if hasattr(counts, "index") and hasattr(counts, "to_numpy"):
            return cls(counts.to_numpy(), counts.index)._each_once()
        table = _as_numbers(counts)
        return _of_people(table) if table.ndim == 2 else cls(table, None)._each_once()

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
        names = [_as_if_alone(name) for name in self.names[there]]
        # Ties go by name: where they stand comes from the data.
        order = sorted(range(len(names)), key=lambda place: _rank(names[place]))
        return replace(
            self, counts=self.counts[there[order]], names=_as_objects(names)[np.array(order, int)]
        )

    def called(self, positions: NDArray[np.intp]) -> Any:
        """Return what the items at some positions are called."""
        return positions if self.names is None else self.names[positions]

    def check_people(self, contribution: tuple[str, float], items: tuple[str, int | None]) -> None:
        """Refuse people who have more than was said; each limit with what it is called."""
        if self.largest > contribution[1]:
            raise ValueError(
                f"somebody contributes {self.largest:g} to an item, and {contribution[0]}="
                f"{contribution[1]!r}; clip what people contribute (at a public number), or say "
                "more. Nothing was released."
            )
        if items[1] is not None and self.n_items > items[1]:
            raise ValueError(
                f"somebody contributes to {self.n_items} items, and {items[0]}={items[1]!r}; keep "
                "a few of everybody's (by a public rule or at random), or say more. Nothing was "
                "released."
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
    """Return a name as it would be without others: one fraction makes an index one of floats."""
    return int(name) if isinstance(name, float) and name.is_integer() else name


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


def _of_people(table: NDArray[Any]) -> Candidates:
    _check_numbers(table)
    # Of few digits sums would be rounded by more than a person.
    wide = np.float64 if table.dtype.kind == "f" else np.int64
    n_items = (table != 0).sum(axis=1).max(initial=0)
    return Candidates(
        table.sum(axis=0, dtype=wide), None, float(table.max(initial=0)), int(n_items)
    )


def _of_sparse(counts: Any) -> Candidates:
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
    if table.dtype.kind == "f":
        table = table.astype(np.float64)
    n_items = np.diff(table.indptr).max(initial=0)
    totals = np.asarray(table.sum(axis=0)).ravel()
    return Candidates(totals, None, float(table.data.max(initial=0)), int(n_items))


def _check_numbers(values: NDArray[Any]) -> None:
    if values.dtype.kind not in _NUMBERS:
        raise ValueError(f"counts has dtype {values.dtype}; pass numbers.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("counts must be finite and non-negative numbers.")
