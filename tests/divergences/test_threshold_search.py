"""Numbers from which on a condition holds, found with few evaluations."""

import math

import numpy as np
import pytest

from secretballot.costs._threshold_search import bracket_threshold, bracket_zero

RISING = {
    "a line": lambda x, at: x - at,
    "a steep line": lambda x, at: 1e9 * (x - at),
    "a logarithm": lambda x, at: x - at * (1 - math.log(x / at) / 20),
    "a jump": lambda x, at: -1.0 if x < at else x,
    "an infinite jump": lambda x, at: -math.inf if x < at else x - at,
    "a cube": lambda x, at: (x - at) ** 3,
    "steps": lambda x, at: math.floor(20 * math.log(x / at)) + 0.5,
}


@pytest.mark.parametrize("name", RISING)
def test_zeros_are_those_of_the_bisection(name):
    n_bisected = n_evaluated = 0
    for at in 10 ** np.random.default_rng(0).uniform(-7, 7, 50):
        evaluated = []

        def rising(x, at=float(at), evaluated=evaluated):
            evaluated.append(x)
            return RISING[name](x, at)

        expected = bracket_threshold(lambda x, rising=rising: rising(x) >= 0, 1e8, 1e-7)
        n_bisected += len(evaluated)
        n_evaluated -= len(evaluated)
        assert bracket_zero(rising, 1e8, 1e-7) == expected
        n_evaluated += len(evaluated)
    assert n_evaluated < (0.5 if "line" in name else 1.4) * n_bisected


def test_no_zero():
    assert bracket_zero(lambda x: -1.0, 5.0) == (math.inf, math.inf)
    assert bracket_zero(lambda x: 1.0, 5.0, 1e-7) == bracket_threshold(lambda x: True, 5.0, 1e-7)
