"""What a parameter of numbers may be, and what is said where it is something else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Stands for all levels where a parameter has one number for each.
_EVERYONE = "*"

#: Sizes of parameters, other than 0, whose squares and ratios floats hold.
_SMALLEST, _LARGEST = 1e-75, 1e75
#: Integers up to this one are exact as floats.
_LARGEST_INTEGER = 2**53
#: Limits from this one on are quoted for values beyond them alone.
_GENEROUS = 10**6
#: Characters of a value that a message quotes.
_QUOTED = 500


def as_float(value: Any) -> float:
    """Return a real number as a float, anything else as nan (which fails every range check)."""
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        try:
            return float(value)
        except OverflowError:  # an integer too large for a float
            return math.inf if value > 0 else -math.inf
    return math.nan


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
    per_level: bool = False,
) -> None:
    """Refuse a parameter that is not a finite number in a range, or too large or small for floats.

    Parameters
    ----------
    name : str
        What the parameter is called.
    value : Any
        What it was given.
    above, least, below, most : float
        The range: strictly above, at least, strictly below, at most.
    per_level : bool, default=False
        Whether it may also be a dict, with such a number for each level.
    """
    bounds = (("above", above), ("of at least", least), ("below", below), ("of at most", most))
    range_ = " and".join(f" {word} {bound:.4g}" for word, bound in bounds if math.isfinite(bound))

    def fits(given: Any) -> bool:
        number = as_float(given)
        return math.isfinite(number) and above < number < below and least <= number <= most

    _check(name, value, per_level, fits, f"a finite number{range_}")

    def has_a_size(given: Any) -> bool:
        return given == 0 or _SMALLEST <= abs(as_float(given)) <= _LARGEST

    sizes = f"0, or of a size from {_SMALLEST:g} to {_LARGEST:g}, with which floats can compute"
    _check(name, value, per_level, has_a_size, sizes)


def check_integer(
    name: str,
    value: Any,
    *,
    least: int = 1,
    most: int = _LARGEST_INTEGER,
    per_level: bool = False,
) -> None:
    """Refuse a parameter that is not an integer of at least `least` and at most `most`.

    Parameters
    ----------
    name, value, per_level
        As for `check_number`.
    least, most : int
        The range, both ends in it.
    """
    too_large = isinstance(value, Integral) and value > most
    unlimited = most >= _GENEROUS and not too_large
    range_ = f"of at least {least}" if unlimited else f"from {least} to {most}"

    def fits(given: Any) -> bool:
        whole = isinstance(given, Integral) and not isinstance(given, bool)
        return whole and least <= given <= most

    _check(name, value, per_level, fits, f"an integer {range_}")


def _check(
    name: str, value: Any, per_level: bool, fits: Callable[[Any], bool], wanted: str
) -> None:
    by_level = value if per_level and isinstance(value, Mapping) else {_EVERYONE: value}
    if not by_level:
        raise ValueError(f"{name}={value!r} has no level; give one number, or one per level.")
    for level, given in by_level.items():
        if not fits(given):
            of = "" if level == _EVERYONE else f" of the level {level!r}"
            raise ValueError(f"{name}={_quoted(given)}{of} must be {wanted}.")


def _quoted(value: Any) -> str:
    """Return a value as text, in short."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "..."
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def check_unmasked(name: str, values: Any) -> None:
    """Refuse a masked array: what is masked would count like the rest."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, and its mask would be lost: what is masked would count. "
            "Leave it out, or give a plain array with values in its place."
        )
