"""Columns of a table as scaled numbers and one-hot categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from secretballot.linear.features._additive_bins import AdditiveBins, public_bins
from secretballot.linear.features._column_bins import CategoryBins
from secretballot.linear.features._columns import Categories, PublicColumn
from secretballot.linear.features._design import Floats
from secretballot.schema import read_numbers

#: Numbers beyond this are clipped, so that their squares are finite.
LARGEST_NUMBER = 1e100


class ColumnScaling:
    """Numbers scaled by public rows, and one-hot categories; a missing cell is 0.

    Parameters
    ----------
    columns : sequence of PublicColumn
    declared : mapping
        Declared categories of some columns.
    """

    def __init__(self, columns: Sequence[PublicColumn], declared: Categories) -> None:
        #: Mean and standard deviation of a number, or the bins of a category.
        self.columns: list[tuple[float, float] | CategoryBins] = []
        for column in columns:
            if column.is_number and column.name not in declared:
                x = column.numbers()
                self.columns.append((float(x.mean()), float(x.std()) or 1.0))
            else:
                (bins,) = public_bins([column], 1, declared).columns
                assert isinstance(bins, CategoryBins)
                self.columns.append(bins)

    def transform_columns(self, table: Sequence[ArrayLike]) -> Floats:
        """Scale a table given as its columns; cells are read one by one."""
        blocks = []
        for column, values in zip(self.columns, table, strict=True):
            if isinstance(column, CategoryBins):
                blocks.append(AdditiveBins([column]).transform_columns([values]).toarray())
            else:
                mean, deviation = column
                with np.errstate(over="ignore"):
                    scaled = (read_numbers(values) - mean) / deviation
                blocks.append(np.where(np.isnan(scaled), 0.0, scaled)[:, None])
        scaled_table = np.concatenate(blocks, axis=1)
        return np.asarray(np.clip(scaled_table, -LARGEST_NUMBER, LARGEST_NUMBER))
