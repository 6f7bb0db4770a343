"""Declared bounds and categories that most private rows do not have."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot.schema import cell_text, missing_cells, read_coded_texts, read_numbers


def check_declared_columns(
    cells: Mapping[Hashable, ArrayLike],
    as_read: Mapping[Hashable, ArrayLike],
    bounds: Mapping[Hashable, tuple[float, float]],
    categories: Mapping[Hashable, Sequence[Hashable]],
) -> None:
    """Raise ValueError if most cells of a column are not what was declared.

    Parameters
    ----------
    cells : mapping of column to array-like of shape (n_rows,)
        Private cells.
    as_read : mapping of column to array-like of shape (n_rows,)
        The same, as numbers or texts.
    bounds : mapping of column to (low, high)
    categories : mapping of column to sequence
    """
    for name, (low, high) in bounds.items():
        x = read_numbers(as_read[name])
        if _are_most(~((x >= low) & (x <= high)), cells[name]):
            reason = f"lie outside of bounds[{name!r}]={(low, high)!r}, or are no numbers"
            if np.isnan(x).all():
                reason = f"can't be read as numbers or dates between {low:g} and {high:g}"
            raise ValueError(
                f"most private cells of the column {name!r} {reason}: the fit would learn nothing "
                "from them. Nothing was released or spent. Declare bounds in the unit of the "
                "column; read dates with pandas.to_datetime(X[column], dayfirst=True), if that is "
                f"how they are written. {NOT_FOR_PUBLICATION}"
            )
    for name, declared in categories.items():
        codes = dict.fromkeys(map(cell_text, declared), 0)
        if _are_most(read_coded_texts(as_read[name]).positions(codes, 1) > 0, cells[name]):
            raise ValueError(
                f"most private cells of the column {name!r} are none of categories[{name!r}], such "
                f"as {next(iter(codes))!r}: the fit would learn nothing from them. Nothing was "
                "released or spent. Declare categories as they are spelt and coded in X. "
                f"{NOT_FOR_PUBLICATION}"
            )


def _are_most(outside: NDArray[np.bool_], cells: ArrayLike) -> bool:
    present = ~missing_cells(cells)
    return bool(2 * (outside & present).sum() > present.sum())
