"""Private rows that stand in a table more than once, as oversampling leaves them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot.tables._cells import read_numbers
from secretballot.tables._frames import columns_of, container_kind

_REMEDY = (
    "; class_weight='balanced' of PrivateLogisticRegression weighs rare classes without any. Or "
    "protect people: PrivacyAccountant(..., unit='owner') and "
)
#: Smallest share of rows with a twin, and of different rows, that is warned of.
_FEW_TWINS, _FEWEST_ROWS = 0.1, 0.05
#: Fewest different rows that are no design with equal groups, and the largest share that occurs
#: once, where rows occur equally often: counts by chance vary as much as their mean.
_EVEN_ROWS, _MOST_SINGLE = 500, 0.1
#: Share of rows with a twin that have a number of their own, and fewest of these numbers.
_NEARLY_UNIQUE, _FEWEST_VALUES = 0.9, 10
#: Decimals that are tried, and fewest values per row in the range of a number with so many.
_DECIMALS, _FINE = 15, 100


def warn_repeated_rows(X: Any, name: str = "X", unit: str = "row", *, cells: bool = True) -> None:
    """Warn if rows of a table repeat others: by their index, or (`cells`) not by chance."""
    n_labelled = _labelled_copies(X)
    n_copies = n_labelled or (_copies_without_label(X) if cells else 0)
    if n_copies:
        labels = ", with their index labels" if n_labelled else ""
        ids = f"owners={name}.index" if n_labelled else "the id of each row's person as owners="
        remedy = _REMEDY + ids if unit == "row" else ""
        warn(
            f"{name} holds {n_copies:,} copies of other rows{labels}. "
            f"unit={unit!r} protects one {unit}: whoever has several copies is protected for each "
            f"of them, not for all together. Leave copies out{remedy}. {NOT_FOR_PUBLICATION}",
            PrivacyLeakWarning,
        )


def _labelled_copies(X: Any) -> int:
    """Count rows of a data frame or series that repeat others, with their index label.

    Labels alone repeat where tables of different people were put together, and single cells may
    then be equal by chance.
    """
    index: Any = getattr(X, "index", None)
    if getattr(index, "is_unique", True):
        return 0
    try:
        n_copies = int(X.reset_index().duplicated().sum())
    except Exception:  # cells without a hash, or a column of the index's name
        return 0
    is_coarse = getattr(X, "shape", (0,))[1:] in ((), (1,))
    return 0 if is_coarse and n_copies < index.duplicated().sum() else n_copies


def _copies_without_label(X: Any) -> int:
    """Count rows that repeat others, if not by chance; tables of few categories have honest twins.

    Chance makes no equal numbers of copies, and no equal rows with numbers that are fine enough.
    """
    hashes = _row_hashes(X)
    if hashes is None or not len(hashes):
        return 0
    _, rows, counts = np.unique(hashes, return_index=True, return_counts=True)
    n, has_twin = len(hashes), counts > 1
    share = counts[has_twin].sum() / n
    if share < _FEW_TWINS or len(rows) < _FEWEST_ROWS * n:
        return 0
    if (
        len(rows) >= _EVEN_ROWS
        and np.mean(~has_twin) < _MOST_SINGLE
        and counts.var() < counts.mean() / 2
    ):
        return n - len(rows)
    for x in _numbers(X):
        twins = x[rows[has_twin]]
        is_key = len(np.unique(twins)) >= max(_NEARLY_UNIQUE * len(twins), _FEWEST_VALUES)
        if is_key and _is_fine(twins, n):
            return n - len(rows)
    return 0


def _row_hashes(X: Any) -> NDArray[np.uint64] | None:
    if isinstance(X, list | tuple):
        return None
    kind = container_kind(X)
    try:
        if kind == "pandas":
            hashes = sys.modules["pandas"].util.hash_pandas_object(X, index=False)
            return np.asarray(hashes, dtype=np.uint64)
        if kind == "polars":
            if any(str(dtype) == "Object" for dtype in X.dtypes):
                return None  # a cell without a hash is no Exception there
            return np.asarray(X.hash_rows().to_numpy(), dtype=np.uint64)
    except Exception:  # cells without a hash
        return None
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    hashes = np.zeros(len(X), dtype=np.uint64)
    for column in X.T:
        hashes = (hashes ^ column.astype(np.float64).view(np.uint64)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _numbers(X: Any) -> Iterator[NDArray[np.float64]]:
    for column in columns_of(X):
        dtype = getattr(column, "dtype", None)
        is_polars_number = getattr(dtype, "is_numeric", bool)
        if getattr(dtype, "kind", "") in ("i", "u", "f") or is_polars_number():
            yield read_numbers(column)


def _is_fine(x: NDArray[np.float64], n_rows: int) -> bool:
    """Return True for fractions of so many decimals that rows have equal ones by copying alone."""
    x = x[np.isfinite(x)]
    if not len(x) or (x == np.floor(x)).all():
        return False
    decimals = next((k for k in range(_DECIMALS) if (np.round(x, k) == x).all()), _DECIMALS)
    return bool(np.ptp(x) * 10.0**decimals > _FINE * n_rows)
