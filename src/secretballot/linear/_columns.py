"""The columns of a table, whichever library it is of, and what kind each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from secretballot._sklearn_compat import _safe_indexing

#: Texts of what is missing, in all libraries.
_MISSING = frozenset({"None", "nan", "NaN", "<NA>", "NaT"})


@dataclass(frozen=True)
class Column:
    """A column of public rows."""

    name: Any
    values: Any
    is_number: bool
    #: What its data type lists.
    categories: Sequence[Any] | None = None


def columns_of(X: Any) -> list[Any]:
    """Return the columns of an array or a data frame."""
    if isinstance(X, np.ndarray):
        return list(X.T)
    return [_safe_indexing(X, at, axis=1) for at in range(X.shape[1])]


def names_of(X: Any) -> list[Any]:
    """Return the names of columns, their positions in an array."""
    return list(getattr(X, "columns", range(X.shape[1])))


def public_columns(X: Any) -> list[Column]:
    """Return the columns of public rows, which say of what kind each is."""
    found = []
    for name, values in zip(names_of(X), columns_of(X), strict=True):
        dtype = getattr(values, "dtype", None)
        listed = getattr(dtype, "categories", None)
        is_number = listed is None and _is_number(dtype, values)
        found.append(Column(name, values, is_number, None if listed is None else list(listed)))
    return found


def _is_number(dtype: Any, values: Any) -> bool:
    kind = getattr(dtype, "kind", None) or np.asarray(values).dtype.kind
    return kind in "iuf"


def numbers(values: Any, name: Any) -> NDArray[np.float64]:
    """Return a column as finite numbers, or raise ValueError."""
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"X: column {name!r} holds something else than numbers, and is one of numbers in "
            "X_public (or has bounds). Give it the same kind of values in both."
        ) from error
    assert_all_finite(x, input_name=f"X: column {name!r}")
    return x


def category_texts(values: Any, name: Any) -> list[str]:
    """Return a column's categories as texts, or raise ValueError where some are missing.

    The text of a row depends on that row alone, and not on the type that others, such as a missing
    one among whole numbers, give the column.
    """
    listed = np.asarray(values)
    if listed.dtype.kind in "mM":
        listed = listed.astype(f"{listed.dtype.kind}8[us]")
    place = None
    if listed.dtype.kind != "O":
        listed, place = np.unique(listed, return_inverse=True)  # looked at once for each category
    rows = listed.tolist()
    texts = [each if type(each) is str else category_text(each) for each in rows]
    missing = _MISSING.intersection(texts)
    if missing and any(
        text in missing and not isinstance(each, str)
        for each, text in zip(rows, texts, strict=True)
    ):
        raise ValueError(
            f"X: column {name!r} contains NaN or None. Give missing values a category of their "
            "own: X[column].fillna('missing')."
        )
    return texts if place is None else [texts[at] for at in place.tolist()]


def category_text(each: Any) -> str:
    """Return the text of a category: the same for 1 and 1.0, which a column may be cast to."""
    if isinstance(each, bool) or not isinstance(each, int | float | np.integer | np.floating):
        return str(each)
    try:
        number = float(each)
    except OverflowError:
        return str(each)
    return str(int(number)) if number.is_integer() else str(number)
