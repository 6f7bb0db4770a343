"""Sizes of budgets and of plans, and their limits."""

from __future__ import annotations

from secretballot._base._numbers import check_integer, check_number

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
    """Check the numbers of rows and columns of a plan; `n_columns` may be None."""
    check_integer("n_rows", n_rows, most=MOST_ROWS)
    if n_columns is not None:
        check_integer("n_columns", n_columns)
