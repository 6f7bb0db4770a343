"""Numbers as parameters: what is taken, and what is said of anything else."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from secretballot._base._numbers import as_float, check_integer, check_number
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    ExponentialTopK,
    GNMax,
    SkellamMax,
    TauVoting,
    VectorSum,
)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int8(3), Fraction(1, 3)])
def test_real_numbers_are_numbers(value):
    assert as_float(value) == float(value)
    check_number("x", value, above=0)
    check_number("x", {"strict": value}, above=0, per_level=True)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1], np.array([1.0]), math.nan])
def test_other_values_are_no_numbers(value):
    assert math.isnan(as_float(value))
    for check in (check_number, check_integer):
        with pytest.raises(ValueError, match="^x=.* must be a"):
            check("x", value)


@pytest.mark.parametrize(
    ("refuse", "message"),
    [
        (lambda: check_number("x", 0, above=0), "x=0 must be a finite number above 0."),
        (lambda: check_number("x", 10**400), f"x={str(10**400)[:60]}... must be a finite number."),
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


@pytest.mark.parametrize("value", [1e308, -1e76, 1e-300, 5e-324, 10**300], ids=str)
def test_numbers_that_floats_can_not_compute_with_are_refused(value):
    with pytest.raises(ValueError, match=r"^x=.* must be 0, or of a size from 1e-75 to 1e\+75"):
        check_number("x", value)
    check_number("x", 0)


@pytest.mark.parametrize("value", [2**53 + 1, 10**400, 10**5000], ids=["16", "400", "5000"])
def test_integers_that_floats_do_not_hold_are_refused(value):
    with pytest.raises(ValueError, match=f"must be an integer from 1 to {2**53}"):
        check_integer("x", value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GNMax(sigma=1e-300),
        lambda: GNMax(sigma=40, ballots=10**400),
        lambda: BinaryVoting(sigma=40, n_votes=100, ballots=10**400),
        lambda: TauVoting(sigma=40, n_votes=100, tau=1.4, ballots=2**53),
        lambda: ConfidentGNMax(sigma=40, threshold=1e308, sigma_threshold=100, n_votes=100),
        lambda: VectorSum(sigma=1e-300),
        lambda: ExponentialTopK(k=1, epsilon=1e-300),
        lambda: SkellamMax(variance=1e-300, n_parties=4),
    ],
)
def test_mechanisms_refuse_sizes_that_floats_confuse(make):
    with pytest.raises(ValueError, match=r"^(sigma|ballots|threshold|epsilon|variance)=.* must be"):
        make()
