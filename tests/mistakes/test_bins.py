"""Numbers of bins with which nothing is learned from numbers."""

import pytest
from tests.mistakes._mistake import LINEAR, Mistake, cases, check

MISTAKES = (
    Mistake(
        "one bin", "'n_bins' parameter .* range .2, inf.", settings={"n_bins": 1}, models=LINEAR
    ),
    Mistake(
        "no bin", "'n_bins' parameter .* range .2, inf.", settings={"n_bins": 0}, models=LINEAR
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_bins(mistake, make):
    check(mistake, make)
