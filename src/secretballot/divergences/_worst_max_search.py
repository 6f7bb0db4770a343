"""The worst case of a noisy maximum over three or more classes, searched."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, owens_t

from secretballot.divergences._bit import gaussian_bound, worst_bit
from secretballot.divergences._divergence import log_moments
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences._supremum import cell_bound

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_LOG_PRECISION = 36.0  # integrands are followed down to exp(-36) of their peak
_TAIL = 9.0
# Orders of similar tilt (a - 1) w/sigma have suprema near each other and are searched together:
# least and largest tilt, relative precision. Beyond, the Gaussian bound is within a per cent.
_GROUPS = ((0.0, 1.0, 1e-3), (1.0, 4.0, 1e-2), (4.0, 20.0, 4e-2))
_MOST_CELLS = 60_000


@lru_cache(maxsize=1024)
def searched_worst_max(ratio: float, orders: tuple[float, ...] | None = None) -> Floats:
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
        At least the supremum over all votes and all neighbours; never above the Gaussian bound
        a w^2/sigma^2, nor below two classes' `worst_bit`. Infinite at order infinity.

    Notes
    -----
    The ballot moves from class i to class j. Condition on z, the largest noisy count among the
    classes it doesn't touch: exp((a - 1) D) is jointly convex, so D is at most its supremum over
    theta = (u, v) = ((n_i - z)/sigma, (n_j - z)/sigma) for the three outcomes i, j and neither,
    with the neighbour at (u - r, v + r). The plane is cut into squares, each with a certified upper
    bound (`_supremum`). Squares that can't reach the best value found are dropped, the others cut
    finer, down to a relative 1e-3 (less at orders above sigma/w).

    Where the plane is not searched one outcome is negligible (R = 9, t = (a - 1) r). If
    v + r <= -R or u + t <= -R, one of the two never beats z, and if u + v >= 2R, one of the two
    always does: then the others are, up to factors 1 - 2 Phi(-R) in q, a noisy bit with shift r or
    sqrt(2) r, and the negligible outcome adds at most exp(a (a - 1) r^2) Phi(-R) to the moment.
    """
    at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
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
                found = _search(ratio, at[group], factor * pair[group], tolerance) / factor
                out[group] = np.minimum(out[group], found)
    out.flags.writeable = False
    return out


def _search(ratio: float, orders: Floats, pair: Floats, tolerance: float) -> Floats:
    """Bound (a - 1) D over the plane; `pair` is the same for two classes."""
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
    cells: NDArray[np.int64],
    step: float,
    origin: tuple[float, float],
    ratio: float,
    orders: Floats,
) -> tuple[Floats, Floats]:
    """Return the largest value at any point, per order, and each square's bound."""
    offsets = np.array([[0, 0], [0, 2], [2, 0], [2, 2], [1, 1]])
    lattice = (2 * cells[:, None, :] + offsets).reshape(-1, 2)
    span = int(lattice[:, 1].max()) + 1
    keys, index = np.unique(lattice[:, 0] * span + lattice[:, 1], return_inverse=True)
    u = origin[0] + (keys // span) * step / 2
    v = origin[1] + (keys % span) * step / 2
    at, other = three_way_logs(u, v), three_way_logs(u - ratio, v + ratio)
    value = log_moments(at[:, None], other[:, None], orders)
    index = index.reshape(len(cells), 5)
    centre = index[:, 4]
    bound = cell_bound(
        value[index[:, :4]].max(axis=1),
        at[centre, None],
        other[centre, None],
        _slope(u[centre] - ratio, v[centre] + ratio, other[centre])[:, None],
        orders,
        shift=float(np.sqrt(2) * ratio),
        step=step,
        dimension=2,
    )
    return value.max(axis=0), bound


def three_way_logs(u: Floats, v: Floats) -> Floats:
    """Log probabilities that X wins, Y wins, neither does, for X ~ N(u, 1), Y ~ N(v, 1) above 0."""
    return np.stack([_log_win(u, v), _log_win(v, u), log_ndtr(-u) + log_ndtr(-v)], axis=-1)


def _log_win(u: Floats, v: Floats) -> Floats:
    """Log of P(X > 0, X > Y), to a relative precision of 1e-11.

    A bivariate normal probability with correlation 1/sqrt(2): by Owen's T function, which is fast
    and precise in absolute terms, unless the probability is small.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        win = (
            (ndtr(u) + ndtr((u - v) / np.sqrt(2))) / 2
            - owens_t(u, -v / u)
            - owens_t((u - v) / np.sqrt(2), (u + v) / (u - v))
            - np.where(np.sign(u) * np.sign(u - v) < 0, 0.5, 0.0)
        )
        out = np.log(win)
    rest = ~(win > 1e-7) | (np.abs(u) < 1e-6) | (np.abs(u - v) < 1e-6)
    out[rest] = _log_win_by_quadrature(u[rest], v[rest])
    return np.asarray(out)


def _log_win_by_quadrature(u: Floats, v: Floats) -> Floats:
    """Log of int_0^inf phi(x - u) Phi(x - v) dx.

    Gauss-Legendre around the peak of the log-concave integrand, which falls at least as fast as a
    Gaussian of unit variance on either side of it.
    """
    x = np.maximum(u, (u + v) / 2)
    for _ in range(6):  # Newton; the slope of the logarithm lies in [-2, -1]
        mills = _mills(x - v)
        x = x - (u - x + mills) / (-1 - mills * (x - v + mills))
    peak = np.maximum(x, 0.0)
    fall = np.minimum(u - peak + _mills(peak - v), 0.0)
    reach = np.sqrt(fall**2 + 2 * _LOG_PRECISION)
    low = np.maximum(peak - np.sqrt(2 * _LOG_PRECISION), 0.0)
    half = (peak + fall + reach - low) / 2
    x = (low + half)[..., None] + half[..., None] * _NODES

    def log_integrand(x: Floats, u: Floats, v: Floats) -> Floats:
        return np.asarray(log_ndtr(x - v) - (x - u) ** 2 / 2)

    top = log_integrand(peak, u, v)
    scaled = np.exp(log_integrand(x, u[..., None], v[..., None]) - top[..., None])
    return np.asarray(top + np.log(half * (scaled @ _WEIGHTS)) - np.log(2 * np.pi) / 2)


def _mills(x: Floats) -> Floats:
    """phi(x) / Phi(x), the slope of log Phi."""
    return np.asarray(np.exp(_log_density(x) - log_ndtr(x)))


def _slope(u: Floats, v: Floats, log_q: Floats) -> Floats:
    """Norms of the gradients of the three log probabilities: densities on the cones' edges."""
    tie = _log_density((u - v) / np.sqrt(2)) + log_ndtr((u + v) / np.sqrt(2)) - np.log(2) / 2
    enter_u = _log_density(u) + log_ndtr(-v)  # X crosses 0 while Y is below it
    enter_v = _log_density(v) + log_ndtr(-u)

    def norm(log_tie: Floats, log_enter: Floats, log_q: Floats) -> Floats:
        tie, enter = np.exp(log_tie - log_q), np.exp(log_enter - log_q)
        return np.asarray(np.hypot(tie + enter, tie))

    neither = np.hypot(np.exp(enter_u - log_q[..., 2]), np.exp(enter_v - log_q[..., 2]))
    return np.stack(
        [norm(tie, enter_u, log_q[..., 0]), norm(tie, enter_v, log_q[..., 1]), neither], axis=-1
    )


def _log_density(x: Floats) -> Floats:
    return np.asarray(-(x**2) / 2 - np.log(2 * np.pi) / 2)
