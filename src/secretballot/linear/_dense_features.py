"""Features of whole rows: scaled columns, random cosines, and those of a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import _num_samples
from secretballot.linear._additive_bins import AdditiveBins, nullable_bins, public_bins
from secretballot.linear._columns import Categories, PublicColumn
from secretballot.linear._design import Floats, PriorGroup
from secretballot.tables._cells import read_numbers
from secretballot.tables._frames import columns_of
from secretballot.tables._row_independence import check_row_independence, copy_rows
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise import RowAnswers
from secretballot.tables._rowwise_check import choose_calls

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
        x, nullable = column.numbers, column.reader.nullable
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
        return cls(nullable_bins(bins) if column.reader.nullable else bins)

    def transform_columns(self, table: Sequence[ArrayLike]) -> Floats:
        return np.asarray(self.bins.transform_columns(table).toarray())


class ColumnScaling:
    """Numbers scaled by public rows, and one-hot categories; a missing cell is 0.

    Missing cells have an indicator beside in columns in which public cells are missing.
    """

    def __init__(self, columns: Sequence[PublicColumn], declared: Categories) -> None:
        self._columns: list[_ScaledNumber | _OneHotCategories] = [
            _ScaledNumber.of(column)
            if column.reader.is_number
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


#: Rows are clipped to this quantile of the public rows' lengths.
_LENGTH_QUANTILE = 0.9
#: More features take minutes to fit, and their coefficients would be lost in noise.
MOST_FEATURES = 500


class Transformer(Protocol):
    """Fitted transformer of scikit-learn."""

    def transform(self, X: ArrayLike) -> ArrayLike: ...


class DenseFeatures:
    """Base class of centred features with a constant, clipped to a public length."""

    norm: float  # largest length of a row (l2)
    _mean: Floats
    _constant: float
    _scale: float = 1.0

    def _fit_length(self, public: Floats, *, in_any_unit: bool = False) -> None:
        """Fix the centre and the largest length from public rows.

        Features in any unit are scaled by a power of two, to a length of 1 to 2: priors and the
        places to which sums are rounded expect about that.
        """
        if public.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"features gives {public.shape[1]} numbers a row, and at most {MOST_FEATURES} are "
                "taken: reduce them on public rows, with PCA or TruncatedSVD in a pipeline."
            )
        self._mean = public.mean(axis=0)
        lengths = np.linalg.norm(public - self._mean, axis=1)
        length = float(np.quantile(lengths, _LENGTH_QUANTILE))
        if length <= LEAST_SPREAD * float(np.linalg.norm(self._mean)):
            length, lengths = 1.0, np.zeros(1)
        if in_any_unit:
            self._scale = float(np.ldexp(1.0, 1 - np.frexp(length)[1]))
            length, lengths = self._scale * length, self._scale * lengths
        self._constant = float(np.sqrt(np.mean(np.minimum(lengths, length) ** 2))) or 1.0
        self.norm = float(np.hypot(length, self._constant))

    def _clip(self, rows: Floats) -> Floats:
        constant = np.full((len(rows), 1), self._constant)
        scaled = np.clip(self._scale * (rows - self._mean), -LARGEST_NUMBER, LARGEST_NUMBER)
        features = np.ascontiguousarray(np.concatenate([scaled, constant], axis=1))
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        return np.asarray(features * np.minimum(1.0, self.norm / lengths))

    @property
    def n_features(self) -> int:
        """Number of features, with the constant."""
        return len(self._mean) + 1

    @property
    def groups(self) -> list[PriorGroup]:
        """All features but the constant, and the constant; their priors are independent."""
        last = self.n_features - 1
        return [
            PriorGroup(slice(0, last), np.eye(last), is_column=False),
            PriorGroup(slice(last, last + 1), np.eye(1)),
        ]


class ScaledColumns(DenseFeatures):
    """Numbers scaled by public rows, and one-hot categories; a missing cell is 0."""

    def __init__(self, columns: Sequence[PublicColumn], declared: Categories) -> None:
        self._scaling = ColumnScaling(columns, declared)
        self._fit_length(self._scaling.transform_columns([column.cells for column in columns]))

    def transform(self, X: ArrayLike) -> Floats:
        """Compute features; cells are read one by one, so private rows are read alike."""
        return self._clip(self._scaling.transform_columns(columns_of(X)))

    transform_private = transform


class TransformedRows(DenseFeatures):
    """Output of a transformer, which was fitted on public rows."""

    def __init__(
        self,
        transformer: Transformer,
        X_public: ArrayLike,
        schema: RowSchema,
        rows_per_call: int | str = "auto",
    ) -> None:
        self.transformer = transformer
        rows = self._finite_rows(X_public)
        name = f"features={type(transformer).__name__}"
        check_row_independence(self._table, X_public, name)
        self._fit_length(rows, in_any_unit=True)
        self.calls = choose_calls(transformer, "transform", schema, rows_per_call, name=name)

    def with_calls(self, schema: RowSchema, rows_per_call: int | str) -> TransformedRows:
        """Return the same features, with another number of private rows in a call."""
        if rows_per_call in ("auto", self.calls.rows_per_call):
            return self
        other = copy(self)
        other.calls = choose_calls(self.transformer, "transform", schema, rows_per_call)
        return other

    def transform(self, X: ArrayLike) -> Floats:
        return self._clip(self._finite_rows(X))

    def transform_private(self, X: ArrayLike) -> Floats:
        """Compute the features of private rows; where that fails, the mean of public rows."""
        return self.answer_private(X).values

    def answer_private(self, X: ArrayLike) -> RowAnswers:
        """Compute the features of private rows, and tell where the transformer failed."""
        rows, failed = self.calls(X)
        is_number = np.isfinite(rows) & ~failed[:, None]
        table = np.clip(np.where(is_number, rows, self._mean), -LARGEST_NUMBER, LARGEST_NUMBER)
        return RowAnswers(self._clip(table), ~is_number.all(axis=1))

    def _table(self, X: ArrayLike) -> NDArray[np.generic]:
        """Return the transformer's output, refused if it is not a row for each row."""
        output = self.transformer.transform(X)
        table = np.asarray(output.toarray() if hasattr(output, "toarray") else output)
        if table.ndim != 2 or len(table) != _num_samples(X):
            self._refuse(table.shape, _num_samples(X))
        return table

    def _finite_rows(self, X: ArrayLike) -> Floats:
        rows = np.asarray(self._table(copy_rows(X)), dtype=np.float64)
        if not np.isfinite(rows).all():
            self._refuse(rows.shape, len(rows))
        return np.clip(rows, -LARGEST_NUMBER, LARGEST_NUMBER)

    def _refuse(self, shape: tuple[int, ...], n_rows: int) -> NoReturn:
        raise ValueError(
            f"features={type(self.transformer).__name__} made an array of shape {shape} of "
            f"{n_rows} rows, or numbers that are not finite; every row needs as many finite "
            "numbers."
        )


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
        table = self._scaling.transform_columns([column.cells for column in columns])
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
