"""What bags are called: the ids of instances and of tables, and how they are matched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._numbers import check_unmasked
from secretballot.quantification._bags import distinct
from secretballot.quantification.publishing import PublishedProportions

_SHOWN = 5


def ids_of_instances(
    name: str, values: Any, n_instances: int
) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the sorted ids of a column, and which of them each instance has.

    Parameters
    ----------
    name : str
        What the column is called, for errors.
    values : array-like of shape (n_instances,)
    n_instances : int
    """
    check_unmasked(name, values)
    column = _plain(values)
    if column.shape != (n_instances,):
        raise ValueError(
            f"{name} has shape {column.shape}, but X has {n_instances} instances; give each one id."
        )
    gone = _missing(column)
    if gone.any():
        raise ValueError(
            f"{name} is missing for {gone.sum()} instances, the first of them in row "
            f"{int(np.argmax(gone))}; leave those out, or give them an id of their own."
        )
    found, codes = distinct(name, column)
    return _scalars(found), codes.astype(np.int64, copy=False)


def ids_of_table(proportions: Any) -> list[Any] | None:
    """Return what the rows of a table of proportions are called; None if they aren't."""
    if isinstance(proportions, PublishedProportions):
        names: Any = proportions.names
    elif isinstance(proportions, Mapping):
        names = list(proportions)
    elif hasattr(proportions, "iloc"):
        names = proportions.index
        if getattr(names, "nlevels", 1) > 1:
            raise ValueError(
                f"the index of proportions has {names.nlevels} levels; bags are called by one: "
                "reset_index() and set_index(...) with the column of ids."
            )
    else:
        return None
    column = _plain(names if hasattr(names, "dtype") else _objects(names))  # 1 and "1" are two
    gone = _missing(column)
    if gone.any():
        raise ValueError(
            f"proportions has a row whose bag is not named (row {int(np.argmax(gone))}); name it, "
            "or leave it out."
        )
    ids = _scalars(column)
    if len(set(ids)) < len(ids):
        again = [one for one, times in Counter(ids).items() if times > 1]
        raise ValueError(
            f"proportions has several rows for {_listed(again)}; give each bag one row."
        )
    return ids


def positions(
    wanted: Sequence[Any], ids: Sequence[Any], *, unused: str = "refuse"
) -> NDArray[np.intp]:
    """Return the row of each wanted bag.

    Parameters
    ----------
    wanted : sequence
        What the bags of the data are called.
    ids : sequence
        What the rows of the table are called.
    unused : {"refuse", "drop"}, default="refuse"
        What is done about rows of bags that are not in the data.

    Raises
    ------
    ValueError
        With the names that are on one side only.
    """
    row = {one: number for number, one in enumerate(ids)}
    lacking = [one for one in wanted if one not in row]
    if lacking:
        kinds = [sorted({type(one).__name__ for one in side}) for side in (wanted, ids)]
        other = ""
        if kinds[0] != kinds[1]:
            other = f" Ids in the data are of type {kinds[0]}, those of proportions {kinds[1]}."
        raise ValueError(
            f"proportions has no row for {_listed(lacking)}, but the data has instances of "
            f"{'it' if len(lacking) == 1 else 'them'}; add the row, or leave those instances "
            f"out.{other}"
        )
    known = set(wanted)
    rest = [one for one in ids if one not in known]
    if rest and unused != "drop":
        raise ValueError(
            f"proportions has rows for {_listed(rest)}, of which there is no instance; leave them "
            "out, or look for the instances."
        )
    return np.array([row[one] for one in wanted], dtype=np.intp)


def are_numbers(ids: Sequence[Any]) -> bool:
    """Whether these are no names but the numbers 0 to n - 1, in order."""
    return all(isinstance(one, int) and one == number for number, one in enumerate(ids))


def _listed(ids: Iterable[Any]) -> str:
    """Name a few bags, and how many more there are."""
    every = [str(one) if isinstance(one, np.datetime64) else repr(one) for one in ids]
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return f"the bag{'s' if len(every) > 1 else ''} {', '.join(every[:_SHOWN])}{more}"


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    """Return an array of these very objects, none of them made a string."""
    every = list(values)
    found = np.empty(len(every), dtype=object)
    found[:] = every
    return found


def _plain(values: Any) -> NDArray[Any]:
    """Return an array of ids in which equal ones are equal, wherever they came from."""
    column = np.asarray(values)
    if column.ndim != 1:
        return column
    if column.dtype.kind in "US" and not hasattr(values, "dtype"):
        # A list: were not all of it strings, numbers and missing values would now be.
        kinds = set(map(type, values))
        column = column if len(kinds) == 1 else _objects(values)
    if column.dtype.kind == "O":
        kinds = set(map(type, column.tolist()))
        if kinds and all(hasattr(kind, "to_datetime64") or kind is np.datetime64 for kind in kinds):
            column = column.astype("datetime64[ns]")
    return column.astype("datetime64[ns]") if column.dtype.kind == "M" else column


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind != "O":
        return np.asarray(column != column)
    gone = [one for one in set(column.tolist()) if one is None or _unequal(one)]
    if not gone:
        return np.zeros(column.shape, dtype=bool)
    return np.array([one is None or _unequal(one) for one in column.tolist()])


def _unequal(one: Any) -> bool:
    """Whether a value is not equal to itself, as nan; NA of pandas is not even that."""
    try:
        return bool(one != one)
    except (TypeError, ValueError):
        return True


def _scalars(column: NDArray[Any]) -> list[Any]:
    return list(column) if column.dtype.kind == "M" else column.tolist()
