"""Columns of a table as scaled numbers and one-hot categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secretballot.linear.features._additive_bins import AdditiveBins, public_bins
from secretballot.linear.features._columns import Categories, PublicColumn
from secretballot.linear.features._design import Floats
from secretballot.linear.features._nullable_features import nullable_bins
from secretballot.tables._cells import missing_cells, read_numbers

#: Numbers beyond this are clipped, so that their squares are finite.
LARGEST_NUMBER = 1e100
#: Numbers that differ by less, as a part of their size, are alike but for rounding.
LEAST_SPREAD = 1e-12


@dataclass(frozen=True)
class _ScaledNumber:
    """Scaled number; a missing one is 0, with an indicator if public cells are missing."""

    mean: float
    deviation: float
    nullable: bool

    @classmethod
    def of(cls, column: PublicColumn) -> _ScaledNumber:
        x, nullable = column.numbers(), bool(missing_cells(column.values).any())
        if not len(x):
            return cls(0.0, 1.0, nullable)
        size = float(np.ldexp(1.0, np.frexp(np.abs(x).max())[1] - 1))  # squares stay finite
        deviation = float((x / size).std())
        if deviation <= LEAST_SPREAD:
            deviation = 1 / size
        return cls(size * float((x / size).mean()), size * deviation, nullable)

    def transform_columns(self, table: Sequence[ArrayLike]) -> Floats:
        with np.errstate(over="ignore"):
            scaled = (read_numbers(table[0]) - self.mean) / self.deviation
        missing = np.isnan(scaled)
        numbers = np.where(missing, 0.0, scaled)[:, None]
        return np.column_stack([numbers, missing]) if self.nullable else numbers


@dataclass(frozen=True)
class _OneHotCategories:
    """Indicators of categories; and of missing cells if public ones are missing."""

    bins: AdditiveBins

    @classmethod
    def of(cls, column: PublicColumn, declared: Categories) -> _OneHotCategories:
        bins = public_bins([column], 1, declared)
        return cls(nullable_bins(bins) if missing_cells(column.values).any() else bins)

    def transform_columns(self, table: Sequence[ArrayLike]) -> Floats:
        return np.asarray(self.bins.transform_columns(table).toarray())


class ColumnScaling:
    """Numbers scaled by public rows, and one-hot categories; a missing cell is 0.

    Missing cells have an indicator beside in columns in which public cells are missing.
    """

    def __init__(self, columns: Sequence[PublicColumn], declared: Categories) -> None:
        self._columns: list[_ScaledNumber | _OneHotCategories] = [
            _ScaledNumber.of(column)
            if column.is_number and column.name not in declared
            else _OneHotCategories.of(column, declared)
            for column in columns
        ]

    def transform_columns(self, table: Sequence[ArrayLike]) -> Floats:
        """Scale a table given as its columns; cells are read one by one."""
        blocks = [
            column.transform_columns([values])
            for column, values in zip(self._columns, table, strict=True)
        ]
        scaled_table = np.concatenate(blocks, axis=1)
        return np.asarray(np.clip(scaled_table, -LARGEST_NUMBER, LARGEST_NUMBER))
