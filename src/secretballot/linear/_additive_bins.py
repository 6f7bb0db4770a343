"""Features of a table, column by column: in which bin a number, or which category a text, is."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from secretballot.linear._columns import Column, public_numbers, public_texts
from secretballot.schema import cell_text, numbers, texts

#: A value that so many of the public rows have, and at least so many of them, is a bin of its own:
#: the zeros of capital gains.
_SPIKE, _FEWEST = 0.05, 3
#: So many public rows a bin has at least.
_ROWS_A_BIN = 10
#: Fewer public rows than make a bin are refused.
FEWEST_PUBLIC = _ROWS_A_BIN
#: How far smooth effects reach, as a part of the rows, and how much of an effect is not smooth.
_REACH, _ROUGH = 0.25, 0.05


@dataclass(frozen=True)
class NumberBins:
    """Bins of a number: values apart, and intervals."""

    name: Any
    values: NDArray[np.float64]
    edges: NDArray[np.float64]
    positions: NDArray[np.float64]  # of each bin, as a part of the rows below it

    @property
    def n_bins(self) -> int:
        return len(self.values) + len(self.edges) + 1

    def codes(self, column: Any) -> NDArray[np.intp]:
        """Return the bin of each row; -1 where it has no number."""
        x = numbers(column)
        codes = np.searchsorted(self.edges, x) + len(self.values)
        if len(self.values):
            at = np.searchsorted(self.values, x).clip(0, len(self.values) - 1)
            codes = np.where(self.values[at] == x, at, codes)
        return np.where(np.isnan(x), -1, codes)

    def labels(self) -> list[str]:
        """Return a text for each bin."""
        ends = ["", *(f"{edge:.4g}" for edge in self.edges), ""]
        between = [
            f"{low} to {high}" if low and high else f"above {low}" if low else f"up to {high}"
            for low, high in itertools.pairwise(ends)
        ]
        return [f"{value:.6g}" for value in self.values] + (
            between if len(self.edges) else ["others" if len(self.values) else "all"]
        )

    def precision(self) -> NDArray[np.float64]:
        """Return the inverse correlations of what bins add: near ones add alike."""
        apart = np.abs(self.positions[:, None] - self.positions)
        smooth = (1 - _ROUGH) * np.exp(-apart / _REACH) + _ROUGH * np.eye(self.n_bins)
        return np.asarray(np.linalg.inv(smooth))


@dataclass(frozen=True)
class Categories:
    """Categories, and one bin for all others."""

    name: Any
    known: NDArray[np.str_]

    @property
    def n_bins(self) -> int:
        return len(self.known) + 1

    def codes(self, column: Any) -> NDArray[np.intp]:
        """Return the category of each row; -1 where it has none."""
        places: dict[str | None, int] = {text: at for at, text in enumerate(self.known.tolist())}
        others = len(places)
        places[None] = -1
        codes = [places.get(text, others) for text in texts(column).tolist()]
        return np.array(codes, dtype=np.intp)

    def labels(self) -> list[str]:
        """Return a text for each category."""
        return [*self.known.tolist(), "others"]

    def precision(self) -> NDArray[np.float64]:
        """Return the inverse correlations of what categories add: none."""
        return np.eye(self.n_bins)


class AdditiveBins:
    """One-hot columns: of each row one in each column of the table, so that all are as long.

    Where a cell is missing the row has no one in that column, and is shorter: its place is kept by
    a zero in the column's first bin.

    Parameters
    ----------
    columns : sequence of NumberBins or Categories
    """

    def __init__(self, columns: Sequence[NumberBins | Categories]) -> None:
        self.columns = tuple(columns)
        self.ends = np.cumsum([0, *(column.n_bins for column in self.columns)])

    @property
    def n_features(self) -> int:
        """How many one-hot columns there are."""
        return int(self.ends[-1])

    @property
    def norm(self) -> float:
        """How long a row is at most (l2), and is unless cells are missing."""
        return float(np.sqrt(len(self.columns)))

    @property
    def groups(self) -> list[tuple[slice, NDArray[np.float64]]]:
        """What is shrunk together: the columns' places, and their inverse correlations."""
        return [
            (slice(low, high), column.precision())
            for column, low, high in zip(self.columns, self.ends[:-1], self.ends[1:], strict=True)
        ]

    def transform(self, table: Sequence[Any]) -> csr_array:
        """Return the one-hot rows of a table given as its columns."""
        found = np.stack(
            [
                column.codes(values).astype(np.int32)
                for column, values in zip(self.columns, table, strict=True)
            ],
            axis=1,
        )
        codes = found.clip(0) + self.ends[:-1].astype(np.int32)
        n_rows, n_columns = codes.shape
        starts = np.arange(n_rows + 1, dtype=np.int32) * n_columns
        return csr_array(
            ((found >= 0).ravel().astype(np.float64), codes.ravel(), starts),
            shape=(n_rows, self.n_features),
        )


def public_bins(
    columns: Sequence[Column], n_bins: int, categories: Mapping[Any, Sequence[Any]]
) -> AdditiveBins:
    """Return bins of public columns: quantiles of numbers, and the categories that occur."""
    return AdditiveBins(
        [
            _declared(column.name, categories[column.name])
            if column.name in categories
            else _quantiles(column, n_bins)
            if column.is_number
            else _occurring(column)
            for column in columns
        ]
    )


def declared_bins(
    names: Sequence[Any],
    bounds: Mapping[Any, tuple[float, float]],
    n_bins: int,
    categories: Mapping[Any, Sequence[Any]],
) -> AdditiveBins:
    """Return bins of equal width between declared bounds, and declared categories."""
    return AdditiveBins(
        [
            _declared(name, categories[name])
            if name in categories
            else NumberBins(
                name,
                np.empty(0),
                np.linspace(*bounds[name], n_bins + 1)[1:-1],
                (np.arange(n_bins) + 0.5) / n_bins,
            )
            for name in names
        ]
    )


def _declared(name: Any, known: Sequence[Any]) -> Categories:
    return Categories(
        name, np.unique([text for each in known if (text := cell_text(each)) is not None])
    )


def _occurring(column: Column) -> Categories:
    if column.categories is not None:
        return _declared(column.name, column.categories)
    shown, counts = np.unique(public_texts(column), return_counts=True)
    return Categories(column.name, shown[counts >= _FEWEST])


def _quantiles(column: Column, n_bins: int) -> NumberBins:
    x = public_numbers(column)
    values, counts = np.unique(x, return_counts=True)
    if len(values) <= n_bins:
        apart, edges = np.empty(0), (values[1:] + values[:-1]) / 2
        middles = values
    else:
        apart = values[counts >= max(_SPIKE * len(x), _FEWEST)]
        rest = x[~np.isin(x, apart)]
        n_parts = max(min(n_bins, len(rest) // _ROWS_A_BIN), 1)
        parts = np.linspace(0, 1, n_parts + 1)[1:-1]
        edges = np.unique(np.quantile(rest, parts)) if len(rest) else np.empty(0)
        ends = np.concatenate([values[:1], edges, values[-1:]])
        middles = np.concatenate([apart, (ends[1:] + ends[:-1]) / 2])
    ordered = np.sort(x)
    below = np.searchsorted(ordered, middles) + np.searchsorted(ordered, middles, side="right")
    return NumberBins(column.name, apart, edges, below / (2 * len(x)))
