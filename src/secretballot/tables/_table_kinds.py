"""Private rows that are another kind of table than the public rows: texts beside numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot.tables._cells import missing_cells, read_numbers
from secretballot.tables._frames import (
    as_table,
    column_names,
    columns_of,
    container_kind,
    row_shape,
)

_REMEDY = (
    "Give both as they are before any step, with the steps inside of the estimator, such as "
    "make_pipeline(TfidfVectorizer(), LogisticRegression()); or both after it."
)


def check_table_kinds(X: Any, X_public: Any) -> None:
    """Refuse a table of numbers beside a table of texts.

    A private column beside public numbers is refused if not one of its cells can be read as a
    number. Other misfits are left to the noisy check of public rows.
    """
    kinds = container_kind(X, "X"), container_kind(X_public)
    if "" in kinds:
        return
    is_single = [kind in ("column", "list") for kind in kinds]
    if is_single[0] != is_single[1] or (issparse(X) and kinds[1] != "numbers"):
        # One cell that is no text makes a list of texts another kind.
        mark = f" {NOT_FOR_PUBLICATION}" if isinstance(X, list | tuple) else ""
        raise ValueError(
            f"X and X_public are tables of two kinds: X is {_described(X)}, and X_public is "
            f"{_described(X_public)}. Nothing was released or spent. "
            f"{_column_remedy(X, 'X') or _column_remedy(X_public, 'X_public') or _REMEDY}{mark}"
        )
    if kinds[1] != "numbers" or kinds[0] == "numbers":
        return
    table = as_table(X, None, "X")
    if len(table.shape) != 2 or row_shape(table) != row_shape(X_public):
        return  # refused elsewhere
    for name, values in zip(
        getattr(X, "columns", range(table.shape[1])), columns_of(table), strict=True
    ):
        if np.isnan(read_numbers(values)).all() and not missing_cells(values).all():
            raise ValueError(
                f"X and X_public are tables of two kinds: X_public is {_described(X_public)}, and "
                f"no cell of the column {name!r} of X can be read as a number. Nothing was "
                f"released or spent. {_REMEDY} {NOT_FOR_PUBLICATION}"
            )


def _column_remedy(table: Any, name: str) -> str:
    """Return the remedy where a table stands beside a single column; "" if this is none."""
    kind = container_kind(table, name)
    if kind not in ("pandas", "polars", "objects"):
        return ""
    names = column_names(table)
    column = f"{name}[:, 0]" if names is None else f"{name}[{names[0]!r}]"
    if isinstance(table, list | tuple):
        column = f"[row[0] for row in {name}]"
    return (
        f"Pass one column of both, such as {column}, with the steps that read its texts inside of "
        "the estimator, such as make_pipeline(TfidfVectorizer(), LogisticRegression())."
    )


def _described(X: Any) -> str:
    if issparse(X):
        return "a sparse matrix of numbers"
    kind = container_kind(X)
    if kind in ("column", "list"):
        return "a single column, such as one of texts"
    return "an array of numbers" if kind == "numbers" else "a table of columns"
