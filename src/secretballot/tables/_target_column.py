"""Target that stands among the columns of the rows it is to be predicted from."""

from __future__ import annotations

from typing import Any

import numpy as np

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot.tables._cells import read_texts
from secretballot.tables._frames import columns_of


def check_target_left_out(X: Any, y: Any) -> None:
    """Raise ValueError if a data frame has a column of the name and the values of the target."""
    name = getattr(y, "name", None)
    names = list(getattr(X, "columns", ()))
    if not isinstance(name, str) or name not in names or len(X) != len(y):
        return
    column = read_texts(columns_of(X)[names.index(name)])
    if np.array_equal(column, read_texts(y)):
        raise ValueError(
            f"X has the target y among its columns, {name!r}: the model would repeat it, and rows "
            f"without it could not be predicted. Pass X.drop(columns={name!r}), and the same of "
            f"X_public. {NOT_FOR_PUBLICATION}"
        )
