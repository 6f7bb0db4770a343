"""What a fit works on: private rows, their classes and weights, and the public rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_array, validate_data

from secretballot._row_order import check_row_order
from secretballot._sklearn_compat import _num_samples
from secretballot.ensemble import (
    Levels,
    check_levels,
    check_targets,
    declared_classes,
    declared_private,
    encode,
    learned_classes,
    public_rows,
    warn_categories_left_out,
)
from secretballot.linear._columns import Column, names_of, public_columns
from secretballot.schema import RowSchema, as_table, check_table
from secretballot.scoring import People


@dataclass(frozen=True)
class FitData:
    """Checked input of one fit; lives as long as the fit.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_rows,)
        Positions of the rows' classes.
    shares : ndarray of shape (n_rows,)
        What each row's vector is multiplied by.
    total, n_people : float
        Sum of the weights of all rows or owners; how many of equal weight they are as good as.
    weight : float or dict of str to float
        Of people, per level where there are levels.
    """

    X: Any
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    classes_learned: bool
    shares: NDArray[np.float64]
    total: float
    n_people: float
    n_units: int
    weight: float | dict[str, float]
    levels: Levels | None
    X_public: Any
    schema: RowSchema
    misfits: Mapping[Any, NDArray[np.bool_]]
    public_may_be_private: bool


def prepared_data(model: Any, X: Any, y: Any, X_public: Any, owners: Any, budgets: Any) -> FitData:
    """Check what `fit` was given."""
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    for name, values in (("y", y), ("owners", owners), ("budgets", budgets)):
        check_row_order(name, values, X)
    given = X
    X = private_table(X)
    codes = check_targets(y)
    if codes.ndim == 2:
        raise ValueError(
            f"y has shape {codes.shape}: several labels a row are for PrivateTeacherEnsemble; pass "
            "one class a row, of shape (n_samples,)."
        )
    check_consistent_length(X, codes)
    known = learned_classes(codes) if model.classes is None else declared_classes(model.classes)
    positions = encode(codes, known, "y")
    n_rows = _num_samples(X)
    people = People.of(model.accountant, owners, n_rows)
    levels = None if budgets is None else check_levels(budgets, n_rows, owners, model.accountant)
    weight: float | dict[str, float] = 1.0
    shares, counts, each = people.weights, np.array([people.n]), np.ones(1)
    if levels is not None:
        # With these, all levels use their budgets up together.
        each = np.sqrt(levels.rates / levels.rates.min())
        weight = dict(zip(levels.names, each.tolist(), strict=True))
        shares, counts = shares * each[levels.of_row], levels.people
    total = float(counts @ each)
    pool = None
    if X_public is not None:
        pool = checked_table(model, public_rows(X_public, given), reset=True, name="X_public")
    elif not hasattr(X, "columns"):
        X = _cells_of(X)
    schema = _schema(model, X, pool)
    if pool is not None and not isinstance(model.features, str):
        pool = schema.read(pool, "X_public").table
    X, misfits = schema.read(X)
    validate_data(model, X, reset=True, skip_check_array=True)
    return FitData(
        X=X,
        schema=schema,
        misfits=misfits,
        classes=known,
        codes=positions,
        classes_learned=model.classes is None,
        shares=shares,
        total=total,
        n_people=total**2 / float(counts @ each**2),
        n_units=people.n,
        weight=weight,
        levels=levels,
        X_public=pool,
        public_may_be_private=declared_private(X_public),
    )


def private_table(X: Any) -> Any:
    """Refuse private rows that are no table, whatever their cells are."""
    _check_flat(X, "X")
    if isinstance(X, list | tuple):
        # A list in one cell alone would leave NumPy without a shape.
        if _num_samples(X) == 0 or (isinstance(X[0], list | tuple) and not X[0]):
            check_array(X)
        return X
    if hasattr(X, "columns"):
        if _num_samples(X) == 0 or 0 in np.shape(X):
            check_array(X)
        return X
    if issparse(X):
        return check_array(X)
    table = np.asarray(X)
    # The shape alone: what a cell holds, and which type it gives to all, is not looked at.
    check_array(np.zeros(table.shape, dtype=np.int8), input_name="X")
    return table


def _cells_of(X: Any) -> NDArray[Any]:
    """Return private rows as an array; the cells of a list keep their types.

    NumPy gives all cells of a list one type: a text makes "1.0" of 1.0, a number 1.0 of True.
    """
    if not isinstance(X, list | tuple):
        return np.asarray(X)
    first = X[0]
    if isinstance(first, str) or not hasattr(first, "__len__"):
        check_array(np.zeros(len(X), dtype=np.int8), input_name="X")  # one axis is refused
    return np.asarray(as_table(X, (len(first),), "X"))


def _check_flat(X: Any, name: str) -> None:
    check_table(X, name)
    if len(getattr(X, "shape", ())) > 2:
        raise ValueError(
            f"Found array with dim {len(X.shape)} for {name}, while dim <= 2 is required: give "
            f"rows of columns, such as {name}.reshape(len({name}), -1)."
        )


def _schema(model: Any, X: Any, X_public: Any) -> RowSchema:
    """Return the schema of public rows, or of what was declared in their place."""
    rows = X if X_public is None else X_public
    declared = declared_categories(model, rows)
    if not isinstance(model.features, str):
        schema = RowSchema.of(rows, declared)
        left_out = schema.left_out
    elif X_public is None:
        names = names_of(rows)
        schema = RowSchema.of_kinds(rows, [name not in declared for name in names])
        left_out = {}
    else:
        columns = public_columns(rows, declared)
        numbers = [column.is_number and column.name not in declared for column in columns]
        schema = RowSchema.of_kinds(rows, numbers)
        left_out = {column.name: column.n_left_out for column in columns if column.n_left_out}
    warn_categories_left_out(left_out)
    return schema


def checked_table(model: Any, X: Any, *, reset: bool, name: str = "X") -> Any:
    """Return public rows as an array of numbers, or a data frame as it is.

    What a transformer of the user's takes is its own affair.
    """
    free = not isinstance(model.features, str)
    _check_flat(X, name)
    try:
        if free or hasattr(X, "columns"):
            if not free and np.shape(X)[1:] == (0,):
                check_array(X)
            validate_data(model, X, reset=reset, skip_check_array=True)
            if _num_samples(X) == 0:
                raise ValueError(f"found array with 0 sample(s) in {name}; give at least one.")
            return X
        finite: bool | str = "allow-nan" if name == "X_public" else False
        return validate_data(model, X, reset=reset, dtype=np.float64, ensure_all_finite=finite)
    except ValueError as error:
        if name == "X":
            raise
        raise ValueError(str(error).replace("X has", f"{name} has", 1)) from None


def declared_categories(model: Any, X: Any) -> Mapping[Any, Any]:
    """Return the declared categories of columns, or raise ValueError."""
    names = names_of(X) if hasattr(X, "shape") else []
    declared = {} if model.categories is None else dict(model.categories)
    for name, known in declared.items():
        if name not in names:
            raise ValueError(f"categories names the column {name!r}, which X does not have.")
        if isinstance(known, str) or not hasattr(known, "__len__") or not len(known):
            raise ValueError(f"categories[{name!r}]={known!r} is no list of categories.")
    return declared


def declared_bounds(
    model: Any, X: Any, categories: Mapping[Any, Any]
) -> dict[Any, tuple[float, float]]:
    """Return the declared bounds of the columns that are numbers, or raise ValueError."""
    names = [name for name in names_of(X) if name not in categories]
    given = _bounds_by_column(model.bounds, names)
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(
            f"bounds says nothing of the column {missing[0]!r}: give it (low, high), or "
            "categories, or give public rows (X_public)."
        )
    return _checked_bounds(given, names)


def check_bounds(model: Any, columns: Sequence[Column], categories: Mapping[Any, Any]) -> None:
    """Raise ValueError for bounds that can't be, given beside public rows."""
    if model.bounds is not None:
        numbers = [each.name for each in columns if each.is_number and each.name not in categories]
        _checked_bounds(_bounds_by_column(model.bounds, numbers), numbers)


def _bounds_by_column(bounds: Any, names: Sequence[Any]) -> Mapping[Any, Any]:
    given = {} if bounds is None else bounds
    if not isinstance(given, Mapping):
        try:
            pairs = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"bounds={given!r} are no numbers; give pairs (low, high).") from None
        if pairs.shape == (2,):
            pairs = np.tile(pairs, (len(names), 1))
        if pairs.shape != (len(names), 2):
            raise ValueError(
                f"bounds has shape {pairs.shape}; give one pair (low, high), one for each of the "
                f"{len(names)} columns of numbers, or a dict of them by column."
            )
        given = dict(zip(names, pairs.tolist(), strict=True))
    return given


def _checked_bounds(
    given: Mapping[Any, Any], names: Sequence[Any]
) -> dict[Any, tuple[float, float]]:
    for name in given:
        if name not in names:
            raise ValueError(f"bounds names {name!r}, which is no column of numbers of X.")
    return {name: _pair(name, given[name]) for name in names if name in given}


def _pair(name: Any, given: Any) -> tuple[float, float]:
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < high - low < math.inf:
        raise ValueError(f"bounds of {name!r} are {given!r}; give (low, high), low below high.")
    return low, high
