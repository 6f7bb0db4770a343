"""Worst case of a noisy maximum over three or more classes: a search, and a table of its results.

Proofs: docs/theory/divergences.md, "The noisy maximum".
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, owens_t

from secretballot.costs._divergence import (
    cell_bound,
    gaussian_bound,
    log_density,
    log_moments,
    mills_ratio,
    worst_bit,
)
from secretballot.costs._orders import ORDERS, Floats, order_array

#: The ratios of the table: each 4 % above the one before.
RATIOS: Floats = np.geomspace(1e-3, 20.0, 254)
_FILE = "worst_max.npy"
_WHOLE = 2**16 - 1

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_LOG_PRECISION = 36.0  # integrands are followed down to exp(-36) of their peak
_TAIL = 9.0
# Orders of similar tilt (a - 1) w/sigma have suprema near each other and are searched together:
# least and largest tilt, relative precision. Beyond, the Gaussian bound is within a per cent.
_GROUPS = ((0.0, 1.0, 1e-3), (1.0, 4.0, 1e-2), (4.0, 20.0, 4e-2))
_MOST_CELLS = 60_000


@lru_cache(maxsize=4096)
def worst_max(ratio: float, orders: tuple[float, ...] | None = None) -> Floats:
    """Bound the largest cost of a noisy maximum over all votes, of any number of classes.

    `ratio` is the weight of the ballot that moves over the noise on each count. The bound is at
    most the Gaussian one, within a relative 2e-3 of `searched_worst_max`, which takes seconds, and
    infinite at order infinity.
    """
    at = order_array(orders)
    places = np.searchsorted(ORDERS, at)
    listed = np.all(ORDERS[np.minimum(places, len(ORDERS) - 1)] == at)
    if not listed or not RATIOS[0] <= ratio <= RATIOS[-1]:
        return searched_worst_max(ratio, orders)
    cap = gaussian_bound(float(np.sqrt(2)) * ratio, at)
    finite = np.isfinite(at)
    upper = int(np.clip(np.searchsorted(RATIOS, ratio), 1, len(RATIOS) - 1))
    pair = RATIOS[upper - 1 : upper + 1, None]
    costs = _table()[upper - 1 : upper + 1] / _WHOLE * ORDERS[:-1] * pair**2
    ends = np.asarray(costs)[:, places[finite]]
    weight = (ratio - RATIOS[upper - 1]) / (RATIOS[upper] - RATIOS[upper - 1])
    chord = (1 - weight) * ends[0] + weight * ends[1]  # the cost is convex in the ratio
    out = cap.copy()
    out[finite] = np.minimum(chord * (1 + 1e-12), cap[finite])
    out.flags.writeable = False
    return out


@cache
def _table() -> NDArray[np.uint16]:
    """Load shares of the Gaussian bound, in steps of 1/65,535 rounded up."""
    with (files("secretballot.costs") / _FILE).open("rb") as file:
        return np.asarray(np.load(file, allow_pickle=False))


def searched_shares(ratio: float) -> NDArray[np.uint16]:
    """Search one row of the table."""
    searched = searched_worst_max(float(ratio))[:-1]
    return np.ceil(searched / (ORDERS[:-1] * ratio**2) * (1 - 1e-12) * _WHOLE).astype(np.uint16)


@lru_cache(maxsize=1024)
def searched_worst_max(ratio: float, orders: tuple[float, ...] | None = None) -> Floats:
    """Bound `worst_max` by a search of the plane of two counts, at least that of two classes."""
    # Its relative precision is 1e-3, less at orders above sigma/w.
    at = order_array(orders)
    if ratio == 0:
        out = np.zeros(len(at))
    else:
        out = gaussian_bound(np.sqrt(2) * ratio, at)
        pair = worst_bit(float(np.sqrt(2) * ratio), orders)
        tilt = (at - 1) * ratio
        for low, high, tolerance in _GROUPS:
            group = (tilt > low) & (tilt <= high)
            if group.any():
                factor = at[group] - 1
                bound = _search(ratio, at[group], factor * pair[group], tolerance) / factor
                out[group] = np.minimum(out[group], bound)
    out.flags.writeable = False
    return out


def _search(ratio: float, orders: Floats, pair: Floats, tolerance: float) -> Floats:
    """Bound (a - 1) D over the plane from above; `pair` is its value for two classes."""
    tilt = (orders.max() - 1) * ratio
    # Squares by integer corners on a lattice of half their side: centres lie on it too.
    step = 1.0
    low_u, low_v = -(_TAIL + tilt), -(_TAIL + ratio)
    u, v = np.meshgrid(
        np.arange(np.ceil(3 * _TAIL + ratio - low_u)),
        np.arange(np.ceil(3 * _TAIL + tilt - low_v)),
        indexing="ij",
    )
    cells = np.stack([u.ravel(), v.ravel()], axis=1).astype(np.int64)
    cells = cells[low_u + low_v + cells.sum(axis=1) * step <= 2 * _TAIL]
    best = pair.copy()
    upper = best
    while True:
        value, bound = _evaluate(cells, step, (low_u, low_v), ratio, orders)
        best = np.maximum(best, value)
        target = best * (1 + tolerance)
        alive = (bound > target).any(axis=1)
        upper = np.maximum(target, bound[alive].max(axis=0, initial=0.0))
        if not alive.any() or 4 * alive.sum() > _MOST_CELLS:
            break
        corners = 2 * cells[alive]
        cells = np.concatenate([corners + (i, j) for i in (0, 1) for j in (0, 1)])
        step /= 2
    certain = -(orders - 1) * np.log1p(-2 * ndtr(-_TAIL))
    negligible = orders * (orders - 1) * ratio**2 + log_ndtr(-_TAIL)
    return np.asarray(np.logaddexp(upper + certain, negligible))


def _evaluate(
    cells: NDArray[np.int64], step: float, origin: tuple[float, float], ratio: float, orders: Floats
) -> tuple[Floats, Floats]:
    """Compute the largest value at any point, per order, and the bound of each square."""
    offsets = np.array([[0, 0], [0, 2], [2, 0], [2, 2], [1, 1]])
    lattice = (2 * cells[:, None, :] + offsets).reshape(-1, 2)
    span = int(lattice[:, 1].max()) + 1
    keys, index = np.unique(lattice[:, 0] * span + lattice[:, 1], return_inverse=True)
    u = origin[0] + (keys // span) * step / 2
    v = origin[1] + (keys % span) * step / 2
    log_p, log_q = three_way_logs(u, v), three_way_logs(u - ratio, v + ratio)
    value = log_moments(log_p[:, None], log_q[:, None], orders)
    index = index.reshape(len(cells), 5)
    centre = index[:, 4]
    bound = cell_bound(
        value[index[:, :4]].max(axis=1),
        log_p[centre, None],
        log_q[centre, None],
        _slope(u[centre] - ratio, v[centre] + ratio, log_q[centre])[:, None],
        orders,
        shift=float(np.sqrt(2) * ratio),
        step=step,
        dimension=2,
    )
    return value.max(axis=0), bound


def three_way_logs(u: Floats, v: Floats) -> Floats:
    """Compute log probabilities that X, Y or 0 is largest, for X ~ N(u, 1) and Y ~ N(v, 1)."""
    return np.stack([_log_win(u, v), _log_win(v, u), log_ndtr(-u) + log_ndtr(-v)], axis=-1)


def _log_win(u: Floats, v: Floats) -> Floats:
    """Compute log P(X > 0, X > Y), to a relative precision of 1e-11."""
    # Owen's T function is fast and has a small absolute error; small probabilities are integrated.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        win = (
            (ndtr(u) + ndtr((u - v) / np.sqrt(2))) / 2
            - owens_t(u, -v / u)
            - owens_t((u - v) / np.sqrt(2), (u + v) / (u - v))
            - np.where(np.sign(u) * np.sign(u - v) < 0, 0.5, 0.0)
        )
        out = np.log(win)
    small = ~(win > 1e-7) | (np.abs(u) < 1e-6) | (np.abs(u - v) < 1e-6)
    out[small] = _log_win_by_quadrature(u[small], v[small])
    return np.asarray(out)


def _log_win_by_quadrature(u: Floats, v: Floats) -> Floats:
    """Compute the log of int_0^inf phi(x - u) Phi(x - v) dx by Gauss-Legendre quadrature."""
    # The integrand is log-concave: on both sides of its peak it falls at least like a unit normal.
    x = np.maximum(u, (u + v) / 2)
    for _ in range(6):  # Newton; the slope of the logarithm lies in [-2, -1]
        mills = mills_ratio(x - v)
        x = x - (u - x + mills) / (-1 - mills * (x - v + mills))
    peak = np.maximum(x, 0.0)
    fall = np.minimum(u - peak + mills_ratio(peak - v), 0.0)
    reach = np.sqrt(fall**2 + 2 * _LOG_PRECISION)
    low = np.maximum(peak - np.sqrt(2 * _LOG_PRECISION), 0.0)
    half = (peak + fall + reach - low) / 2
    x = (low + half)[..., None] + half[..., None] * _NODES

    def log_integrand(x: Floats, u: Floats, v: Floats) -> Floats:
        return np.asarray(log_ndtr(x - v) - (x - u) ** 2 / 2)

    top = log_integrand(peak, u, v)
    scaled = np.exp(log_integrand(x, u[..., None], v[..., None]) - top[..., None])
    return np.asarray(top + np.log(half * (scaled @ _WEIGHTS)) - np.log(2 * np.pi) / 2)


def _slope(u: Floats, v: Floats, log_q: Floats) -> Floats:
    """Compute the norms of the gradients of `three_way_logs`: densities on the cones' edges."""
    tie = log_density((u - v) / np.sqrt(2)) + log_ndtr((u + v) / np.sqrt(2)) - np.log(2) / 2
    enter_u = log_density(u) + log_ndtr(-v)  # X crosses 0 while Y is below it
    enter_v = log_density(v) + log_ndtr(-u)

    def norm(log_tie: Floats, log_enter: Floats, log_q: Floats) -> Floats:
        tie, enter = np.exp(log_tie - log_q), np.exp(log_enter - log_q)
        return np.asarray(np.hypot(tie + enter, tie))

    neither = np.hypot(np.exp(enter_u - log_q[..., 2]), np.exp(enter_v - log_q[..., 2]))
    return np.stack(
        [norm(tie, enter_u, log_q[..., 0]), norm(tie, enter_v, log_q[..., 1]), neither], axis=-1
    )


if __name__ == "__main__":
    np.save(sys.argv[1], np.stack([searched_shares(ratio) for ratio in RATIOS]))
