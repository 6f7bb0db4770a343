"""Table of expected prices of plans: a start for the search for noise, never a charge."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from secretballot.costs._orders import Floats

_ROWS = np.log([1, 2, 4, 10, 30, 100, 300, 1000, 20_000])
_QUANTILES = -ndtri([1e-4, 1e-6, 5e-8, 1e-10, 1e-12])

#: Shares of the noisy counts' mu^2 that plans of two classes cost, by rows and by their delta.
TWO_CLASSES = np.array(
    [
        [1.000, 1.001, 1.001, 1.008, 1.012],
        [0.861, 0.900, 0.915, 0.937, 0.947],
        [0.766, 0.797, 0.816, 0.848, 0.867],
        [0.697, 0.712, 0.722, 0.741, 0.754],
        [0.6604, 0.6659, 0.6694, 0.6765, 0.6818],
        [0.6449, 0.6470, 0.6481, 0.6503, 0.6520],
        [0.6396, 0.6409, 0.6413, 0.6421, 0.6426],
        [0.6373, 0.6386, 0.6386, 0.6389, 0.6391],
        [0.6383, 0.6384, 0.6386, 0.6387, 0.6388],
    ]
)

#: The same for three and more classes.
MORE_CLASSES = TWO_CLASSES + np.array(
    [
        [0.000, 0.000, 0.000, 0.000, 0.000],
        [0.006, 0.024, 0.029, 0.052, 0.050],
        [0.007, 0.011, 0.016, 0.036, 0.036],
        [0.008, 0.009, 0.010, 0.012, 0.015],
        [0.009, 0.009, 0.0095, 0.0096, 0.0097],
        [0.009, 0.009, 0.0094, 0.0096, 0.0098],
        [0.0098, 0.0098, 0.0096, 0.0093, 0.0092],
        [0.0098, 0.0098, 0.0096, 0.0093, 0.0092],
        [0.0100, 0.0101, 0.0101, 0.0103, 0.0103],
    ]
)


def interpolate_share(n_moves: float, delta: float, shares: Floats = TWO_CLASSES) -> float | None:
    """Interpolate the share of its noisy numbers' mu^2 that a plan costs beside `delta`.

    None outside of the table.
    """
    if n_moves < 1 or not 0 < delta < 1:
        return None
    quantile = float(-ndtri(delta))
    by_rows = [np.interp(quantile, _QUANTILES, row) for row in shares]
    return float(np.interp(math.log(n_moves), _ROWS, by_rows))
