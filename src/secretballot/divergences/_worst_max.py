"""The worst case of a noisy maximum over three or more classes, from a table of searches."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences._bit import gaussian_bound
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences._worst_max_search import searched_worst_max

#: The ratios of the table: each 4 % above the one before.
RATIOS: Floats = np.geomspace(1e-3, 20.0, 254)
_FILE = "worst_max.npy"
_WHOLE = 2**16 - 1


@lru_cache(maxsize=4096)
def worst_max(ratio: float, orders: tuple[float, ...] | None = None) -> Floats:
    """Largest cost of a noisy maximum over any number of classes: a certified upper bound.

    Parameters
    ----------
    ratio : float
        Weight of the ballot that moves over the noise on each count, w/sigma.
    orders : tuple of float, default=None
        Orders; the shared grid if None.

    Returns
    -------
    ndarray of shape (n_orders,)
        Within a relative 2e-3 of `searched_worst_max`, which takes seconds; never above the
        Gaussian bound a w^2/sigma^2. Infinite at order infinity.

    Notes
    -----
    With the data fixed, what a neighbour gives each outcome is a Gaussian mass of a convex cell
    that moves linearly with the ratio r, and so log-concave in r (Prekopa). So p^a q^(1 - a) is
    log-convex in r, the sum over outcomes too, and its logarithm (a - 1) D convex; hence also the
    supremum of D over all data. Between two ratios of the table it lies below the chord, which with
    ratios 4 % apart is .04 % above a parabola.
    """
    at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
    found = np.searchsorted(ORDERS, at)
    listed = np.all(ORDERS[np.minimum(found, len(ORDERS) - 1)] == at)
    if not listed or not RATIOS[0] <= ratio <= RATIOS[-1]:
        return searched_worst_max(ratio, orders)
    cap = gaussian_bound(float(np.sqrt(2)) * ratio, at)
    finite = np.isfinite(at)
    upper = int(np.clip(np.searchsorted(RATIOS, ratio), 1, len(RATIOS) - 1))
    ends = _costs(upper)[:, found[finite]]
    weight = (ratio - RATIOS[upper - 1]) / (RATIOS[upper] - RATIOS[upper - 1])
    chord = (1 - weight) * ends[0] + weight * ends[1]
    out = cap.copy()
    out[finite] = np.minimum(chord * (1 + 1e-12), cap[finite])
    out.flags.writeable = False
    return out


def _costs(upper: int) -> Floats:
    """Return the costs at the ratios `upper` - 1 and `upper`, shape (2, n_finite_orders)."""
    ratio = RATIOS[upper - 1 : upper + 1, None]
    return np.asarray(_table()[upper - 1 : upper + 1] / _WHOLE * ORDERS[:-1] * ratio**2)


@cache
def _table() -> NDArray[np.uint16]:
    """Return shares of the Gaussian bound, in steps of 1/65,535 rounded up."""
    with (files("secretballot.divergences") / _FILE).open("rb") as file:
        return np.asarray(np.load(file, allow_pickle=False))


def searched_shares(ratio: float) -> NDArray[np.uint16]:
    """Return one row of the table, searched."""
    searched = searched_worst_max(float(ratio))[:-1]
    return np.ceil(searched / (ORDERS[:-1] * ratio**2) * (1 - 1e-12) * _WHOLE).astype(np.uint16)


if __name__ == "__main__":
    np.save(sys.argv[1], np.stack([searched_shares(ratio) for ratio in RATIOS]))
