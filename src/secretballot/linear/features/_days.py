"""Times and durations of a table as numbers of days."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from secretballot.tables._cells import read_days
from secretballot.tables._frames import column_names, columns_of


def days_by_key(
    X: ArrayLike, names: Sequence[Hashable], days: Mapping[Hashable, str]
) -> dict[Hashable, str]:
    """Return columns of days by their names in a table, or by their positions in an array."""
    keys = names if column_names(X) is not None else range(len(names))
    return {key: days[name] for key, name in zip(keys, names, strict=True) if name in days}


def in_days(X: ArrayLike, names: Sequence[Hashable], days: Mapping[Hashable, str]) -> ArrayLike:
    """Return a table whose times and durations are numbers of days; other columns stay."""
    if not days:
        return X
    table = X if isinstance(X, np.ndarray) else X.__copy__()  # type: ignore[union-attr]
    if isinstance(X, np.ndarray):
        table = X.astype(object)
    for position, (name, values) in enumerate(zip(names, columns_of(X), strict=True)):
        if name not in days:
            continue
        numbers = read_days(values, days[name])
        if isinstance(table, np.ndarray):
            table[:, position] = numbers
        elif hasattr(table, "with_columns"):  # polars
            table = table.with_columns(**{str(name): numbers})
        else:
            table[name] = numbers
    return table
