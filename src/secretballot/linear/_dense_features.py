"""Features that are numbers: scaled columns, or what a transformer makes of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from secretballot._sklearn_compat import _num_samples
from secretballot.linear._additive_bins import AdditiveBins, Categories, public_bins
from secretballot.linear._columns import Column, public_numbers
from secretballot.schema import check_rows_alone, in_halves, numbers, own_rows

#: Rows are clipped to the length of so many of the public ones.
_LENGTH = 0.9
#: More features than this take minutes; what they tell would be lost in noise anyway.
MOST_FEATURES = 500
#: Numbers beyond this are taken for it: the squares of larger ones would not be finite.
_FURTHEST = 1e100


class DenseFeatures:
    """Base class: rows of numbers, centred and with a constant, clipped to a public length.

    Attributes
    ----------
    norm : float
        How long a row is at most (l2).
    """

    norm: float
    _middle: NDArray[np.float64]
    _constant: float

    def _measure(self, public: NDArray[np.float64]) -> None:
        """Fix what is subtracted from rows, and how long they may be, from public rows."""
        if public.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"features gives {public.shape[1]} numbers a row, and at most {MOST_FEATURES} are "
                "taken: reduce them on public rows, with PCA or TruncatedSVD in a pipeline."
            )
        self._middle = public.mean(axis=0)
        lengths = np.linalg.norm(public - self._middle, axis=1)
        length = float(np.quantile(lengths, _LENGTH)) or 1.0
        self._constant = float(np.sqrt(np.mean(np.minimum(lengths, length) ** 2))) or 1.0
        self.norm = float(np.hypot(length, self._constant))

    def _clipped(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        constant = np.full((len(rows), 1), self._constant)
        whole = np.concatenate([rows - self._middle, constant], axis=1)
        lengths = np.linalg.norm(whole, axis=1, keepdims=True)
        return np.asarray(whole * np.minimum(1.0, self.norm / lengths))

    @property
    def n_features(self) -> int:
        """How many numbers a row has, the constant among them."""
        return len(self._middle) + 1

    @property
    def groups(self) -> list[tuple[slice, NDArray[np.float64]]]:
        """What is shrunk together: all but the constant, and the constant."""
        last = self.n_features - 1
        return [(slice(0, last), np.eye(last)), (slice(last, last + 1), np.eye(1))]


class ScaledColumns(DenseFeatures):
    """Numbers scaled by public rows, and categories as one-hot columns; zeros of missing cells.

    Parameters
    ----------
    columns : sequence of Column
        Of public rows.
    categories : mapping
        Declared categories of some columns.
    """

    def __init__(self, columns: Sequence[Column], categories: Mapping[Any, Sequence[Any]]) -> None:
        self.columns: list[tuple[str, float, float] | Categories] = []
        for column in columns:
            if column.is_number and column.name not in categories:
                x = public_numbers(column)
                self.columns.append((column.name, float(x.mean()), float(x.std()) or 1.0))
            else:
                (found,) = public_bins([column], 1, categories).columns
                assert isinstance(found, Categories)
                self.columns.append(found)
        self._measure(self._rows([column.values for column in columns]))

    def _rows(self, table: Sequence[Any]) -> NDArray[np.float64]:
        parts = []
        for column, values in zip(self.columns, table, strict=True):
            if isinstance(column, Categories):
                parts.append(AdditiveBins([column]).transform([values]).toarray())
            else:
                _, middle, scale = column
                with np.errstate(over="ignore"):
                    scaled = (numbers(values) - middle) / scale
                parts.append(np.where(np.isnan(scaled), 0.0, scaled)[:, None])
        return np.clip(np.concatenate(parts, axis=1), -_FURTHEST, _FURTHEST)

    def transform(self, table: Sequence[Any]) -> NDArray[np.float64]:
        """Return the rows of a table given as its columns."""
        return self._clipped(self._rows(table))


class TransformedRows(DenseFeatures):
    """What a transformer makes of rows.

    Parameters
    ----------
    transformer : transformer
        Fitted on public rows.
    X_public : table
    """

    def __init__(self, transformer: Any, X_public: Any) -> None:
        self.transformer = transformer
        rows = self._rows(X_public)
        check_rows_alone(self._made, X_public, f"features={type(transformer).__name__}")
        self._measure(rows)

    def _dense(self, X: Any) -> NDArray[Any]:
        found = self.transformer.transform(X)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    def _made(self, X: Any) -> NDArray[Any]:
        """Return what the transformer makes of rows, in its own type."""
        rows = self._dense(X)
        if rows.ndim != 2 or len(rows) != _num_samples(X):
            self._refuse(rows.shape, _num_samples(X))
        return rows

    def _rows(self, X: Any) -> NDArray[np.float64]:
        rows = np.asarray(self._made(own_rows(X)), dtype=np.float64)
        if not np.isfinite(rows).all():
            self._refuse(rows.shape, len(rows))
        return np.clip(rows, -_FURTHEST, _FURTHEST)

    def _refuse(self, shape: tuple[int, ...], n_rows: int) -> NoReturn:
        raise ValueError(
            f"features={type(self.transformer).__name__} made an array of shape {shape} of "
            f"{n_rows} rows, or numbers that are not finite; every row needs as many finite "
            "numbers."
        )

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features of public rows."""
        return self._clipped(self._rows(X))

    def transform_private(self, X: Any) -> NDArray[np.float64]:
        """Return the features of private rows; those of public rows on average where it fails."""
        lengths = set()

        def made(some: Any) -> NDArray[np.float64]:
            found = self._dense(some)
            lengths.add(len(found) == _num_samples(some))
            if found.shape[1:] != self._middle.shape:
                raise ValueError(f"rows of the shape {found.shape[1:]}")
            return found.astype(np.float64)

        rows, _ = in_halves(made, X, np.full((1, len(self._middle)), np.nan))
        if False in lengths:
            self._refuse(rows.shape, _num_samples(X))
        rows = np.where(np.isfinite(rows), rows, self._middle)
        return self._clipped(np.clip(rows, -_FURTHEST, _FURTHEST))
