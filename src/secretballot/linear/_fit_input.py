"""Checked input of a fit: columns, people, targets and weights, in memory or in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from secretballot._base._errors import TEXT_ERROR
from secretballot._base._sklearn_compat import _num_samples
from secretballot.linear._column_reading import (
    ColumnReadings,
    public_readings,
    warn_columns,
)
from secretballot.linear._columns import ColumnChoice
from secretballot.linear._fit_columns import FitColumns, read_directions
from secretballot.linear._read_rows import ReadRows, RowReader
from secretballot.linear._response import Response
from secretballot.linear._settings import Settings
from secretballot.tables._declared_columns import check_readable_numbers
from secretballot.tables._frames import (
    as_table,
    check_table,
    column_names,
    column_remedies,
    complex_error,
    dense_columns,
    row_shape,
)
from secretballot.tables._levels import Levels, check_levels
from secretballot.tables._people import People, check_unit
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._private_rows import Chunk, PrivateRows
from secretballot.tables._public_data import (
    PublicData,
    check_no_shared_rows,
    declared_private,
    public_rows,
)
from secretballot.tables._table_checks import (
    check_row_order,
    check_table_kinds,
    check_target_left_out,
    check_text_reader,
    warn_private_extremes,
    warn_repeated_rows,
)

#: Function that checks a table, given its name for errors; the estimator stores column names.
Validate = Callable[[ArrayLike, str], ArrayLike]

#: Largest number of words that an error suggests to a step that reads texts.
_FEW_WORDS = 256


@dataclass(frozen=True)
class Population:
    """Number of people, and weights of their vectors. All of it is public."""

    n_units: int  # rows, or owners
    total: float  # sum of their weights
    n_people: float  # number of people of equal weight with the same precision
    weight: float | dict[str, float]  # of a person's vector, per level where there are levels
    levels: Levels | None = None

    @classmethod
    def of(cls, n: int, levels: Levels | None = None) -> Population:
        if levels is None:
            return cls(n, float(n), float(n), 1.0)
        counts, weights = levels.people, levels.weights
        total = float(counts @ weights)
        return cls(
            n,
            total,
            total**2 / float(counts @ weights**2),
            dict(zip(levels.names, weights.tolist(), strict=True)),
            levels,
        )

    @property
    def least_weight(self) -> float:
        return min(self.weight.values()) if isinstance(self.weight, dict) else self.weight

    @property
    def note(self) -> dict[str, object]:
        """Public facts for the ledger about the weights of vectors."""
        return {} if self.levels is None else self.levels.ledger_note


@dataclass(frozen=True)
class FitInput:
    """Checked input of one fit; lives as long as the fit."""

    private: PrivateRows[ReadRows]
    columns: FitColumns
    population: Population
    response: Response
    # (n_columns,): 1 for columns whose effect increases, -1 where it decreases, 0 for all others.
    directions: NDArray[np.int8]
    readings: ColumnReadings | None  # of public columns, before they have bins


def read_tables(
    settings: Settings,
    validate: Validate,
    X: ArrayLike,
    y: ArrayLike | None,
    X_public: ArrayLike | PublicData | None,
    owners: ArrayLike | None,
    budgets: ArrayLike | None,
) -> FitInput:
    """Check the arguments of a fit of rows in memory, before anything is spent."""
    if y is None:
        raise ValueError(f"{settings.estimator} requires y to be passed, but the target y is None.")
    for name, values in (("y", y), ("owners", owners), ("budgets", budgets)):
        check_row_order(name, values, X)
    if not isinstance(settings.features, str) and X_public is not None:
        rows = X_public.X if isinstance(X_public, PublicData) else X_public
        check_text_reader(settings.features, rows, "X_public", "features", most_words=_FEW_WORDS)
    table, accountant = private_table(X), settings.accountant
    n_rows = _num_samples(table)
    response, targets = settings.answer.read(y, n_rows)
    people = People.from_owners(accountant, owners, n_rows)
    levels = None if budgets is None else check_levels(budgets, n_rows, owners, accountant)
    pool = None if X_public is None else validate(public_rows(X_public, X), "X_public")
    is_by_name = False
    if pool is not None and settings.columns is not None:
        is_by_name = None not in (column_names(table), column_names(pool))
    if pool is None or is_by_name:
        # By name, either table may lack columns that are not read.
        validate(table, "")
    choice = ColumnChoice.of(settings.columns, table if pool is None or is_by_name else pool)
    n_given = {row_shape(rows) for rows in (table, pool) if rows is not None}
    table = choice.select(table)
    check_target_left_out(table, y)
    if accountant.unit == "row":
        warn_repeated_rows(X)
    readings = None
    if pool is None:
        columns = FitColumns.declared(settings, table, choice)
    else:
        shown = choice.select(pool, "X_public")
        check_table_kinds(table, shown)
        private_pool = declared_private(X_public)
        if is_by_name and n_given != {(choice.n_columns,)} and not private_pool:
            check_no_shared_rows(shown, table)  # whole rows could not be compared
        columns = FitColumns.public(settings, pool, choice, may_be_private=private_pool)
        readings = public_readings(columns.given, columns.categories)
    directions = read_directions(settings, response, choice)
    private = PrivateRows.of_table(table, targets, people, levels)
    data = _input(private, columns, response, directions, readings)
    rows = data.private.load(0)
    read = rows.cells_read()
    warn_private_extremes("bounds", columns.bounds, read)
    if pool is None:
        check_readable_numbers(rows.cells(), read, columns.bounds)
    if readings is not None:
        warn_columns(readings)
    # Names of private columns are public; public rows may have none.
    named = replace(columns, schema=columns.schema.named_like(table))
    return replace(data, columns=named)


def _input(
    rows: PrivateRows[Chunk],
    columns: FitColumns,
    response: Response,
    directions: NDArray[np.int8],
    readings: ColumnReadings | None,
) -> FitInput:
    population = Population.of(rows.n_people, rows.levels)
    weights = np.ones(1) if rows.levels is None else rows.levels.weights
    reader = RowReader(columns.schema, columns.choice, response, population.total, weights)
    return FitInput(rows.read(reader.read), columns, population, response, directions, readings)


def private_table(X: ArrayLike) -> ArrayLike:
    """Check that private rows are a table, whatever their cells are."""
    _check_two_dimensions(X, "X")
    X = dense_columns(X)
    if hasattr(X, "columns"):
        if _num_samples(X) == 0 or 0 in np.shape(X):
            check_array(X)
        return X
    X = X if isinstance(X, list | tuple) else np.asarray(X)
    shape = (_num_samples(X), *row_shape(X))
    # The shape alone is checked: cells, and the type that they give to all, are private.
    check_array(np.zeros(shape, dtype=np.int8), input_name="X")
    return np.asarray(as_table(X, None, "X"))


def _check_two_dimensions(X: ArrayLike, name: str) -> None:
    check_table(X, name)
    if issparse(X):
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required: pass "
            f"{name}.toarray(), or take PrivateTeacherEnsemble with an estimator of sparse rows."
        )
    if len(getattr(X, "shape", ())) > 2:
        raise ValueError(
            f"Found array with dim {np.ndim(X)} for {name}, while dim <= 2 is required: give "
            f"rows of columns, such as {name}.reshape(len({name}), -1)."
        )


def check_public_table(
    model: BaseEstimator, has_transformer: bool, X: ArrayLike, *, reset: bool, name: str = "X"
) -> ArrayLike:
    """Return public rows as an array of numbers, or a data frame as it is.

    The input of a user's transformer is not checked.
    """
    _check_two_dimensions(X, name)
    X = dense_columns(X)
    try:
        if has_transformer or hasattr(X, "columns"):
            if not has_transformer and np.shape(X)[1:] == (0,):
                check_array(X)
            with column_remedies(model, X, name):
                validate_data(model, X, reset=reset, skip_check_array=True)
            if _num_samples(X) == 0:
                raise ValueError(f"found array with 0 sample(s) in {name}; give at least one.")
            return X
        if isinstance(X, list | tuple) and any(isinstance(row, Mapping) for row in X):
            as_table(X, None, name)  # raises the error of fits; scikit-learn's is a TypeError
        finite: bool | str = "allow-nan" if name == "X_public" else False
        checked: ArrayLike = validate_data(
            model, X, reset=reset, dtype=np.float64, ensure_all_finite=finite
        )
        return checked
    except ValueError as error:
        if "Complex data" in str(error):
            raise complex_error(name) from None
        if TEXT_ERROR in str(error):
            has_names = not reset and hasattr(model, "feature_names_in_")
            columns = ", columns=model.feature_names_in_" if has_names else ""
            raise ValueError(
                f"{name} is an array that holds texts, of which numbers can't be made. Pass a data "
                f"frame, as pandas.DataFrame({name}{columns}).infer_objects() makes: its columns "
                "of texts are categories."
            ) from None
        if name == "X":
            raise
        message = str(error).replace("X has", f"{name} has", 1)
        if "infinity" in message:
            message = f"Input {name} contains infinity: leave such rows out, or give NaN."
        raise ValueError(message) from None


def read_parts(
    settings: Settings,
    validate: Validate,
    X: PrivateParts,
    y: ArrayLike | None,
    X_public: ArrayLike | PublicData | None,
    owners: ArrayLike | None,
    budgets: ArrayLike | None,
) -> FitInput:
    """Check the arguments of `fit`, and group rows by owner; no more is read before a release."""
    X.check_alone(y=y, owners=owners, budgets=budgets)
    accountant = settings.accountant
    check_unit(accountant, owners=True)
    response = settings.answer.of_columns(X.y)
    empty = X.empty_frame()
    pool = None if X_public is None else validate(public_rows(X_public, None), "X_public")
    if pool is None:
        validate(empty, "")
    elif column_names(pool) is None:
        X.check_columns(None)
    choice = ColumnChoice.of(settings.columns, empty if pool is None else pool)
    texts = X.check_columns(list(choice.names))
    readings = None
    if pool is None:
        columns = FitColumns.declared(settings, choice.select(empty), choice)
    else:
        private_pool = declared_private(X_public)
        columns = FitColumns.public(settings, pool, choice, may_be_private=private_pool)
        readings = public_readings(columns.given, columns.categories)
        warn_columns(readings)
    directions = read_directions(settings, response, choice)
    rows = PrivateRows.of_parts(X, texts, X.y, levels=accountant)
    return _input(rows, columns, response, directions, readings)
