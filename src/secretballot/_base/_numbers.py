"""Checks of parameters: numbers, sizes of budgets and plans, and classes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Integral, Number, Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION

#: Key of a parameter that has one number for all levels.
_EVERYONE = "*"

#: Sizes of parameters, other than 0, whose squares and ratios floats hold.
_SMALLEST, _LARGEST = 1e-75, 1e75
#: Integers up to this one are exact as floats.
_LARGEST_INTEGER = 2**53
#: Messages name a limit this large only for values beyond it.
_GENEROUS = 10**6
#: Characters of a value that a message quotes.
_QUOTED = 60
#: Endings of names of files of rows.
_FILES = (".parquet", ".csv", ".gz", ".feather", ".arrow")
#: Entries of a list that a message quotes.
_FEW_ENTRIES = 2


def as_float(value: object) -> float:
    """Convert a real number to a float, and anything else to nan, which fails every check."""
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        try:
            return float(value)
        except OverflowError:  # an integer too large for a float
            return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    return math.nan


def check_number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
    per_level: bool = False,
) -> None:
    """Check that a parameter is a finite number in a range, and of a size that floats compute with.

    `above` and `below` are strict bounds. `per_level` allows a dict with a number for each level.
    """
    for level, entry in _by_level(name, value, per_level):
        number = as_float(entry)
        if not (math.isfinite(number) and above < number < below and least <= number <= most):
            bounds = (
                ("above", above),
                ("of at least", least),
                ("below", below),
                ("of at most", most),
            )
            range_ = " and".join(
                f" {word} {limit:.4g}" for word, limit in bounds if math.isfinite(limit)
            )
            raise ValueError(f"{name}={quoted(entry)}{level} must be a finite number{range_}.")
        if entry != 0 and not _SMALLEST <= abs(number) <= _LARGEST:
            raise ValueError(
                f"{name}={quoted(entry)}{level} must be 0, or of a size from {_SMALLEST:g} to "
                f"{_LARGEST:g}, with which floats can compute."
            )


def check_integer(
    name: str,
    value: object,
    *,
    least: int = 1,
    most: int = _LARGEST_INTEGER,
    per_level: bool = False,
) -> None:
    """Check that a parameter is an integer from `least` to `most`, both included."""
    for level, entry in _by_level(name, value, per_level):
        is_integer = isinstance(entry, Integral) and not isinstance(entry, bool)
        if not is_integer or not least <= int(entry) <= most:  # type: ignore[call-overload]
            too_large = isinstance(value, Integral) and int(value) > most
            is_unlimited = most >= _GENEROUS and not too_large
            range_ = f"of at least {least}" if is_unlimited else f"from {least} to {most}"
            raise ValueError(f"{name}={quoted(entry)}{level} must be an integer {range_}.")


def _by_level(name: str, value: object, per_level: bool) -> list[tuple[str, object]]:
    """Return the one entry of a parameter, or that of each level, with words for messages."""
    if not (per_level and isinstance(value, Mapping)):
        return [("", value)]
    if not value:
        raise ValueError(f"{name}={value!r} has no level; give one number, or one per level.")
    return [
        ("" if level == _EVERYONE else f" of the level {level!r}", entry)
        for level, entry in value.items()
    ]


def quoted(value: object) -> str:
    """Return the text of a value for a message, cut short: a long one may hold private rows."""
    if isinstance(value, int | float | complex | str | np.generic | None):
        try:
            text = repr(value)
        except ValueError:  # an integer of thousands of digits
            return "..."
        return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."
    if isinstance(value, list | tuple) and len(value) <= _FEW_ENTRIES:
        entries = ", ".join(quoted(entry) for entry in value)
        return f"[{entries}]" if isinstance(value, list) else f"({entries})"
    if isinstance(value, Mapping) and len(value) <= _FEW_ENTRIES:
        return f"{{{', '.join(f'{quoted(key)}: {quoted(value[key])}' for key in value)}}}"
    shape = getattr(value, "shape", None)
    size = f" of shape {shape}" if isinstance(shape, tuple) else ""
    return f"<{type(value).__name__}{size}>"


def number_of_rows(name: str, value: Any, unit: str = "row") -> Any:
    """Return the length of a table given in place of its number of rows, or of each in a dict.

    Numbers and texts are returned as they are. Refused are rows in parts or files, shapes, counts
    by value, and, if the unit is the owner, tables, whose number of owners is not known.
    """
    if isinstance(value, Mapping):
        return {key: number_of_rows(name, entry, unit) for key, entry in value.items()}
    rows = getattr(value, "X", value)  # of PublicData
    shape: Any = getattr(rows, "shape", None)
    is_list = isinstance(rows, list | tuple)
    is_table = is_list or (isinstance(shape, tuple) and len(shape) > 0)
    if isinstance(value, Number | str | None) or shape == ():
        return value
    first = rows[0] if is_list and rows else None
    is_in_parts = not is_table or (not is_list and not isinstance(shape[0], Integral))
    if is_in_parts or is_file(first) or len(getattr(first, "shape", ())) > 1:
        raise ValueError(
            f"{name}={quoted(rows)} is no number: rows in parts or files are not counted here. "
            f"Give the number of all {unit}s, such as {name}=100_000."
        )
    if (isinstance(rows, tuple) and len(rows) == 2) or getattr(rows, "name", None) == "count":
        raise ValueError(
            f"{name}={quoted(rows)} is a shape, or counts by value. Give the number of all "
            f"{unit}s, such as {name}=len(X), or the sum of the counts."
        )
    if unit == "owner":
        raise ValueError(
            f"{name}={quoted(rows)} is a table of rows, and people are owners here, who may have "
            f"several. Give the number of owners."
        )
    return len(rows) if is_list else int(shape[0])


def is_file(entry: object) -> bool:
    """Return True of a path, or a text that ends as names of files of rows do."""
    return isinstance(entry, os.PathLike) or (
        isinstance(entry, str) and os.path.splitext(entry)[1] in _FILES
    )


def check_unmasked(name: str, values: object) -> None:
    """Refuse a masked array, whose masked values would count like all others."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, and its mask would be lost: masked values would count. "
            "Leave them out, or give a plain array with values in their place."
        )


def check_no_public_data(name: str, values: object) -> None:
    if hasattr(type(values), "may_be_private"):
        raise TypeError(
            f"{name} is {type(values).__name__}, public rows for X_public=. Private rows, their "
            "labels and rows to predict are given as they are, without it."
        )


def log_probabilities(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute logarithms; that of 0 is minus infinity, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))


#: Largest epsilon of a budget; up to it mu^2 is sound, as compared to 60 digits.
MOST_EPSILON = 1e12
#: Largest number of rows of one plan; more don't fit into memory.
MOST_ROWS = 10**8


def check_pair(epsilon: float, delta: float, *, pure: bool = True) -> None:
    """Check epsilon and delta; delta may be 0 only if the noise can be `pure`."""
    check_number("epsilon", epsilon, above=0, most=MOST_EPSILON)
    check_number("delta", delta, least=0, below=1)
    if delta == 0 and not pure:
        raise ValueError("delta=0 takes Laplace noise; with any other use a delta above 0.")


def check_size(n_rows: object, n_columns: object) -> None:
    check_integer("n_rows", n_rows, most=MOST_ROWS)
    if n_columns is not None:
        check_integer("n_columns", n_columns)


#: Longest list of classes in a message.
_MOST_LISTED = 20

#: Error of labels that have no order.
_MIXED = "{name} mixes labels that can't be sorted; give all as strings or all as numbers."


def named_classes(classes: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(classes)
    if labels.ndim != 1:
        raise ValueError(
            f"classes has shape {labels.shape}; give a list of labels, not a "
            f"{type(classes).__name__}: classes=['no', 'yes']."
        )
    if any(label is None or label != label for label in labels.tolist()):
        raise ValueError(
            f"classes={listed_classes(labels)} names a missing label; every row needs one. Leave "
            "it out."
        )
    if len({isinstance(label, str | bytes) for label in cast("Iterable[object]", classes)}) > 1:
        raise ValueError(_MIXED.format(name="classes"))
    sorted_labels = sorted_classes(labels, "classes")
    if len(sorted_labels) != len(labels):
        raise ValueError(
            f"classes={listed_classes(labels)} names a class twice. Name each once, such as "
            "classes=[0, 1]: they are public, and no labels of rows."
        )
    return sorted_labels


def listed_classes(classes: NDArray[Any]) -> str:
    """Return a list of classes for a message; very many may be the private labels of rows."""
    if len(classes) <= _MOST_LISTED:
        return repr(classes.tolist())
    return f"<{len(classes):,} labels>"


def sorted_classes(labels: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the distinct labels, sorted; ValueError for fewer than two. `name` is for errors."""
    private = f" {NOT_FOR_PUBLICATION}" if name == "y" else ""
    try:
        classes = np.unique(labels)
    except TypeError:
        raise ValueError(_MIXED.format(name=name) + private) from None
    if len(classes) < 2:
        raise ValueError(
            f"{name} holds {len(classes)} class(es), {classes.tolist()!r}; at least two are "
            f"needed.{private}"
        )
    return classes
