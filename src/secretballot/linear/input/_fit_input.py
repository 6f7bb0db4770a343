"""Checked input of a fit: private rows, their classes and weights, and the public rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._public_data import PublicData, declared_private, public_rows
from secretballot.ensemble._public_rows import warn_categories_left_out
from secretballot.ensemble.individual._levels import Levels, check_levels
from secretballot.linear.features import (
    AdditiveBins,
    Categories,
    ColumnChoice,
    ColumnReadings,
    FeatureMap,
    PublicColumn,
    days_by_key,
    declared_readings,
    in_days,
    public_columns,
    public_readings,
    warn_columns,
)
from secretballot.linear.input._monotonic_cst import read_directions
from secretballot.linear.input._private_source import PrivateSource, TableSource
from secretballot.linear.rounds import Response
from secretballot.tables._cells import missing_cells
from secretballot.tables._column_bounds import Bounds, date_bounds, read_bounds
from secretballot.tables._declared_columns import check_kind_of_bounds, check_readable_numbers
from secretballot.tables._file_columns import check_file_columns, check_header
from secretballot.tables._fitted_columns import column_remedies
from secretballot.tables._frames import (
    as_table,
    check_table,
    column_names,
    dense_columns,
    row_shape,
)
from secretballot.tables._people import People
from secretballot.tables._private_extremes import warn_private_extremes
from secretballot.tables._repeated_rows import warn_repeated_rows
from secretballot.tables._row_order import check_row_order
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._shared_rows import check_no_shared_rows
from secretballot.tables._table_kinds import check_table_kinds
from secretballot.tables._target_column import check_target_left_out
from secretballot.tables._text_readers import check_text_reader

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel

#: Most declared categories of a column. The time of a fit grows with their cube: 0.7, 2, 27 and 280
#: seconds with 100, 300, 1,000 and 2,000 of them.
_MOST_CATEGORIES = 1_000
#: Columns that an error lists.
_MOST_NAMED = 20
#: Features that an error names for a step that reads texts, of the 500 that are taken.
_FEW_WORDS = 256


@dataclass(frozen=True)
class FitInput:
    """Checked input of one fit; lives as long as the fit."""

    private: PrivateSource
    response: Response
    total: float  # sum of the weights of all rows or owners
    n_people: float  # number of rows or owners of equal weight with the same precision
    n_units: int
    weight: float | dict[str, float]  # weight of a row or owner, per level where there are levels
    levels: Levels | None
    X_public: ArrayLike | None
    schema: RowSchema
    public_may_be_private: bool
    # (n_columns,): 1 for columns whose effect increases, -1 where it decreases, 0 for all others.
    directions: NDArray[np.int8]
    choice: ColumnChoice  # the columns that are read
    # Columns whose cells are numbers of days here, in private and public rows.
    days: Mapping[Hashable, str]
    columns: Sequence[PublicColumn]  # public columns as they were given; none without public rows

    @property
    def names(self) -> list[Hashable]:
        return list(self.choice.names)

    def readings(self, model: LinearModel, features: FeatureMap) -> ColumnReadings:
        """Return the readings of all columns, with the bins of these features."""
        bins = features if isinstance(features, AdditiveBins) else None
        if self.X_public is None:
            assert bins is not None
            return declared_readings(bins, self.days)
        return public_readings(self.columns, declared_categories(model, self.names), bins)

    def public_columns(self, categories: Categories) -> list[PublicColumn]:
        assert self.X_public is not None
        return public_columns(self.X_public, categories, self.names)


def check_input(
    model: LinearModel,
    X: ArrayLike,
    y: ArrayLike | None,
    X_public: ArrayLike | PublicData | None,
    owners: ArrayLike | None,
    budgets: ArrayLike | None,
) -> FitInput:
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    for name, values in (("y", y), ("owners", owners), ("budgets", budgets)):
        check_row_order(name, values, X)
    if not isinstance(model.features, str) and X_public is not None:
        rows = X_public.X if isinstance(X_public, PublicData) else X_public
        check_text_reader(model.features, rows, "X_public", "features", most_words=_FEW_WORDS)
    table = private_table(X)
    response, targets = model._read_response(y, table)
    n_rows = _num_samples(table)
    assert model.accountant is not None
    people = People.from_owners(model.accountant, owners, n_rows)
    levels = None if budgets is None else check_levels(budgets, n_rows, owners, model.accountant)
    weight: float | dict[str, float] = 1.0
    shares, counts, weights = people.weights, np.array([people.n]), np.ones(1)
    if levels is not None:
        weights = levels.weights
        weight = dict(zip(levels.names, weights.tolist(), strict=True))
        shares, counts = shares * weights[levels.of_row], levels.people
    total = float(counts @ weights)
    pool = None
    if X_public is not None:
        pool = check_public_table(model, public_rows(X_public, X), reset=True, name="X_public")
    else:
        validate_data(model, table, reset=True, skip_check_array=True)
    is_by_name = False
    if pool is not None and model.columns is not None:
        is_by_name = None not in (column_names(table), column_names(pool))
    if is_by_name:
        # Either table may lack columns that are not read.
        validate_data(model, table, reset=True, skip_check_array=True)
    choice = ColumnChoice.of(model.columns, table if pool is None or is_by_name else pool)
    n_given = {row_shape(rows) for rows in (table, pool) if rows is not None}
    table = choice.select(table)
    check_target_left_out(table, y)
    if model.accountant.unit == "row":
        warn_repeated_rows(X)
    if pool is not None:
        pool = choice.select(pool, "X_public")
        check_table_kinds(table, pool)
        if is_by_name and n_given != {(choice.n_columns,)} and not declared_private(X_public):
            check_no_shared_rows(pool, table)  # whole rows could not be compared
    names, columns = list(choice.names), list[PublicColumn]()
    schema, days = row_schema(model, table, pool, names)
    if pool is not None:
        categories = declared_categories(model, names)
        columns = public_columns(pool, categories, names)
        if isinstance(model.features, str):
            checked_bounds(model, columns, categories)
        else:
            pool = schema.read(pool, "X_public").table
        pool = in_days(pool, names, days)
    X_selected = table
    table, misfits = schema.read(X_selected)
    if not choice.is_named:
        misfits = {names[int(str(position))]: rows for position, rows in misfits.items()}
    if pool is not None:
        warn_columns(public_readings(columns, categories))
    given_rows = X if pool is not None else X_selected
    private = TableSource(
        X=choice.select(given_rows) if choice.is_named else given_rows,
        table=table,
        names=names,
        misfits=misfits,
        targets=targets,
        people=people,
        shares=shares,
        total=total,
    )
    _check_declared(model, private, names, without_public_rows=pool is None)
    return FitInput(
        private=private,
        schema=schema.named_like(X_selected),
        response=response,
        total=total,
        n_people=total**2 / float(counts @ weights**2),
        n_units=people.n,
        weight=weight,
        levels=levels,
        X_public=pool,
        public_may_be_private=declared_private(X_public),
        directions=read_directions(model, response, choice),
        choice=choice,
        days=days,
        columns=columns,
    )


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


def _check_declared(
    model: LinearModel,
    private: TableSource,
    names: Sequence[Hashable],
    *,
    without_public_rows: bool,
) -> None:
    """Refuse columns that can't be read; warn of bounds that are private extremes."""
    read = private.cells_read()
    categories = declared_categories(model, names)
    is_declared = model.features in ("auto", "additive") and (
        model.bounds is not None or bool(categories)
    )
    if without_public_rows and is_declared:
        declared_bounds(model, names, categories)  # its own errors first
    if model.bounds is not None:
        numbers = [name for name in names if name not in categories]
        if isinstance(model.bounds, dict):
            numbers = [name for name in numbers if name in model.bounds]
        bounds = read_bounds(model.bounds, numbers)
        warn_private_extremes("bounds", bounds, read)
    else:
        bounds = {}
    if without_public_rows and is_declared:
        check_readable_numbers(private.cells(), read, bounds)


def row_schema(
    model: LinearModel, X: ArrayLike, X_public: ArrayLike | None, names: Sequence[Hashable]
) -> tuple[RowSchema, Mapping[Hashable, str]]:
    """Return the schema of public rows, or of declared columns, and the columns of days."""
    rows = X if X_public is None else X_public
    if X_public is None:
        check_header(X, "X")
    else:
        check_file_columns(X_public)
    declared, days, left_out = declared_categories(model, names), dict[Hashable, str](), {}
    if not isinstance(model.features, str):
        schema = RowSchema.of(rows, None if X_public is None else declared)
        left_out = schema.left_out
    elif X_public is None:
        days = date_bounds(model.bounds, [name for name in names if name not in declared])
        is_number = [name not in declared for name in names]
        schema = RowSchema.of_kinds(rows, is_number, days=days_by_key(rows, names, days))
    else:
        columns = public_columns(rows, declared, names)
        days = {column.name: column.days for column in columns if column.days}
        numbers = [column.is_number and column.name not in declared for column in columns]
        nullable = [bool(missing_cells(column.values).any()) for column in columns]
        schema = RowSchema.of_kinds(rows, numbers, nullable, days=days_by_key(rows, names, days))
        left_out = {column.name: column.n_left_out for column in columns if column.n_left_out}
    warn_categories_left_out(left_out)
    return schema, days


def check_public_table(
    model: LinearModel, X: ArrayLike, *, reset: bool, name: str = "X"
) -> ArrayLike:
    """Return public rows as an array of numbers, or a data frame as it is.

    The input of a user's transformer is not checked.
    """
    has_transformer = not isinstance(model.features, str)
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
        finite: bool | str = "allow-nan" if name == "X_public" else False
        checked: ArrayLike = validate_data(
            model, X, reset=reset, dtype=np.float64, ensure_all_finite=finite
        )
        return checked
    except ValueError as error:
        if "could not convert string to float" in str(error):
            raise ValueError(
                f"{name} is an array that holds texts, of which numbers can't be made. Pass a data "
                f"frame, as pandas.DataFrame({name}).infer_objects() makes: its columns of texts "
                "are categories."
            ) from None
        if name == "X":
            raise
        message = str(error).replace("X has", f"{name} has", 1)
        if "infinity" in message:
            message = f"Input {name} contains infinity: leave such rows out, or give NaN."
        raise ValueError(message) from None


def declared_categories(model: LinearModel, names: Sequence[Hashable]) -> Categories:
    declared = {} if model.categories is None else dict(model.categories)
    chosen = "" if model.columns is None else ", or columns= leaves out"
    for name, categories in declared.items():
        if name not in names:
            raise ValueError(
                f"categories names the column {name!r}, which X does not have{chosen}. Name one "
                f"of {list(names)[:_MOST_NAMED]!r}."
            )
        if isinstance(categories, str) or not hasattr(categories, "__len__") or not len(categories):
            raise ValueError(f"categories[{name!r}]={categories!r} is no list of categories.")
        if len(categories) > _MOST_CATEGORIES:
            raise ValueError(
                f"categories[{name!r}] has {len(categories):,} categories, and at most "
                f"{_MOST_CATEGORIES:,} are taken of a column: noise would hide the effects of so "
                "many. Declare the frequent ones alone (all others share a bin), or groups of "
                "them; leave a column of identifiers out, of categories= and with columns=[...]."
            )
    return declared


def declared_bounds(
    model: LinearModel, names: Sequence[Hashable], categories: Categories
) -> Bounds:
    numbers = [name for name in names if name not in categories]
    bounds = read_bounds(model.bounds, numbers)
    missing = [name for name in numbers if name not in bounds]
    if missing:
        raise ValueError(
            f"bounds says nothing of the column {missing[0]!r}: give it (low, high), or "
            "categories, or give public rows (X_public)."
        )
    return bounds


def checked_bounds(
    model: LinearModel, columns: Sequence[PublicColumn], categories: Categories
) -> Bounds:
    """Return the bounds declared beside public rows, or raise ValueError."""
    if model.bounds is None:
        return {}
    numbers = [
        column.name for column in columns if column.is_number and column.name not in categories
    ]
    bounds = read_bounds(model.bounds, numbers)
    declared_days = date_bounds(model.bounds, numbers)
    for column in columns:
        if column.name in bounds:
            check_kind_of_bounds(column.name, column.days, declared_days.get(column.name, ""))
    return bounds
