"""Categories of a data frame's columns: taken from the public table, not from the private one."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from secretballot._errors import PrivacyLeakWarning, warn


class Categorised(NamedTuple):
    """Private rows, and the columns whose categories are still those of all private rows."""

    X: Any
    learned: list[str]


def public_categories(X: Any, X_public: Any) -> Categorised:
    """Give the categorical columns of a private data frame the categories of the public one.

    A column's data type lists the categories of all its rows, and the teachers' parts keep that
    list: one new category can change the codes that every teacher sees. A value that the public
    column doesn't know becomes a missing one, in its own row alone.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return _of_pandas(X, X_public, pandas)
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.DataFrame):
        return _of_polars(X, X_public, polars)
    return Categorised(X, [])


def _of_pandas(X: Any, X_public: Any, pandas: Any) -> Categorised:
    kind = pandas.CategoricalDtype
    comparable = isinstance(X_public, pandas.DataFrame)
    X, learned = X.copy(deep=False), []
    for at, (name, dtype) in enumerate(X.dtypes.items()):
        if not isinstance(dtype, kind):
            continue
        public = X_public.dtypes.iloc[at] if comparable else None
        if isinstance(public, kind):
            known = X.iloc[:, at].cat.set_categories(public.categories, ordered=public.ordered)
            X.isetitem(at, known)
        else:
            learned.append(str(name))
    return Categorised(X, learned)


def _of_polars(X: Any, X_public: Any, polars: Any) -> Categorised:
    learned = []
    for name, dtype in X.schema.items():
        if not isinstance(dtype, polars.Categorical | polars.Enum):
            continue
        public = X_public.schema[name] if isinstance(X_public, polars.DataFrame) else None
        if isinstance(public, polars.Enum):
            text = polars.col(name).cast(polars.String)
            X = X.with_columns(text.cast(public, strict=False))
        else:
            learned.append(name)
    return Categorised(X, learned)


def warn_categories_learned(columns: list[str]) -> None:
    """Say that categories were read off the private table."""
    warn(
        f"the categories of {', '.join(map(repr, columns))} are those of the private table's data "
        "type: a category that only one row has can change the codes that all teachers see, "
        "outside the guarantee. Give these columns of X_public a data type that lists the "
        "categories (in polars an Enum), which X then takes, or give both as texts.",
        PrivacyLeakWarning,
    )
