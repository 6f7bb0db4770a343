"""Tables under each other, of whatever kind they are."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack


def stacked(tables: list[Any]) -> Any:
    """Return tables of the same columns as one; a single one as it is."""
    first = tables[0]
    if len(tables) == 1:
        return first
    if any(map(issparse, tables)):
        return vstack(tables, format="csr")
    for package, settings in (
        ("pandas", {"ignore_index": True}),
        ("polars", {"how": "vertical_relaxed"}),
    ):
        frames = sys.modules.get(package)
        if frames is not None and isinstance(first, frames.DataFrame):
            # The asked rows may have come as an array: columns in the same order, without names.
            named = [
                each if isinstance(each, frames.DataFrame) else _framed(each, first, frames)
                for each in tables
            ]
            return frames.concat(named, **settings)
    if all(isinstance(table, list) for table in tables):
        return [row for table in tables for row in table]
    return np.concatenate([np.asarray(table) for table in tables])


def _framed(table: Any, like: Any, frames: Any) -> Any:
    names = list(like.columns)
    return frames.DataFrame(dict(zip(names, np.asarray(table).T, strict=True)))
