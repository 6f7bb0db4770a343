"""Label proportions with Laplace noise on the counts and a flat prior on top."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot.divergences import Floats
from secretballot.mechanisms._laplace_proportions import LaplaceProportions
from secretballot.mechanisms._proportions import on_simplex


@dataclass(frozen=True, kw_only=True)
class LaplacePriorProportions(LaplaceProportions):
    """Label proportions: Laplace noise, then each count's posterior mean under a flat prior.

    Charged as `LaplaceProportions`: the prior (every count from 0 to the bag's size is as likely)
    looks at the noisy counts only. It pulls counts away from the ends, and helps where the noise
    is large beside the bag.

    Parameters
    ----------
    scale : float
        Scale of the noise on each count, in labels.
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it, for budgets at order infinity.
        None: charge the Renyi curve.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from secretballot import LaplacePriorProportions, PrivacyAccountant
    >>> accountant = PrivacyAccountant(2, 0, unit="label", order=float("inf"))
    >>> accountant.release(LaplacePriorProportions(scale=1, epsilon=2), [[5, 0, 3]]).sum()
    np.float64(1.0)
    """

    def _estimate(self, noisy: Floats, sizes: Floats) -> Floats:
        return on_simplex(_truncated_mean(noisy, self.scale, sizes) / sizes)


def _truncated_mean(centre: Floats, scale: float, size: Floats) -> Floats:
    """Mean of a Laplace law around `centre`, cut off at 0 and at `size`."""
    inside = np.clip(centre, 0.0, size)
    low, high = inside / scale, (size - inside) / scale
    left, right = -np.expm1(-low), -np.expm1(-high)
    shift = (right - high * np.exp(-high)) - (left - low * np.exp(-low))
    # Outside, what is left is an exponential law from the nearer end, whatever the distance: the
    # same as at that end.
    return np.asarray(np.clip(inside + scale * shift / (left + right), 0.0, size))
