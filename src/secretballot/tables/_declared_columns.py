"""Private cells that are not what was declared of their columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot.tables._cells import (
    missing_cells,
    read_days,
    read_numbers,
)

#: Kinds of cells that need bounds of their own kind, with an example of such bounds.
_KINDS = {
    "time": "('2020-01-01', '2024-12-31')",
    "duration": "(pandas.Timedelta(0), pandas.Timedelta(days=30))",
}


def check_kind_of_bounds(name: Hashable, days: str, declared_days: str) -> None:
    """Refuse bounds of a public column of times or durations that are none, or the reverse."""
    if days == declared_days:
        return
    pair = f"{days}s, such as {_KINDS[days]}" if days else "numbers, (low, high)"
    raise ValueError(
        f"the column {name!r} of X_public holds {days or 'number'}s, and bounds[{name!r}] are "
        f"{f'{declared_days}s' if declared_days else 'numbers'}. Nothing was released or spent. "
        f"Declare {pair}, by column: bounds={{{name!r}: ...}}; or leave these bounds out."
    )


def check_readable_numbers(
    cells: Mapping[Hashable, ArrayLike],
    as_read: Mapping[Hashable, ArrayLike],
    bounds: Mapping[Hashable, tuple[float, float]],
) -> None:
    """Refuse columns with declared bounds of which no cell (private, as read) is a number.

    Such a table is malformed. Cells are not compared with the bounds here: that costs budget.
    """
    refuse_unreadable(bounds, count_readable(cells, as_read, bounds))


def count_readable(
    cells: Mapping[Hashable, ArrayLike],
    as_read: Mapping[Hashable, ArrayLike],
    bounds: Mapping[Hashable, tuple[float, float]],
) -> NDArray[np.intp]:
    """Count, by column, numbers and present cells; without numbers, times and durations."""
    counts = np.zeros((len(bounds), 2 + len(_KINDS)), dtype=np.intp)
    for row, name in zip(counts, bounds, strict=True):
        row[0] = np.isfinite(read_numbers(as_read[name])).sum()
        row[1] = (~missing_cells(cells[name])).sum()
        if not row[0]:
            row[2:] = [np.isfinite(read_days(cells[name], kind)).sum() for kind in _KINDS]
    return counts


def refuse_unreadable(
    bounds: Mapping[Hashable, tuple[float, float]], counts: NDArray[np.intp]
) -> None:
    """Raise ValueError as `check_readable_numbers`, given the counts of `count_readable`."""
    for name, (n_numbers, n_present, *n_days) in zip(bounds, counts.tolist(), strict=True):
        if not n_present or n_numbers:
            continue
        for n, (kind, pair) in zip(n_days, _KINDS.items(), strict=True):
            if 2 * n > n_present:
                raise ValueError(
                    f"the column {name!r} holds {kind}s, and bounds[{name!r}] are none. Nothing "
                    f"was released or spent. Declare {kind}s, such as {pair}. {NOT_FOR_PUBLICATION}"
                )
        raise ValueError(
            f"no private cell of the column {name!r} can be read as the number or date that "
            f"bounds[{name!r}] declares. Nothing was released or spent. Pass numbers as numbers "
            "(with decimal points), and read dates with "
            "pandas.to_datetime(X[column], dayfirst=True), if that is how they are written. "
            f"{NOT_FOR_PUBLICATION}"
        )


def undeclared_cells(
    as_read: Mapping[Hashable, NDArray[np.float64]],
    bounds: Mapping[Hashable, tuple[float, float]],
    categories: Mapping[Hashable, Sequence[Hashable]],
) -> Iterator[tuple[Hashable, NDArray[np.bool_]]]:
    """Yield, by column, the mask of private cells beyond their bounds or declared categories.

    Cells that can't be read are outside, missing ones are not. A row's mask depends on it alone.
    """
    for name, (low, high) in bounds.items():
        x = as_read[name]
        yield name, (x < low) | (x > high)
    for name in categories:
        yield name, as_read[name] < 0
