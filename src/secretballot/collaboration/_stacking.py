"""Concatenation of tables of any kind."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
from scipy.sparse import issparse, vstack

from secretballot.collaboration._question import Table


def stack_tables(tables: list[Table]) -> Table:
    """Concatenate the rows of tables with the same columns; a single one is returned as it is."""
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
            # Rows of a question may be an array: columns in the same order, without names.
            named = [
                table if isinstance(table, frames.DataFrame) else _to_frame(table, first, frames)
                for table in tables
            ]
            return frames.concat(named, **settings)
    if all(isinstance(table, list) for table in tables):
        return [row for table in tables for row in table]
    return np.concatenate([np.asarray(table) for table in tables])


def _to_frame(table: Table, template: Table, frames: ModuleType) -> Table:
    names = list(template.columns)
    return frames.DataFrame(dict(zip(names, np.asarray(table).T, strict=True)))
