"""Private cells that did not fit the public schema, told to the operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._errors import NOT_FOR_PUBLICATION, warn

#: From which share of a column on cells that do not fit are no accident.
_MANY = 0.25


def warn_misfits(misfits: Mapping[Any, NDArray[np.bool_]]) -> None:
    """Warn, after a release, of private columns of which many cells did not fit.

    Parameters
    ----------
    misfits : mapping of column to ndarray of shape (n_rows,)
        As in `ReadRows`.
    """
    many = [name for name, rows in misfits.items() if rows.mean() > _MANY]
    if many:
        warn(
            f"more than a quarter of the cells of X do not fit X_public in {len(many)} column(s), "
            f"such as {many[0]!r}: they are missing, or of another type. They were taken as "
            f"missing. {NOT_FOR_PUBLICATION}"
        )
