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
    for package, settings in (("pandas", {"ignore_index": True}), ("polars", {})):
        frames = sys.modules.get(package)
        if frames is not None and isinstance(first, frames.DataFrame):
            return frames.concat(tables, **settings)
    if isinstance(first, list):
        return [row for table in tables for row in table]
    return np.concatenate([np.asarray(table) for table in tables])
