"""Cells that a model knows, by its features and what was released, to warn of rows with others."""

from __future__ import annotations

import numpy as np

from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._design import Floats
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._columns import Columns
from secretballot.tables._known_cells import CellCheck

#: Ends of a column without a range.
_NO_RANGE = (np.nan, np.nan)


def cells_of_features(
    columns: Columns, bins: AdditiveBins, means: Floats, ranges: Bounds
) -> CellCheck:
    """Return the check of cells, given the mean of each feature over the rows of the fit."""
    expected = np.zeros((2, len(bins.columns)))
    known, labels = {}, {}
    features = zip(bins.columns, bins.places, columns.columns, strict=True)
    for at, (column, place, reader) in enumerate(features):
        expected[0, at] = means[place][column.n_values :].sum()
        if column.other_code is None:
            continue
        expected[1, at] = means[place][column.other_code]
        codes, _ = column.entries(np.append(np.arange(len(reader.texts)), -1))
        known[at] = codes[:, 0] != column.other_code
        labels[at] = column.labels()[: column.other_code]
    ends = np.array([ranges.get(column.name, _NO_RANGE) for column in bins.columns])
    low, high = ends.reshape(-1, 2).T
    return CellCheck(
        names=[column.name for column in bins.columns],
        expected=expected,
        low=low,
        high=high,
        is_date=[column.kind == "time" for column in columns.columns],
        known=known,
        labels=labels,
        far_words="The model has learned nothing there. Give columns in the units of the fit, and "
        "missing cells as NaN (columns_ shows how the model reads each).",
        hint=" (columns_ shows how the model reads each)",
    )
