"""Who wins of integer counts with Skellam noise, with which probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences._orders import Floats
from secretballot.divergences.integer._skellam import skellam

#: Standard deviations, and places on top of them, beyond which there is no noise to speak of.
_TAIL, _MORE = 20.0, 100


def winner_log_probabilities(counts: ArrayLike, variance: float) -> Floats:
    """Log probability that each class has the largest noisy count, of equal ones the first.

    Parameters
    ----------
    counts : array-like of int of shape (n_rows, n_classes)
    variance : float
        Of the noise on each count.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    votes = np.asarray(counts).astype(np.int64)
    far = int(np.ceil(_TAIL * np.sqrt(variance))) + _MORE
    out = np.empty(votes.shape)
    for row, log_p in zip(votes, out, strict=True):
        # No winner is below the largest count's lowest noise.
        levels = np.arange(row.max() - far, row.max() + far + 1)[:, None]
        table = skellam(variance, 2 * far + int(row.max() - row.min()) + 1)
        up_to, below = table.cdf_at(levels - row), table.cdf_at(levels - 1 - row)
        for winner in range(len(row)):
            others = below[:, :winner].sum(axis=1) + up_to[:, winner + 1 :].sum(axis=1)
            here = table.pmf_at(levels[:, 0] - row[winner])
            log_p[winner] = np.logaddexp.reduce(here + others)
    return out
