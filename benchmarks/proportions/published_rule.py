"""The published calibration of the Dirichlet mechanism (Iyer, Nath and Sarawagi, KDD 2016).

It bounds delta by a tail of the privacy loss, and tunes the noise to the private counts, so that
the amount of noise reveals them: for comparison with published figures only.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.costs._noise import dirichlet_tail
from secretballot.costs._threshold_search import find_sharpness
from secretballot.mechanisms import DirichletProportions


def calibrate_by_published_rule(
    epsilon: float, delta: float, counts: ArrayLike
) -> DirichletProportions:
    """Return the mechanism that the published rule calibrates to private `counts` of bags."""
    rows = np.unique(np.asarray(counts, dtype=np.float64), axis=0)
    # The rule considers neighbours with one label less.
    min_count = max(int(rows.min()) - 1, 0)
    mechanism = DirichletProportions(concentration=1.0, min_count=min_count, epsilon=epsilon)

    def delta_of(concentration: float) -> float:
        return _largest_tail(concentration, rows, min_count, epsilon)

    return replace(mechanism, concentration=find_sharpness(delta_of, delta))


def _largest_tail(
    concentration: float, rows: NDArray[np.float64], min_count: int, epsilon: float
) -> float:
    """Compute the largest tail of the privacy loss over ordered pairs of classes."""
    parameters = concentration * rows
    tails = []
    for i, j in permutations(range(rows.shape[1]), 2):
        enough = rows[:, i] > min_count
        first, second = parameters[enough, i], parameters[enough, j]
        tails += dirichlet_tail(first, second, concentration, epsilon).tolist()
    return float(max(tails))
