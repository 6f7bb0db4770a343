"""Order of rows in tables and columns that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn


def check_row_order(name: str, values: object, X: object, name_of_X: str = "X") -> None:
    """Raise ValueError if two objects of pandas have different indexes: rows go by position.

    An index 0, 1, 2, ... may have been made anew: it is warned of, unless the other has the same
    labels in another order.
    """
    index: Any = getattr(X, "index", None)
    labels: Any = getattr(values, "index", None)
    if not hasattr(index, "symmetric_difference") or not hasattr(labels, "symmetric_difference"):
        return
    if len(index) != len(labels) or index.equals(labels):
        return
    is_alike = index.nlevels == labels.nlevels  # labels of several levels equal no others
    if is_alike and index.is_unique and labels.is_unique and index.isin(labels).all():
        raise ValueError(
            f"{name} has the index of {name_of_X} in another order, and rows are matched by "
            f"position: each value would be another row's. Pass {name}.loc[{name_of_X}.index], or "
            f"{name}.to_numpy() if the order is right as it is. {NOT_FOR_PUBLICATION}"
        )
    if not is_plain(index) and not is_plain(labels):
        by_label = f"{name}.loc[{name_of_X}.index], or " if is_alike else ""
        raise ValueError(
            f"{name} has other index labels than {name_of_X}, and rows are matched by position: "
            f"are they of the same rows? Pass {by_label}{name}.to_numpy() if the order is right as "
            f"it is. {NOT_FOR_PUBLICATION}"
        )
    warn(
        f"{name} has other index labels than {name_of_X}, and rows are matched by position: if "
        "rows were left out of one of them alone, each value is another row's. Leave them out of "
        f"both, and then call reset_index(drop=True) of both, or pass {name}.to_numpy() if the "
        f"order is right as it is. {NOT_FOR_PUBLICATION}"
    )


def order_labels(y: Any, names: list[Any] | None) -> Any:
    """Return a table of labels with its columns in the order of the fit; refuse others."""
    columns = list(getattr(y, "columns", ()))
    if not names or columns in ([], names):
        return y
    if len(columns) != len(names) or set(columns) != set(names):
        raise ValueError(
            f"y has the columns {columns[:5]!r}, and the model was fitted to {names[:5]!r}: give "
            "the labels of the fit, or y.to_numpy() if they are the same in this order."
        )
    return y[names]


def is_plain(index: Any) -> bool:
    """Return True for the index 0, 1, 2, ..., which may have been made anew."""
    return index.nlevels == 1 and bool(np.array_equal(index, np.arange(len(index))))


def check_lengths(name: str, values: object, n_values: int, n_rows: int) -> None:
    if n_values != n_rows:
        shape = getattr(values, "shape", ())
        flat = f" Pass {name}.ravel()." if tuple(shape) == (1, n_rows) else ""
        raise ValueError(
            f"X has {n_rows} rows, and {name} has {n_values} entries (inconsistent numbers of "
            f"samples): give one for each row of X, from the same table.{flat}"
        )
