"""The cost of a noisy maximum on votes that are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from secretballot.accounting._bit import exact_bit, gaussian_bound
from secretballot.accounting._cost import ORDERS, Floats
from secretballot.accounting._divergence import round_up
from secretballot.accounting._envelope import largest_log_moment
from secretballot.accounting._several_ballots import several_ballots
from secretballot.accounting._worst_max import worst_max

_REACH = 9.5  # standard deviations around each peak; beyond lies less than 1e-20 of it
_MOST_NODES = 8192
_BLOCK_VALUES = 2_000_000


def max_log_probabilities(counts: Floats, sigma: float) -> Floats:
    """Log probability that each class wins a noisy maximum.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes)
        Votes before the noise.
    sigma : float
        Standard deviation of the noise on each count.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Relative precision about 1e-13, however small the probability.
    """
    scaled = np.asarray(counts, dtype=np.float64) / sigma
    return _Quadrature(scaled, 0.0).unchanged()


def exact_max(
    counts: Floats,
    sigma: float,
    weight: float = 1.0,
    ballots: int = 1,
    orders: Floats = ORDERS,
) -> Floats:
    """Cost of a noisy maximum on known votes: every neighbour, both directions.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes)
    sigma : float
        Standard deviation of the noise on each count.
    weight : float, default=1.0
        Weight of a ballot that a neighbour moves from a class with at least as many votes to
        any other.
    ballots : int, default=1
        How many such ballots, each from any class to any other. With three or more classes the
        cost is then a bound: see `several_ballots`.
    orders : ndarray of shape (n_orders,)

    Returns
    -------
    ndarray of shape (n_rows, n_orders)

    Notes
    -----
    With two classes the outcome is a noisy bit. With more, all probabilities of a row and of its
    neighbours are integrals over the winning noisy count y of products over classes; they share
    one grid, on which the trapezoid rule converges like exp(-2 pi^2/(c h^2)): the integrands'
    logarithms have curvature between -1 and -c, so h = 0.7/sqrt(c) leaves 1e-17. Rows whose grid
    would be longer than 8,192 nodes (votes hundreds of sigma apart) are charged the worst case.
    """
    votes = np.asarray(counts, dtype=np.float64)
    if votes.shape[1] == 2:
        gap = (votes[:, 0] - votes[:, 1]) / (np.sqrt(2) * sigma)
        can_widen = votes.min(axis=1) >= weight  # with one of the ballots, if not with all
        shift = np.sqrt(2) * ballots * weight / sigma
        return exact_bit(gap, shift, orders, can_widen=can_widen)
    ratio = ballots * weight / sigma
    cap = gaussian_bound(np.sqrt(2) * ratio, orders)
    if ballots > 1:
        cap = worst_max(ratio, tuple(orders))
    # The cost doesn't depend on the classes' names, and equal rows need one evaluation.
    rows, inverse = np.unique(-np.sort(-votes, axis=1), axis=0, return_inverse=True)
    scaled = rows / sigma
    out = np.empty((len(rows), len(orders)))
    nodes = _Quadrature.nodes(scaled, ratio)
    wide = (nodes > _MOST_NODES) | (ratio * nodes > 40 * _MOST_NODES)
    if wide.any():
        out[wide] = worst_max(ratio, tuple(orders))
    by_size = np.flatnonzero(~wide)[np.argsort(nodes[~wide], kind="stable")]
    while len(by_size):
        size = max(1, int(_BLOCK_VALUES / (nodes[by_size[-1]] * votes.shape[1] ** 2)))
        block, by_size = by_size[-size:], by_size[:-size]
        if ballots == 1:
            out[block] = _exact_block(scaled[block], ratio, orders)
        else:
            logs = _Quadrature(scaled[block], 0.0).unchanged()
            out[block] = several_ballots(logs, ratio, orders)
    np.minimum(out, cap, out=out)
    return np.asarray(out[inverse.ravel()])


def _exact_block(scaled: Floats, ratio: float, orders: Floats) -> Floats:
    n_rows, n_classes = scaled.shape
    quadrature = _Quadrature(scaled, ratio)
    here, there = quadrature.unchanged()[:, None, :], quadrature.moved()
    here = np.broadcast_to(here, there.shape)
    giver, taker = np.divmod(np.arange(n_classes**2), n_classes)
    # A neighbour needs a ballot to move. (Rounded votes may fall a hair short of the weight.)
    possible = (scaled >= ratio * (1 - 1e-12))[:, giver] & (giver != taker)
    possible |= ~possible.any(axis=1, keepdims=True) & (giver != taker)
    log_p = np.concatenate([here, there], axis=1)
    log_q = np.concatenate([there, here], axis=1)
    both = np.concatenate([possible, possible], axis=1)
    # Impossible neighbours cost nothing: they are the data themselves.
    log_p = np.where(both[..., None], log_p, log_q)
    out = np.empty((n_rows, len(orders)))
    n_finite = len(orders) - int(np.isinf(orders[-1]))
    finite = orders[:n_finite]
    out[:, :n_finite] = largest_log_moment(log_p, log_q, finite) / (finite - 1)
    out[:, n_finite:] = np.maximum((log_p - log_q).max(axis=(1, 2)), 0.0)[:, None]
    return out * round_up(ratio)


class _Quadrature:
    """Winning probabilities of a block of rows and of all their neighbours on one grid.

    Everything is a sum over y of f_k(y) prod_{l != k} F_l(y), with F_l = Phi(y - n_l) and f_k its
    density; a neighbour changes the factors of two classes only.
    """

    def __init__(self, scaled: Floats, ratio: float) -> None:
        self.step = self._step(scaled.shape[1])
        n_nodes = int(self.nodes(scaled, ratio).max(initial=1))
        low = self._low(scaled, ratio)
        y = low[:, None] + self.step * np.arange(n_nodes)
        self._x = y[:, None, :] - scaled[:, :, None]  # (n_rows, n_classes, n_nodes)
        self._ratio = ratio
        self._log_cdf = log_ndtr(self._x)
        self._others = self._log_cdf.sum(axis=1, keepdims=True) - self._log_cdf

    @staticmethod
    def _step(n_classes: int) -> float:
        return float(0.7 / np.sqrt(n_classes))

    @staticmethod
    def _low(scaled: Floats, ratio: float) -> Floats:
        # y - n_k is at most the slope of log F_top, which exceeds n_top - y: no peak lies below
        # the middle of the lowest and the highest count.
        return np.asarray((scaled.min(axis=1) + scaled.max(axis=1)) / 2 - ratio - _REACH)

    @classmethod
    def nodes(cls, scaled: Floats, ratio: float) -> NDArray[np.int64]:
        """Nodes that each row needs."""
        n_classes = scaled.shape[1]
        # The highest peak solves t = (c - 1) phi(t)/Phi(t), and sqrt(2 log c) + 1 is beyond it.
        high = scaled.max(axis=1) + ratio + np.sqrt(2 * np.log(n_classes)) + 1 + _REACH
        span = (high - cls._low(scaled, ratio)) / cls._step(n_classes)
        return np.asarray(np.ceil(np.minimum(span, 1e9)) + 1).astype(np.int64)

    def unchanged(self) -> Floats:
        """Log probabilities of the rows themselves, shape (n_rows, n_classes)."""
        terms, top = self._scaled(self._log_density(0.0) + self._others)
        return np.asarray(np.log(terms.sum(axis=-1)) + top + np.log(self.step))

    def moved(self) -> Floats:
        """Log probabilities of all neighbours.

        Shape (n_rows, n_classes**2, n_classes): the ballot moves from class i to class j at
        position i * n_classes + j of the second axis.
        """
        n_rows, n_classes, n_nodes = self._x.shape
        loses = np.exp(log_ndtr(self._x + self._ratio) - self._log_cdf)  # F_i with a ballot less
        gains = np.exp(log_ndtr(self._x - self._ratio) - self._log_cdf)  # F_j with one more
        pair = (loses[:, :, None] * gains[:, None]).reshape(n_rows, -1, n_nodes)

        kept, kept_top = self._scaled(self._log_density(0.0) + self._others)
        less, less_top = self._scaled(self._log_density(self._ratio) + self._others)
        more, more_top = self._scaled(self._log_density(-self._ratio) + self._others)
        with np.errstate(divide="ignore"):
            out = np.log(pair @ kept.swapaxes(1, 2)) + kept_top[:, None]
            giver = np.log(less @ gains.swapaxes(1, 2)) + less_top[..., None]
            taker = np.log(loses @ more.swapaxes(1, 2)) + more_top[:, None]
        grid = out.reshape(n_rows, n_classes, n_classes, n_classes)
        i, j = np.meshgrid(np.arange(n_classes), np.arange(n_classes), indexing="ij")
        grid[:, i, j, i] = giver
        grid[:, i, j, j] = taker
        return np.asarray(out + np.log(self.step))

    def _log_density(self, shift: float) -> Floats:
        return np.asarray(-((self._x + shift) ** 2) / 2 - np.log(2 * np.pi) / 2)

    @staticmethod
    def _scaled(log_terms: Floats) -> tuple[Floats, Floats]:
        top = log_terms.max(axis=-1)
        return np.exp(log_terms - top[..., None]), top
