"""Terms of votes for the tests."""

from __future__ import annotations

import numpy as np

from secretballot.computing import Contribution, SharedVote


def terms(shape, voters="a", bits=5, columns=None, rule=None, digest="t"):
    n_rows, n_columns = shape
    return SharedVote(
        columns=tuple(range(n_columns)) if columns is None else columns,
        shape=(n_rows, n_columns),
        rule=rule or ("negative" if n_columns == 1 else "plurality"),
        voters=tuple(sorted(voters)),
        bits=bits,
        digest=digest,
    )


def part(numbers, **settings):
    """Numbers, and their terms."""
    numbers = np.asarray(numbers)
    return Contribution(terms(numbers.shape, **settings), numbers)
