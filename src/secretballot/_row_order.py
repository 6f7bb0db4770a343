"""Order of rows in tables and columns that belong together."""

from __future__ import annotations

from typing import Any


def check_row_order(name: str, values: object, X: object) -> None:
    """Raise ValueError if two objects of pandas have the same index in another order.

    Rows are matched by position: each of the `values`, called `name` in the message, would be
    another row's.
    """
    index: Any = getattr(X, "index", None)
    labels: Any = getattr(values, "index", None)
    if not hasattr(index, "symmetric_difference") or not hasattr(labels, "symmetric_difference"):
        return
    if len(index) != len(labels) or index.equals(labels):
        return
    if index.is_unique and labels.is_unique and index.isin(labels).all():
        raise ValueError(
            f"{name} has the index of X in another order, and rows are matched by position: each "
            f"value would be another row's. Pass {name}.loc[X.index], or {name}.to_numpy() if the "
            "order is right as it is."
        )
