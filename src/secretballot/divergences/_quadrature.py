"""Winning probabilities of a noisy maximum, of the data and of all its neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from secretballot.divergences._orders import Floats

_REACH = 9.5  # standard deviations around each peak; beyond lies less than 1e-20 of it
#: Rows that need more are charged the worst case.
MOST_NODES = 8192


class Quadrature:
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
