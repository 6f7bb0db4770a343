"""Counts of items, and what the items are called, from all that counts come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Candidates:
    """Items that may be released.

    Attributes
    ----------
    counts : ndarray of shape (n_items,)
    names : ndarray or Index of shape (n_items,), or None
        None: they are called by their positions.
    """

    counts: NDArray[Any]
    names: Any

    @classmethod
    def of(cls, counts: Any, max_contribution: float, max_items: int | None) -> Candidates:
        """Read counts, or people in rows and items in columns.

        Raises
        ------
        ValueError
            If it is none of these, or a person has more than was said.
        """
        if isinstance(counts, Mapping):
            return cls(np.array(list(counts.values())), _as_names(list(counts)))
        if hasattr(counts, "tocsr"):
            return cls(_totals_of_sparse(counts.tocsr(), max_contribution, max_items), None)
        if hasattr(counts, "columns"):
            table = np.asarray(counts)
            return cls(_totals(table, max_contribution, max_items), counts.columns)._unique()
        if hasattr(counts, "index") and hasattr(counts, "to_numpy"):
            return cls(counts.to_numpy(), counts.index)._unique()
        table = np.asarray(counts)
        if table.ndim == 2:
            return cls(_totals(table, max_contribution, max_items), None)
        if table.ndim != 1 or table.dtype.kind not in "biuf":
            raise ValueError(
                f"counts of shape {table.shape} and dtype {table.dtype} are none: pass one number "
                "for each item (an array, a Series, a dict), or a matrix with people in rows."
            )
        return cls(table, None)

    def brought(self) -> Candidates:
        """Return the items that somebody brought, in the order of their names.

        Raises
        ------
        ValueError
            If they have no names, or names that can't be sorted.
        """
        if self.names is None:
            raise ValueError(
                "domain='unknown' with items that have no names: their positions would be public. "
                "Pass a Series or a dict; or domain='known' if the list of items is public."
            )
        there = np.flatnonzero(self.counts)
        names = self.names[there]
        try:
            # Ties go by name: where they stand comes from the data.
            order = np.argsort(np.asarray(names), kind="stable")
        except TypeError as error:
            raise ValueError(
                "domain='unknown' needs names that can be sorted; give all as strings or all as "
                "numbers."
            ) from error
        return Candidates(self.counts[there[order]], names[order])

    def called(self, positions: NDArray[np.intp]) -> Any:
        """Return what the items at some positions are called."""
        return positions if self.names is None else self.names[positions]

    def _unique(self) -> Candidates:
        if not self.names.is_unique:
            twice = self.names[self.names.duplicated()][0]
            raise ValueError(f"counts names {twice!r} twice; add its counts up first.")
        return self


def _as_names(names: list[Any]) -> NDArray[Any]:
    """Return names as an array of one axis, whatever they are."""
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


def _totals(table: NDArray[Any], max_contribution: float, max_items: int | None) -> NDArray[Any]:
    if table.dtype.kind not in "biuf":
        raise ValueError(f"counts has dtype {table.dtype}; pass numbers.")
    _check_contributions(table, max_contribution)
    _check_items((table != 0).sum(axis=1), max_items)
    return np.asarray(table.sum(axis=0, dtype=None if table.dtype.kind == "f" else np.int64))


def _totals_of_sparse(table: Any, max_contribution: float, max_items: int | None) -> NDArray[Any]:
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()  # or one person would have several small contributions to an item
    _check_contributions(table.data, max_contribution)
    _check_items(np.diff(table.indptr), max_items)
    return np.asarray(table.sum(axis=0)).ravel()


def _check_contributions(values: NDArray[Any], most: float) -> None:
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("counts must be finite and non-negative numbers.")
    if (values > most).any():
        raise ValueError(
            f"somebody contributes {values.max():g} to an item, and max_contribution={most!r}; "
            "clip what people contribute (at a public number), or say more. Nothing was released."
        )


def _check_items(n_items: NDArray[Any], most: int | None) -> None:
    if most is not None and (n_items > most).any():
        raise ValueError(
            f"somebody contributes to {n_items.max()} items, and max_items={most!r}; keep a few of "
            "everybody's (by a public rule or at random), or say more. Nothing was released."
        )
