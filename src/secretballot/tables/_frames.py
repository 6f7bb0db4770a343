"""Tables of several libraries: their columns, and data frames made of columns of public types."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse, sparray, spmatrix
from sklearn.utils.validation import validate_data

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._numbers import check_no_public_data, check_unmasked
from secretballot._base._sklearn_compat import _safe_indexing
from secretballot.tables._cells import check_of_cell
from secretballot.tables._column_schema import ColumnSchema, dense_type
from secretballot.tables._private_parts import PrivateParts

#: Rows of features; data frames are array-like.
Rows: TypeAlias = ArrayLike | sparray | spmatrix
#: Beginning of scikit-learn's error, which its common checks demand.
NAMES_DIFFER = "The feature names should match"


def container_kind(X: Any, table_name: str = "X_public") -> str:
    """Return the kind of a table (see `RowSchema.container`); empty for tables without types."""
    for name in ("pandas", "polars"):
        package = sys.modules.get(name)
        if package is not None and isinstance(X, package.DataFrame):
            return name
        if package is not None and isinstance(X, package.Series):
            return "column"
    if isinstance(X, list | tuple):
        return _container_of_list(X, table_name)
    if issparse(X):
        return "numbers" if X.dtype.kind in "biuf" else ""
    if not isinstance(X, np.ndarray):
        return ""
    if X.ndim == 1:
        return "column"
    return "numbers" if X.dtype.kind in "biuf" else "objects" if X.ndim == 2 else ""


def _container_of_list(X: Sequence[Any], table_name: str) -> str:
    if all(isinstance(row, str) for row in X):
        return "list"
    cells = [row for row in X if isinstance(row, list | tuple | np.ndarray)]
    if len(cells) < len(X) or {np.ndim(row[0] if len(row) else [[]]) for row in cells} != {0}:
        return ""  # dictionaries, images: such lists have no types
    return "numbers" if public_table(X, table_name).dtype.kind in "biuf" else "objects"


def check_table(X: ArrayLike, name: str, *, one_dimension: bool = False) -> None:
    """Refuse tables of other libraries, and a single row without its table."""
    shape = getattr(X, "shape", ())
    check_kind(X, name)
    if isinstance(X, list | tuple):
        shape = (len(X), *row_shape(X))
    if getattr(getattr(X, "dtype", None), "names", None):
        raise ValueError(
            f"{name} is a structured array, whose rows are single cells. Pass a data frame of its "
            f"fields, pandas.DataFrame({name}.ravel())."
        )
    if isinstance(X, PrivateParts):
        raise ValueError(
            f"{name} is a PrivateParts, which fit and score_private take (release the score of a "
            "model on these rows by model.score_private(parts, share=0.05)). Here the rows have to "
            "be in memory: read one file, such as pandas.read_parquet(path)[parts.columns]."
        )
    if hasattr(X, "columns") and container_kind(X) not in ("pandas", "polars"):
        kind = type(X)
        raise ValueError(
            f"{name} is a {kind.__name__} of {kind.__module__.split('.')[0]}, whose types are not "
            "read. Give a data frame of pandas or polars, such as table.to_pandas(), or an array."
        )
    for column, count in Counter(getattr(X, "columns", ())).items():
        if count > 1:
            raise ValueError(
                f"{name} has several columns of the name {column!r}. Rename them, or leave some "
                "out."
            )
    if len(shape) == 1 and not one_dimension:
        raise ValueError(
            f"{name}: expected 2D array, got 1D array instead, of shape {tuple(shape)}. Reshape "
            "your data: array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one sample; "
            "one row of a data frame is frame.iloc[[0]], not frame.iloc[0], and "
            "one column frame[['a']], not frame['a']."
        )


def complex_error(name: str) -> ValueError:
    """Return an error that does not show the table, as scikit-learn's does: it may be private."""
    mark = f" {NOT_FOR_PUBLICATION}" if name == "X" else ""
    return ValueError(
        f"Complex data not supported: {name} holds complex numbers; give real ones.{mark}"
    )


def check_kind(X: Any, name: str) -> None:
    """Refuse what is no table of rows."""
    check_unmasked(name, X)
    check_no_public_data(name, X)
    is_list = isinstance(X, list | tuple)
    if not (is_list or hasattr(X, "shape") or hasattr(X, "columns") or hasattr(X, "__array__")):
        raise ValueError(
            f"{name} is of type {type(X).__name__}, which is no table of rows. Give a data frame, "
            f"an array or a list of rows; read a file first, {name}=pandas.read_csv(...)."
        )


def check_column(values: object, name: str = "y") -> None:
    check_unmasked(name, values)
    check_no_public_data(name, values)
    is_list = isinstance(values, list | tuple)
    if not is_list and getattr(values, "shape", ()) == () and not hasattr(values, "__array__"):
        raise ValueError(
            f"{name} is of type {type(values).__name__}, which is no column of values, one for "
            "each row. Give the column itself, such as table['label'] or an array."
        )


def dense_columns(X: Any) -> Any:
    """Make sparse columns of pandas dense, except those that scikit-learn reads: numbers and 0."""
    if isinstance(X, list | tuple) or container_kind(X) != "pandas":
        return X
    dense = {
        name: dense_type(dtype)
        for name, dtype in X.dtypes.items()
        if dense_type(dtype) is not dtype and (dtype.kind not in "iuf" or dtype.fill_value != 0)
    }
    return X.astype(dense) if dense else X


def as_table(X: Any, shape: tuple[int, ...] | None, name: str) -> Any:
    """Return a list of rows as an array, whose cells keep their types; other tables as they are.

    Sparse ones are of rows then (CSR). `shape` is that of a row; None: that of the first.
    """
    if issparse(X):
        return X.tocsr()  # which has rows and columns to select
    if hasattr(X, "shape") or hasattr(X, "columns"):
        return np.asarray(X) if isinstance(X, np.ndarray) else X  # no matrix
    rows = list(X)
    shape = row_shape(rows) if shape is None else shape
    table = np.empty((len(rows), *shape), dtype=object)
    for index, row in enumerate(rows):
        if isinstance(row, str | Mapping) or not hasattr(row, "__len__") or len(row) != shape[0]:
            is_dict = isinstance(row, Mapping)
            raise ValueError(
                f"{name} has a row that is not a list of {shape[0]} cells. "
                + (f"Of dicts make a data frame, pandas.DataFrame({name}). " if is_dict else "")
                + NOT_FOR_PUBLICATION
            )
        for column, cell in enumerate(row):
            table[index, column] = cell
    return table


def public_table(X: Any, name: str) -> Any:
    """Return a list of public rows as an array, of numbers if all cells are; see `as_table`."""
    table = as_table(X, None, name)
    if isinstance(X, list | tuple) and all(
        isinstance(cell, Real | np.number) for cell in table.ravel()
    ):
        with suppress(OverflowError):
            return table.astype(np.float64)
    return table


def row_shape(X: Any) -> tuple[int, ...]:
    """Return the shape of a row; of a list that of its first row, by its length."""
    if not isinstance(X, list | tuple):
        return np.shape(X)[1:]
    first = X[0] if len(X) else ""
    return (len(first),) if hasattr(first, "__len__") and not isinstance(first, str) else ()


def column_names(X: ArrayLike) -> list[Any] | None:
    """Return the names of a data frame's columns, which may be numbers; None for an array."""
    return list(getattr(X, "columns", ())) or None


def column_keys(X: ArrayLike) -> list[Any]:
    """Return the names of a table's columns; their positions if they have none."""
    return column_names(X) or list(range(np.shape(X)[1]))


def check_names(fit_names: Sequence[Any] | None, X: ArrayLike, name: str) -> None:
    """Refuse rows with texts as column names where those of the fit had none, or the reverse."""
    names = [column for column in column_names(X) or () if isinstance(column, str)]
    fit_names = [column for column in fit_names or () if isinstance(column, str)]
    if names and not fit_names:
        raise ValueError(
            f"{name} has the columns {names[:3]!r}, and the fit was on rows without column names, "
            f"so that their order is not known: pass {name}.to_numpy(), or fit on a data frame."
        )
    if fit_names and not names:
        raise ValueError(
            f"{name} has no column names, and the fit was on a data frame: pass "
            f"pandas.DataFrame({name}, columns=model.feature_names_in_)."
        )


def match_order(X_public: Any, X: Any) -> Any:
    """Order public columns like private ones, if both have names; warn if only one has."""
    is_list = isinstance(X, list | tuple)  # without names, whatever its rows are
    if not container_kind(X_public) or (not is_list and not container_kind(X)):
        return X_public
    names, private_names = column_names(X_public), column_names(X)
    if names is not None and private_names is not None:
        is_reordered = names != private_names and Counter(names) == Counter(private_names)
        return X_public[private_names] if is_reordered else X_public
    numbered = list(range((*row_shape(X), 0)[0]))
    if (names or private_names) not in (None, numbered) and row_shape(X_public) == row_shape(X):
        first, second = ("X_public", "X") if private_names is None else ("X", "X_public")
        warn(
            f"{first} has names of columns and {second} has none: columns go by their position. "
            "Give both as data frames, or both as arrays."
        )
    return X_public


def columns_of(X: ArrayLike) -> list[Any]:
    if isinstance(X, np.ndarray):
        return list(X.T)
    if issparse(X):
        return list(sparse_columns(X, range(np.shape(X)[1])))
    return [_safe_indexing(X, index, axis=1) for index in range(np.shape(X)[1])]


def sparse_columns(X: Any, positions: Iterable[int]) -> Iterator[NDArray[Any]]:
    by_column = X.tocsc()
    for position in positions:
        yield by_column[:, [position]].toarray().ravel()


def make_frame(library: str, columns: Sequence[ColumnSchema], cells: Sequence[NDArray[Any]]) -> Any:
    """Make a data frame of the public types, of cells as `ColumnSchema.plain` returns them."""
    package = sys.modules[library]
    make = _pandas_series if library == "pandas" else _polars_series
    series = [make(column, plain, package) for column, plain in zip(columns, cells, strict=True)]
    if library == "polars":
        return package.DataFrame(series)
    table = package.concat(series, axis=1)
    table.columns = package.Index([column.name for column in columns])
    return table


def _pandas_series(column: ColumnSchema, plain: NDArray[Any], pandas: Any) -> Any:
    dtype = column.dtype
    if column.kind == "category":
        dtype = pandas.CategoricalDtype(list(column.categories), ordered=column.ordered)
        return pandas.Series(pandas.Categorical.from_codes(plain, dtype=dtype))
    if column.kind == "time" and getattr(dtype, "tz", None) is not None:
        return pandas.Series(plain).dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
    if column.kind == "object":
        dtype = object  # types of other libraries: some can't hold a missing cell
    dense = dense_type(dtype)
    if dense is not dtype:
        return _pandas_series(replace(column, dtype=dense), plain, pandas).astype(dtype)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return pandas.Series(plain.astype(dtype))
    return pandas.Series(as_objects(column, plain), dtype=dtype)


def _polars_series(column: ColumnSchema, plain: NDArray[Any], polars: Any) -> Any:
    name, dtype = column.name, column.dtype
    if column.kind == "category":
        # The codes of a Categorical are of all rows of the process.
        categories = polars.Enum(list(map(str, column.categories)))
        return polars.Series(name, as_objects(column, plain).tolist(), dtype=categories)
    if column.kind in ("time", "duration"):
        series = polars.Series(name, plain if plain.dtype != "M8[D]" else plain.astype("M8[ms]"))
        zone = getattr(dtype, "time_zone", None)
        if zone is not None:
            series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return series.cast(dtype)
    cells = as_objects(column, plain)
    if column.kind == "object" and dtype != polars.Object:
        series = [polars.Series(name, [], dtype=dtype)]
        return polars.concat(
            [*series, *(_polars_cell(name, cell, dtype, polars) for cell in cells)]
        )
    return polars.Series(name, cells.tolist(), dtype=dtype)


def _polars_cell(name: Hashable, cell: Any, dtype: Any, polars: Any) -> Any:
    """Return a cell as a series of its own; all together would be read as one type."""
    if isinstance(cell, dtype.to_python() | polars.Series):
        try:
            series = polars.Series(name, [cell], dtype=dtype)
            if series.dtype == dtype:
                return series
        except BaseException as error:
            check_of_cell(error)
    return polars.Series(name, [None], dtype=dtype)


def as_objects(column: ColumnSchema, plain: NDArray[Any]) -> NDArray[Any]:
    """Return the cells of a column as objects, missing ones None."""
    if column.kind == "text":
        return plain
    cells = np.empty(len(plain), dtype=object)
    present = ~column.missing(plain)
    values = plain[present]
    if column.kind == "category":
        cells[present] = np.array([*column.categories, None], dtype=object)[values]
    elif column.kind == "boolean":
        cells[present] = values.astype(bool)
    elif column.kind == "number":
        cells[present] = values.astype(column.exact).tolist()
    else:
        cells[present] = values
    return cells


def validate_columns(estimator: Any, X: Any, name: str = "X", **check: Any) -> Any:
    """Check rows to predict, by scikit-learn's `validate_data`; errors name the remedy."""
    with column_remedies(estimator, X, name):
        return validate_data(estimator, X, reset=False, **check)


@contextmanager
def column_remedies(estimator: Any, X: Any, name: str = "X") -> Iterator[None]:
    """Add the remedy to errors of scikit-learn that say that columns differ from those of a fit."""
    try:
        yield
    except ValueError as error:
        names = getattr(estimator, "feature_names_in_", None)
        table_names = column_names(X)
        message = str(error).rstrip()
        if not message.startswith(NAMES_DIFFER) or names is None or table_names is None:
            raise
        missing = [column for column in names.tolist() if column not in table_names]
        remedy = (
            f"{name} lacks the columns {missing[:5]!r} of the fit: add them, or rename those that "
            "have other names."
            if missing
            else "Pass the columns of the fit, in its order: "
            f"{name}[list(model.feature_names_in_)]."
        )
        raise ValueError(f"{message}\n{remedy}") from None
