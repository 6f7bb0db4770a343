"""One-hot features of pairs of columns, beside those of single columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from secretballot.linear.features._additive_bins import AdditiveBins, ColumnPair
from secretballot.linear.features._design import PriorGroup


class PairedBins(AdditiveBins):
    """One-hot features of columns, and of the cells of some pairs of columns.

    A row has one entry for each column and each pair, so all rows have the same length. A pair has
    no cell where one of its columns has no feature.
    """

    def __init__(self, bins: AdditiveBins, pairs: Sequence[ColumnPair]) -> None:
        super().__init__(bins.columns)
        self.pairs = tuple(pairs)

    @property
    def n_features(self) -> int:
        return int(self.ends[-1]) + sum(pair.n_cells for pair in self.pairs)

    @property
    def norm(self) -> float:
        return float(np.sqrt(len(self.columns) + len(self.pairs)))

    @property
    def groups(self) -> list[PriorGroup]:
        cells = [
            PriorGroup(place, self._pair_precision(pair))
            for pair, place in zip(self.pairs, self.pair_places, strict=True)
        ]
        return [*super().groups, *cells]

    def _pair_precision(self, pair: ColumnPair) -> NDArray[np.float64]:
        first, second = (
            np.linalg.inv(self.columns[position].merged_correlations(groups))
            for position, groups in zip(pair.columns, pair.groups, strict=True)
        )
        return np.kron(first, second)

    def order_relations(self, directions: NDArray[np.int8]) -> NDArray[np.intp]:
        """Return pairs of features, of which the first has the smaller effect: (n_relations, 2).

        Cells are ordered as the columns of their pair are. No monotone function is excluded by
        that: functions of a column can be moved between its own effects and those of cells.
        """
        relations = [super().order_relations(directions)]
        for pair, place in zip(self.pairs, self.pair_places, strict=True):
            cells = np.arange(place.start, place.stop).reshape(pair.shape)
            for axis, (column, groups) in enumerate(zip(pair.columns, pair.groups, strict=True)):
                if direction := int(directions[column]):
                    merged = groups[: self.columns[column].n_values]
                    steps = np.unique(np.stack([merged[:-1], merged[1:]], axis=1), axis=0)
                    steps = steps[steps[:, 0] != steps[:, 1], ::direction]
                    lines = np.moveaxis(cells, axis, 0)[steps]
                    relations.append(lines.transpose(0, 2, 1).reshape(-1, 2))
        return np.concatenate(relations)

    def transform_columns(self, table: Sequence[ArrayLike]) -> csr_array:
        return self.with_cells(super().transform_columns(table))

    def with_cells(self, rows: csr_array) -> csr_array:
        """Append the cells of the pairs: those of the features that have the largest weights."""
        n_rows = rows.shape[0]
        codes, data = (entries.reshape(n_rows, -1) for entries in (rows.indices, rows.data))
        all_codes, all_data = [codes], [data]
        largest = [
            _largest_entries(codes[:, place] - start, data[:, place])
            for place, start in zip(self._entry_places, self.ends, strict=False)
        ]
        for pair, place in zip(self.pairs, self.pair_places, strict=True):
            (first, first_present), (second, second_present) = (
                largest[column] for column in pair.columns
            )
            cells = pair.groups[0][first] * pair.shape[1] + pair.groups[1][second] + place.start
            all_codes.append(cells[:, None].astype(codes.dtype))
            all_data.append((first_present * second_present)[:, None])
        width = codes.shape[1] + len(self.pairs)
        entries = (
            np.concatenate(all_data, axis=1).ravel(),
            np.concatenate(all_codes, axis=1).ravel(),
            np.arange(n_rows + 1, dtype=np.int32) * width,
        )
        return csr_array(entries, shape=(n_rows, self.n_features))

    @property
    def _entry_places(self) -> list[slice]:
        ends = np.cumsum([0, *(column.n_entries for column in self.columns)]).tolist()
        return [slice(low, high) for low, high in itertools.pairwise(ends)]


def _largest_entries(
    codes: NDArray[np.integer], weights: NDArray[np.float64]
) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return the feature of the largest weight, and 1, or 0 where the cell is missing."""
    position = weights.argmax(axis=1)[:, None]
    present = (weights.sum(axis=1) > 0).astype(np.float64)
    return np.take_along_axis(codes, position, axis=1)[:, 0], present
