"""Private tables of all kinds, and neighbours in which one row, or one owner's rows, are others."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

N, N_OWNERS = 120, 24
DAY = pd.Timestamp("2020-01-01")
#: Ends of the declared bounds of columns of numbers, and of targets.
LOW, HIGH = -2.0, 2.0
#: What a row may hold in any of its cells.
NUMBERS = (np.nan, np.inf, -np.inf, 1e300, -1.7e308, 5e-324, -0.0, 0.5, LOW, HIGH, 2.0**53)
OTHERS = (
    *(None, pd.NA, pd.NaT, "", "x", "41", "1e400", "nan", "new", b"b", True, 2**53 + 1, 2**64),
    *(-(10**30), 2 + 0j, 1j, Decimal("1.50"), Decimal("NaN"), DAY, DAY.tz_localize("Asia/Tokyo")),
    *(datetime.date(1, 1, 1), datetime.timedelta(2), np.timedelta64(3, "h"), np.datetime64("NaT")),
    *(np.float32(0.1), np.int8(-3), frozenset({1}), object),
)
#: Cells of which NumPy makes no cell, or no number.
UNFIT = (10**400, -(10**5000), [1, 2], [], ("a", 1), {"a": 1}, np.arange(3))
#: An owner has the same rows several times: averages stay the same, but for their rounding.
AGAIN: dict[str, Any] = {"manners": ("again",)}
ALIKE = 1e-6
#: Classes that a replaced row may have.
N_CLASSES = {"two": 2, "three": 3, "four": 4}
FRAMES = ("frame", "types")
#: How a row may be replaced.
MANNERS = ("natural", "cell", "cells", "copy", "ends", "missing")


@dataclass(frozen=True)
class Data:
    """Private rows of one run.

    Attributes
    ----------
    rows : tuple of tuple
        Cells.
    y : tuple
        Class, number, or labels of each row.
    form : {"frame", "types", "array", "float32", "objects", "lists"}
        What the rows are given as; types are a frame with nullable integers, and categories that
        are those of the rows. All columns but those of frames are numbers.
    index : tuple of int
        Labels of the rows of a frame.
    owners, levels : tuple or None
    level : str or None
        Level of the person who was replaced.
    """

    rows: tuple[tuple[Any, ...], ...]
    y: tuple[Any, ...]
    form: str = "frame"
    index: tuple[int, ...] = ()
    owners: tuple[int, ...] | None = None
    levels: tuple[str, ...] | None = None
    level: str | None = None

    @property
    def X(self) -> Any:
        """The rows as a table."""
        if self.form in FRAMES:
            columns = zip(*self.rows, strict=True)
            names = "abcd"[: len(self.rows[0])]
            table = {name: _column(cells) for name, cells in zip(names, columns, strict=True)}
            if self.form == "types":
                table["b"] = _cast(table["b"], "Int64")
                table["c"] = _cast(table["c"], "category")
            return pd.DataFrame(table).set_axis(list(self.index))
        if self.form == "lists":
            return [list(row) for row in self.rows]
        if self.form == "objects":
            table = np.empty((len(self.rows), len(self.rows[0])), dtype=object)
            for place, row in enumerate(self.rows):
                for column, cell in enumerate(row):
                    table[place, column] = cell
            return table
        with np.errstate(over="ignore"):
            return np.array(self.rows, dtype="float32" if self.form == "float32" else float)

    @property
    def targets(self) -> np.ndarray:
        """Classes, numbers or labels."""
        return np.array(self.y)


def _column(cells: tuple[Any, ...]) -> pd.Series:
    try:
        return pd.Series(list(cells))
    except (TypeError, ValueError, OverflowError):
        return pd.Series(list(cells), dtype=object)


def _cast(column: pd.Series, dtype: str) -> pd.Series:
    try:
        return column.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return column


def natural_row(rng: np.random.Generator, form: str) -> tuple[Any, ...]:
    """Return cells as most rows have them."""
    a, b = float(rng.normal()), int(rng.integers(6))
    if form == "float32":  # far from zero: their rounding is some .06
        return tuple(1e6 + float(x) for x in rng.normal(size=30))
    if form not in FRAMES:
        return a, float(b), float(rng.normal()), float(rng.normal())
    return a, b, str(rng.choice(["x", "y", "z"])), DAY + pd.Timedelta(int(rng.integers(90)), "D")


def natural_target(rng: np.random.Generator, row: tuple[Any, ...], target: str) -> Any:
    """Return a class of two or three, a number or three labels."""
    score = row[0] + row[1] / 6 + 0.3 * float(rng.normal())
    if target == "number":
        return score
    if target == "labels":
        return int(score > 0), int(row[1] > 2), int(rng.random() < 0.3)
    return int(score > 0.5) if target == "two" else int(np.digitize(score, [0.0, 1.0]))


def private_rows(
    form: str = "frame",
    target: str = "two",
    *,
    owners: bool = False,
    levels: bool = False,
    at_ends: bool = False,
) -> Data:
    """Return the private rows of a base run; with `at_ends` the first two alone are at bounds."""
    n = N
    rng = np.random.default_rng(3)
    rows = tuple(natural_row(rng, form) for _ in range(n))
    y = tuple(natural_target(rng, row, target) for row in rows)
    if at_ends:
        rows = tuple((end, *row[1:]) for end, row in zip(_ends(rows), rows, strict=True))
        y = _ends([(label,) for label in y]) if target == "number" else y
    of_row = tuple(int(k) for k in rng.permutation(np.arange(n) % N_OWNERS)) if owners else None
    group = of_row if owners else tuple(range(n))
    of_level = tuple("low" if k % 3 == 0 else "high" for k in group) if levels else None
    return Data(rows, y, form, tuple(range(n)), of_row, of_level)


def _ends(rows: Any) -> tuple[float, ...]:
    """Return the first cells, of which two alone are at the bounds."""
    inside = [float(np.clip(row[0], 0.9 * LOW, 0.9 * HIGH)) for row in rows[2:]]
    return (LOW, HIGH, *inside)


def public_rows(form: str = "frame", n: int = 60) -> Any:
    """Return public rows like the private ones."""
    rng = np.random.default_rng(4)
    rows = tuple(natural_row(rng, form) for _ in range(n))
    return Data(rows, (), form if form in FRAMES else "array", tuple(range(n))).X


def neighbour(
    data: Data,
    seed: int,
    *,
    target: str = "two",
    cells: tuple[Any, ...] = (),
    manners: tuple[str, ...] = MANNERS,
    only_labels: bool = False,
    place: int | None = None,
) -> Data:
    """Return the data with one row, or one owner's rows, replaced.

    Parameters
    ----------
    data : Data
    seed : int
        Seed of the choice; every manner has its turn.
    target : {"two", "three", "number", "labels"}
    cells : tuple of object
        What a replaced row may hold. By default anything that the form holds.
    manners : tuple of str
    only_labels : bool
        Whether cells are public, and labels alone differ.
    place : int, default=None
        The row that is replaced; any if None.
    """
    rng = np.random.default_rng([seed, 7])
    manner = manners[seed % len(manners)]
    if not cells:
        is_typed = data.form in ("array", "float32")
        cells = NUMBERS if is_typed else (*NUMBERS, *OTHERS)
    if data.form in (*FRAMES, "objects"):
        cells = (*cells, *UNFIT)
    place = int(rng.integers(len(data.rows))) if place is None else place
    level = None if data.levels is None else data.levels[place]
    n_rows = 1
    places = [place]
    if data.owners is not None:
        places = [k for k, owner in enumerate(data.owners) if owner == data.owners[place]]
        n_rows = int(rng.choice([1, len(places), 3 * len(places), 40]))
        if manner == "again":
            n_rows = (2 + seed % 5) * len(places)
    rows, y, index = [], [], []
    for number in range(n_rows):
        old = places[number % len(places)]
        row, label = _replaced(data, old, manner, rng, cells)
        rows.append(data.rows[old] if only_labels else row)
        same = manner == "again"
        y.append(data.y[old] if same else _hostile_target(rng, data.y[old], target))
        index.append(label)
    kept = [k for k in range(len(data.rows)) if k not in places]
    at = places[0] if data.owners is None else int(rng.choice([0, len(kept)]))

    def put(values: Any, new: list[Any]) -> Any:
        others = [values[k] for k in kept]
        return (*others[:at], *new, *others[at:])

    return replace(
        data,
        rows=put(data.rows, rows),
        y=put(data.y, y),
        index=put(data.index, index),
        owners=None if data.owners is None else put(data.owners, [data.owners[place]] * n_rows),
        levels=None if data.levels is None else put(data.levels, [level] * n_rows),
        level=level,
    )


def _replaced(
    data: Data, place: int, manner: str, rng: np.random.Generator, cells: tuple[Any, ...]
) -> tuple[tuple[Any, ...], int]:
    """Return cells of a row, and its index label."""
    row, other = list(data.rows[place]), int(rng.integers(len(data.rows)))
    if manner == "again":
        return data.rows[place], data.index[place]
    if manner == "copy":
        return data.rows[other], data.index[other]
    if manner == "natural":
        row = list(natural_row(rng, data.form))
    elif manner == "ends":
        is_number = [isinstance(cell, float | int) for cell in row]
        row = [
            float(rng.choice([LOW, HIGH])) if k else c for c, k in zip(row, is_number, strict=True)
        ]
    elif manner == "missing":
        missing = np.nan if data.form in ("array", "float32") else None
        row = [missing] * len(row)
    else:
        chosen = [int(rng.integers(len(row)))] if manner == "cell" else range(len(row))
        for column in chosen:
            row[column] = cells[int(rng.integers(len(cells)))]
    return tuple(row), data.index[place]


def _hostile_target(rng: np.random.Generator, old: Any, target: str) -> Any:
    """Return another class, an extreme number or any set of labels."""
    if target == "number":
        extremes = (old, LOW, HIGH, -1e300, 1.7e308, 5e-324, 0.0, 1e6)
        return float(extremes[int(rng.integers(len(extremes)))])
    if target == "labels":
        return tuple(int(k) for k in rng.integers(2, size=len(old)))
    return int(rng.integers(N_CLASSES[target]))
