"""Columns that a fit reads: known from public rows or declarations, and their directions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import _check_monotonic_cst, _num_samples
from secretballot.linear._additive_bins import FEW_PUBLIC_ROWS, AdditiveBins
from secretballot.linear._classes import ClassResponse
from secretballot.linear._columns import (
    Categories,
    ColumnChoice,
    PublicColumn,
    public_columns,
)
from secretballot.linear._response import Response
from secretballot.linear._settings import AnswerReader, ColumnSettings, Settings
from secretballot.tables._column_bounds import Bounds, date_bounds, read_bounds
from secretballot.tables._columns import Column, Columns, category_texts
from secretballot.tables._declared_columns import check_kind_of_bounds
from secretballot.tables._frames import check_table, column_names, public_table
from secretballot.tables._public_data import public_rows
from secretballot.tables._row_schema import RowSchema, warn_categories_left_out
from secretballot.tables._table_checks import check_file_columns, check_header

#: Most declared categories of a column. The time of a fit grows with their cube: 0.7, 2, 27 and 280
#: seconds with 100, 300, 1,000 and 2,000 of them.
_MOST_CATEGORIES = 1_000
#: Columns that an error lists.
_MOST_NAMED = 20
#: Number of public rows that a fit without them is sized for.
_DECLARED_SIZE = 400


@dataclass(frozen=True)
class FitColumns:
    """Columns of one fit. All of it is public."""

    choice: ColumnChoice
    categories: Categories  # declared
    bounds: Bounds  # declared, of numbers: beside public rows of some, without them of all
    days: Mapping[Hashable, str]  # columns whose cells are numbers of days here
    schema: Columns | RowSchema  # by which rows are read
    X_public: ArrayLike | None = None  # as it is read
    given: Sequence[PublicColumn] = ()  # public columns as they were given
    may_be_private: bool = False  # whether public rows were declared to be that

    @classmethod
    def public(
        cls,
        settings: ColumnSettings,
        X_public: ArrayLike,
        choice: ColumnChoice,
        *,
        may_be_private: bool,
    ) -> FitColumns:
        """Read the columns of public rows; ValueError if one can't be meant."""
        pool = choice.select(X_public, "X_public")
        check_file_columns(pool)
        names = list(choice.names)
        categories = declared_categories(settings, names)
        given = public_columns(pool, categories, names)
        schema: Columns | RowSchema
        if isinstance(settings.features, str):
            readers = tuple(column.reader for column in given)
            schema = Columns(column_names(pool), (len(given),), columns=readers)
            pool = np.column_stack([column.cells for column in given])
            left_out = {each.name: each.n_left_out for each in readers if each.n_left_out}
        else:
            schema = RowSchema.of(pool, categories)
            left_out = schema.left_out
            pool = schema.read(pool, "X_public").table
        warn_categories_left_out(left_out)
        bounds = _bounds_beside(settings, given)
        return cls(
            choice,
            categories,
            bounds,
            {column.name: column.reader.days for column in given if column.reader.days},
            schema,
            pool,
            given,
            may_be_private,
        )

    @classmethod
    def declared(
        cls, settings: ColumnSettings, X: ArrayLike | None, choice: ColumnChoice
    ) -> FitColumns:
        """Read declared columns; `X` has those that are chosen, if there are rows."""
        if settings.bounds is None and not settings.categories:
            raise ValueError(
                "neither X_public nor bounds: what rows look like must come from public rows, or "
                "be declared. Pass fit(X, y, X_public=PublicData(rows)), or bounds=(low, high) of "
                "the columns and categories={column: [...]}."
            )
        if settings.kind != "additive":
            raise ValueError(
                f"features={settings.features!r} is fitted on public rows: pass X_public, or use "
                "features='additive' with bounds."
            )
        names = list(choice.names)
        categories = declared_categories(settings, names)
        numbers = [name for name in names if name not in categories]
        bounds = declared_bounds(settings, names, categories)
        days = date_bounds(settings.bounds, numbers)
        if X is not None:
            check_header(X, "X")
        columns = [
            Column(name, "category", tuple(category_texts(categories[name]).tolist()))
            if name in categories
            else Column(name, days.get(name, "number"))
            for name in names
        ]
        header = None if X is None else column_names(X)
        schema = Columns(header, (len(names),), columns=tuple(columns))
        return cls(choice, categories, bounds, days, schema)

    @property
    def names(self) -> list[Hashable]:
        return list(self.choice.names)

    @property
    def n_public(self) -> int:
        """Number of public rows; without them, the number that a fit is sized for."""
        return _DECLARED_SIZE if self.X_public is None else _num_samples(self.X_public)

    @property
    def has_few_public_rows(self) -> bool:
        return self.X_public is None or self.n_public < FEW_PUBLIC_ROWS

    @property
    def ranges(self) -> Bounds:
        """Range of each number: declared, or of public rows and bounds together."""
        if self.X_public is None:
            return self.bounds
        ranges = dict[Hashable, tuple[float, float]]()
        for column in self.given:
            if column.reader.is_number:
                ends = [*column.numbers, *self.bounds.get(column.name, ())]
                if ends:
                    ranges[column.name] = float(min(ends)), float(max(ends))
        return ranges


def declared_categories(settings: ColumnSettings, names: Sequence[Hashable]) -> Categories:
    chosen = "" if settings.columns is None else ", or columns= leaves out"
    declared = dict(settings.categories or {})
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
    settings: ColumnSettings, names: Sequence[Hashable], categories: Categories
) -> Bounds:
    """Return the bounds of all numbers, or raise ValueError."""
    numbers = [name for name in names if name not in categories]
    bounds = read_bounds(settings.bounds, numbers)
    missing = [name for name in numbers if name not in bounds]
    if missing:
        raise ValueError(
            f"bounds says nothing of the column {missing[0]!r}: give it (low, high), or "
            "categories, or give public rows (X_public)."
        )
    return bounds


def public_columns_of(settings: ColumnSettings, X_public: object) -> FitColumns:
    """Read the columns of public rows without private ones."""
    rows = public_rows(X_public, None)
    check_table(rows, "X_public")
    table = public_table(rows, "X_public")
    choice = ColumnChoice.of(settings.columns, table)
    return FitColumns.public(settings, table, choice, may_be_private=False)


def declared_columns(settings: ColumnSettings) -> FitColumns:
    """Read the columns that bounds and categories name, or raise ValueError."""
    names = tuple(_declared_names(settings))
    choice = ColumnChoice(names, tuple(range(len(names))), names, is_named=True)
    return FitColumns.declared(settings, None, choice)


def _declared_names(settings: ColumnSettings) -> list[Hashable]:
    bounds, categories = settings.bounds, settings.categories or {}
    if settings.columns is not None:
        named: list[Hashable] = np.asarray(settings.columns, dtype=object).ravel().tolist()
        return named
    if isinstance(bounds, Mapping) or (bounds is None and categories):
        return [*dict.fromkeys([*(bounds or {}), *categories])]
    if bounds is not None and np.ndim(bounds) == 2:
        n_columns = len(np.asarray(bounds)) + len(categories)
        others = [position for position in range(n_columns) if position not in categories]
        return [*others[: n_columns - len(categories)], *categories]
    raise ValueError(
        f"X_public=None and bounds={quoted(bounds)}: which columns there are is not known. Pass "
        "the public rows, or name the columns: bounds={column: (low, high)} and "
        "categories={column: [...]}."
    )


def _bounds_beside(settings: ColumnSettings, columns: Sequence[PublicColumn]) -> Bounds:
    """Return the bounds declared beside public rows, or raise ValueError."""
    if settings.bounds is None:
        return {}
    numbers = [column.name for column in columns if column.reader.is_number]
    bounds = read_bounds(settings.bounds, numbers)
    declared_days = date_bounds(settings.bounds, numbers)
    for column in columns:
        if column.name in bounds:
            days = declared_days.get(column.name, "")
            check_kind_of_bounds(column.name, column.reader.days, days)
    return bounds


def read_directions(
    settings: Settings, response: Response, choice: ColumnChoice
) -> NDArray[np.int8]:
    """Return 1, -1 or 0 for each column that is read, or raise ValueError."""
    constraints = settings.monotonic_cst
    if constraints is not None and not response.has_direction:
        raise ValueError(
            f"monotonic_cst={quoted(constraints)}: monotonic constraints are not supported for "
            "multiclass classification. Leave them out, or join the classes to two."
        )
    if constraints is not None and not isinstance(constraints, dict) and np.ndim(constraints) != 1:
        raise ValueError(
            f"monotonic_cst={quoted(constraints)} must have one number for each column."
        )
    numbers: object = constraints
    if constraints is not None and isinstance(response, ClassResponse):
        numbers = _by_number(constraints, settings.answer, response)
    # What scikit-learn reads of the estimator, whose class it names.
    attributes: dict[str, object] = {"n_features_in_": choice.n_columns}
    if choice.is_named and all(isinstance(name, str) for name in choice.all_names):
        attributes["feature_names_in_"] = np.array(choice.all_names, dtype=object)
    table = type(settings.estimator, (), attributes)
    directions: NDArray[np.int8] = _check_monotonic_cst(table(), numbers)
    if directions.any() and settings.features not in ("auto", "additive"):
        raise ValueError(
            f"monotonic_cst={quoted(constraints)} needs features='additive', which has effects of "
            f"single columns. With features={settings.features!r} a column also changes how far a "
            "row is clipped, and with it the contribution of all other columns."
        )
    read = list(choice.positions)
    others = np.flatnonzero(directions)
    others = others[~np.isin(others, read)]
    if len(others):
        name = choice.all_names[others[0]]
        raise ValueError(
            f"monotonic_cst gives the column {name!r} a direction, and columns= leaves it out. "
            "Name it in columns=[...] too, or give it 0."
        )
    return directions[read]


def _by_number(
    constraints: ArrayLike | dict[str, object], answer: AnswerReader, response: ClassResponse
) -> list[object] | dict[str, object]:
    """Return constraints with numbers in place of the classes that they name."""
    names = np.asarray(response.classes).tolist()
    declared = getattr(answer, "classes", None)
    direction_of = partial(
        _class_direction,
        names=names,
        is_sorted=declared is not None and list(declared) == names,
        is_learned=response.classes_learned,
    )
    if isinstance(constraints, dict):
        return {
            column: direction_of(value.item() if isinstance(value, np.generic) else value)
            for column, value in constraints.items()
        }
    return [direction_of(value) for value in np.asarray(constraints, dtype=object).tolist()]


def _class_direction(
    value: object, names: list[object], is_sorted: bool, is_learned: bool
) -> object:
    """Return 1 if `value` names the second of two classes, -1 for the first, or a number as it is.

    Numbers are directions if classes are numbers too, or were named in sorted order.
    """
    is_boolean = all(isinstance(name, bool) for name in (value, *names))
    if all(isinstance(name, Real) for name in names) and not is_boolean:
        return value  # checked by scikit-learn
    if value in names:
        return 1 if value == names[1] else -1
    is_number = isinstance(value, Real)
    if is_number and (value == 0 or is_sorted):
        return value
    choice = "" if is_learned else f": {names[1]!r} or {names[0]!r}"
    problem = (
        "does not say which class rises: classes are sorted, in whatever order they are named"
        if is_number
        else "is none of the classes"
    )
    raise ValueError(
        f"monotonic_cst: {value!r} {problem}. Give the column the class whose probability rises "
        f"with it{choice}."
    )


def refuse_categories(bins: AdditiveBins, directions: NDArray[np.int8]) -> None:
    for column, direction in zip(bins.columns, directions.tolist(), strict=True):
        if direction and column.other_code is not None:
            raise ValueError(
                f"monotonic_cst: the column {column.name!r} has categories, which have no order: "
                "categorical features cannot have monotonic constraints. Give it 0, or pass the "
                "column as numbers."
            )
