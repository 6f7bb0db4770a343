"""Columns that a file's index, or a wrong separator, has left in a table."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from secretballot._base._errors import warn
from secretballot.tables._cells import read_days, read_numbers
from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._frames import columns_of, container_kind, public_table

#: Separators of columns that CSV readers take for a part of a name.
_SEPARATORS = {"\t": "tabs", ";": "semicolons"}
#: Names of row numbers that nobody gave: of pandas, for columns without a name and for an index.
_UNNAMED = re.compile(r"\s*|None|nan|Unnamed: \d+(_level_\d+)?|index|level_\d+")
#: Fewest public rows that rise or fall by more than chance: 2 in 8! orders do.
_FEWEST_ROWS = 8
#: Columns that a warning names.
_MOST_WARNED = 5


def check_header(X: Any, name: str) -> None:
    """Raise ValueError if the names of columns hold the separators of the file."""
    names = [column for column in getattr(X, "columns", ()) if isinstance(column, str)]
    for separator, plural in _SEPARATORS.items():
        if names and all(separator in column for column in names):
            raise ValueError(
                f"{name} has the column {names[0]!r}, whose name holds {plural}: they separate the "
                f"columns of its file, and were read as texts. Read the file by them, "
                f"pandas.read_csv(..., sep={separator!r})."
            )


def check_file_columns(X_public: Any) -> None:
    """Refuse public rows with a wrong separator, or an unnamed column that numbers the rows.

    Named columns that look like row numbers are warned of.
    """
    check_header(X_public, "X_public")
    if container_kind(X_public) in ("", "column", "list") or issparse(X_public):
        return
    table = public_table(X_public, "X_public")
    if len(table.shape) > 2:
        return
    names = list(getattr(table, "columns", range(table.shape[1])))
    numbered = [
        column
        for column, values in zip(names, columns_of(table), strict=True)
        if _is_in_order(column, values)
    ]
    for column in numbered:
        if _UNNAMED.fullmatch(str(column)):
            raise ValueError(
                f"the column {column!r} of X_public seems to number the rows of a file: its values "
                "all differ, and rise or fall from row to row. A model would learn the order of "
                f"the file. Leave it out, X.drop(columns={column!r}) and the same of X_public "
                "(pandas.read_csv(..., index_col=0) does), or name it if it is meant."
            )
    if numbered and len(names) > 1:
        shown = ", ".join(map(repr, numbered[:_MOST_WARNED]))
        ellipsis = ", ..." if len(numbered) > _MOST_WARNED else ""
        warn(
            f"X_public: the values of {shown}{ellipsis} all differ, and rise or fall from row to "
            "row, as row numbers do: a model would learn the order of the file. Leave such columns "
            "out, or shuffle the public rows if they are sorted by a column that is meant."
        )


def _is_in_order(column: Hashable, values: Any) -> bool:
    if len(values) < _FEWEST_ROWS:
        return False
    kind = ColumnSchema.of(column, values).kind
    if kind not in ("number", "time", "duration"):
        return False
    x = read_numbers(values) if kind == "number" else read_days(values, kind)
    steps = np.diff(x)  # none is above or below 0 beside a missing cell
    return bool((steps > 0).all() or (steps < 0).all())
