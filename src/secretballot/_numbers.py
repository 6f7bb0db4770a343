"""What a parameter of numbers may be, and what is said where it is something else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Stands for all levels where a parameter has one number for each.
_EVERYONE = "*"


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
    per_level: bool = False,
) -> None:
    """Refuse a parameter that is not a finite number in a range.

    Parameters
    ----------
    name : str
        What the parameter is called.
    value : Any
        What it was given.
    above, least, below : float
        The range: strictly above, at least, strictly below.
    per_level : bool, default=False
        Whether it may also be a dict, with such a number for each level.
    """
    bounds = (("above", above), ("of at least", least), ("below", below))
    range_ = " and".join(f" {word} {bound:.4g}" for word, bound in bounds if math.isfinite(bound))

    def fits(given: Any) -> bool:
        number = as_float(given)
        return math.isfinite(number) and least <= number < below and number > above

    _check(name, value, per_level, fits, f"a finite number{range_}")


def check_integer(
    name: str, value: Any, *, least: int = 1, most: float = math.inf, per_level: bool = False
) -> None:
    """Refuse a parameter that is not an integer of at least `least` and at most `most`.

    Parameters
    ----------
    name, value, per_level
        As for `check_number`.
    least, most : int
        The range, both ends in it.
    """
    range_ = f"of at least {least}" if math.isinf(most) else f"from {least} to {most}"

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
            raise ValueError(f"{name}={given!r}{of} must be {wanted}.")


def check_unmasked(name: str, values: Any) -> None:
    """Refuse a masked array: what is masked would count like the rest."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, and its mask would be lost: what is masked would count. "
            "Leave it out, or give a plain array with values in its place."
        )


def check_pair(epsilon: float, delta: float, *, pure: bool = True) -> None:
    """Refuse a pair that is no privacy guarantee, and delta 0 where noise can't be `pure`."""
    check_number("epsilon", epsilon, above=0)
    check_number("delta", delta, least=0, below=1)
    if delta == 0 and not pure:
        raise ValueError("delta=0 takes Laplace noise; with any other use a delta above 0.")
