"""Numbers as parameters: what is taken, and what is said of anything else."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from secretballot._numbers import as_float, check_integer, check_number
from secretballot.mechanisms import GNMax


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int8(3), Fraction(1, 3)])
def test_real_numbers_are_numbers(value):
    assert as_float(value) == float(value)
    check_number("x", value, above=0)
    check_number("x", {"strict": value}, above=0, per_level=True)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1], np.array([1.0]), math.nan])
def test_nothing_else_is(value):
    assert math.isnan(as_float(value))
    for check in (check_number, check_integer):
        with pytest.raises(ValueError, match="^x=.* must be a"):
            check("x", value)


@pytest.mark.parametrize(
    ("refuse", "message"),
    [
        (lambda: check_number("x", 0, above=0), "x=0 must be a finite number above 0."),
        (lambda: check_number("x", 10**400), f"x={10**400} must be a finite number."),
        (
            lambda: check_number("x", 1.0, least=0, below=1),
            "x=1.0 must be a finite number of at least 0 and below 1.",
        ),
        (lambda: check_integer("x", 0), "x=0 must be an integer of at least 1."),
        (lambda: check_integer("x", 9, most=8), "x=9 must be an integer from 1 to 8."),
        (lambda: check_integer("x", 2.0, least=0), "x=2.0 must be an integer of at least 0."),
        (
            lambda: check_integer("x", {"a": 1, "b": 0}, per_level=True),
            "x=0 of the level 'b' must be an integer of at least 1.",
        ),
        (
            lambda: check_number("x", {"*": -1}, above=0, per_level=True),
            "x=-1 must be a finite number above 0.",
        ),
        (
            lambda: check_number("x", {}, per_level=True),
            "x={} has no level; give one number, or one per level.",
        ),
        # One number is one number: levels have weights, not noise of their own.
        (
            lambda: GNMax(sigma={"strict": 40}),
            "sigma={'strict': 40} must be a finite number above 0.",
        ),
    ],
)
def test_messages(refuse, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        refuse()
