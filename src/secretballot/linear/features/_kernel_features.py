"""Random Fourier features of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from secretballot.linear.features._column_scaling import ColumnScaling
from secretballot.linear.features._columns import Categories, PublicColumn
from secretballot.linear.features._dense_features import DenseFeatures
from secretballot.linear.features._design import Floats
from secretballot.tables._frames import columns_of

_SEED = 20_070_101
#: Number of directions.
_N_COSINES = 400
#: Standard deviations at which scaled numbers are clipped.
_LARGEST_SCALED = 16.0
#: Binary places of scaled numbers and of frequencies: their products are added exactly, in any
#: order, up to 2**16 numbers a row.
_NUMBER_BITS, _FREQUENCY_BITS = 12, 18
#: Cosines are looked up, so that a row's features are the same wherever it stands.
_TABLE_BITS = 16
_COSINES = np.cos(2 * np.pi * (np.arange(2**_TABLE_BITS) + 0.5) / 2**_TABLE_BITS)


class KernelFeatures(DenseFeatures):
    """Cosines of random directions of scaled columns, which approximate a Gaussian kernel.

    Similarities of rows are exp(-gamma d^2), where d is their distance and gamma the width over
    twice the number of columns. A small width leaves little but linear functions of the columns.
    The directions are drawn by a public seed (Rahimi and Recht, "Random features
    for large-scale kernel machines", NIPS 2007, algorithm 1).
    """

    def __init__(
        self, columns: Sequence[PublicColumn], declared: Categories, width: float = 1.0
    ) -> None:
        self._scaling = ColumnScaling(columns, declared)
        table = self._scaling.transform_columns([column.values for column in columns])
        rng = np.random.default_rng(_SEED)
        spread = (width / len(columns)) ** 0.5 / (2 * np.pi)
        turns = spread * rng.normal(size=(table.shape[1], _N_COSINES))
        self._turns = np.round(np.ldexp(turns, _FREQUENCY_BITS)) * 2.0**-_FREQUENCY_BITS
        self._starts = np.floor(2.0**_TABLE_BITS * rng.random(_N_COSINES)) * 2.0**-_TABLE_BITS
        self._fit_length(self._cosines(table))

    def transform(self, X: ArrayLike) -> Floats:
        """Compute features; cells are read one by one, so private rows are read alike."""
        return self._clip(self._cosines(self._scaling.transform_columns(columns_of(X))))

    transform_private = transform

    def _cosines(self, table: Floats) -> Floats:
        numbers: Floats = np.clip(table, -_LARGEST_SCALED, _LARGEST_SCALED)
        numbers = np.asarray(np.round(np.ldexp(numbers, _NUMBER_BITS)) * 2.0**-_NUMBER_BITS)
        turns = numbers @ self._turns + self._starts
        places = np.floor(np.ldexp(turns, _TABLE_BITS)).astype(np.int64) & (2**_TABLE_BITS - 1)
        return np.asarray(np.sqrt(2 / turns.shape[1]) * _COSINES[places])
