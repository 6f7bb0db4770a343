"""Winning probabilities of a noisy maximum, of the data and of all its neighbours.

Grids and their precision: docs/theory/divergences.md, "The noisy maximum".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from secretballot.costs._bit import has_ballot, log_density
from secretballot.costs._orders import Floats

_REACH = 9.5  # standard deviations around each peak; beyond lies less than 1e-20 of it
#: Largest grid of a row; longer ones are charged the worst case.
_MOST_NODES = 8192

#: Largest grid of a row of very many classes, which is integrated by itself.
_MOST_LEVEL_NODES, _MOST_LEVELS = 32_768, 64
#: Expected number of voteless classes above y from which on y wins with less than e^-100.
_NONE_BELOW = 100.0
#: Log probability of impossible outcomes.
_NEVER = -1e4


class Quadrature:
    """Winning probabilities of a block of rows and of all their neighbours on one grid.

    They are sums over y of f_k(y) prod_{l != k} F_l(y) with F_l = Phi(y - n_l) and its density f_l.
    A neighbour changes the factors of two classes.
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
        # No peak lies below the middle of the lowest and the highest count: there y - n_k is less
        # than n_top - y, and the slope of log F_top exceeds that.
        return np.asarray((scaled.min(axis=1) + scaled.max(axis=1)) / 2 - ratio - _REACH)

    @classmethod
    def nodes(cls, scaled: Floats, ratio: float) -> NDArray[np.int64]:
        """Compute the number of nodes that each row needs."""
        n_classes = scaled.shape[1]
        # The highest peak solves t = (c - 1) phi(t)/Phi(t), and sqrt(2 log c) + 1 is beyond it.
        high = scaled.max(axis=1) + ratio + np.sqrt(2 * np.log(n_classes)) + 1 + _REACH
        span = (high - cls._low(scaled, ratio)) / cls._step(n_classes)
        return np.asarray(np.ceil(np.minimum(span, 1e9)) + 1).astype(np.int64)

    @classmethod
    def fits(cls, scaled: Floats, ratio: float) -> NDArray[np.bool_]:
        """Check which rows have a grid that is small enough to be evaluated."""
        nodes = cls.nodes(scaled, ratio)
        return (nodes <= _MOST_NODES) & (ratio * nodes <= 40 * _MOST_NODES)

    def log_probabilities(self) -> Floats:
        """Compute the log probabilities of the rows themselves, shape (n_rows, n_classes)."""
        terms, top = _terms(self._x, self._others, 0.0)
        return np.asarray(np.log(terms.sum(axis=-1)) + top + np.log(self.step))

    def neighbours(self) -> Floats:
        """Compute the log probabilities of all neighbours, shape (n_rows, n_classes**2, n_classes).

        At position i * n_classes + j a ballot moves from class i to class j.
        """
        n_rows, n_classes, n_nodes = self._x.shape
        loses = np.exp(log_ndtr(self._x + self._ratio) - self._log_cdf)  # F_i with a ballot less
        gains = np.exp(log_ndtr(self._x - self._ratio) - self._log_cdf)  # F_j with one more
        pair = (loses[:, :, None] * gains[:, None]).reshape(n_rows, -1, n_nodes)

        shifts = 0.0, self._ratio, -self._ratio
        (same, same_top), (less, less_top), (more, more_top) = (
            _terms(self._x, self._others, shift) for shift in shifts
        )
        with np.errstate(divide="ignore"):
            out = np.log(pair @ same.swapaxes(1, 2)) + same_top[:, None]
            giver = np.log(less @ gains.swapaxes(1, 2)) + less_top[..., None]
            taker = np.log(loses @ more.swapaxes(1, 2)) + more_top[:, None]
        grid = out.reshape(n_rows, n_classes, n_classes, n_classes)
        i, j = np.meshgrid(np.arange(n_classes), np.arange(n_classes), indexing="ij")
        grid[:, i, j, i] = giver
        grid[:, i, j, j] = taker
        return np.asarray(out + np.log(self.step))


class LevelQuadrature:
    """Winning probabilities of one row of very many classes, and of all its neighbours.

    Classes with equal votes form a level; probabilities are those of one class of each level.
    `levels` are the distinct counts over the noise, the lowest first; `sizes` are their exact
    numbers of classes, such as 2^300.
    """

    def __init__(self, levels: Floats, sizes: Sequence[int], ratio: float) -> None:
        self.sizes = tuple(sizes)
        self._levels, self._ratio = levels, ratio
        self._log_sizes = log_counts(sizes)
        self.step = 0.15 / math.sqrt(2 * math.log(sum(sizes)) + 1)
        self._low = (levels[0] + levels[-1]) / 2 - ratio - _REACH  # as in `Quadrature`
        lacking = math.log(_NONE_BELOW) - self._log_sizes[0]
        if lacking < -1:
            self._low = max(self._low, levels[0] - ndtri_exp(lacking))
        most = math.sqrt(2 * np.logaddexp.reduce(self._log_sizes)) + 1
        span = levels[-1] + ratio + most + _REACH - self._low
        self.n_nodes = int(min(span / self.step, 1e9)) + 2

    @property
    def fits(self) -> bool:
        """True if the grid is small enough to be evaluated."""
        return self.n_nodes <= _MOST_LEVEL_NODES and len(self.sizes) <= _MOST_LEVELS

    def _evaluate(self) -> None:
        y = self._low + self.step * np.arange(self.n_nodes)
        self._x = y - self._levels[:, None]
        self._log_cdf = log_ndtr(self._x)
        with np.errstate(divide="ignore", over="ignore"):
            # Far up -log Phi(x) is Phi(-x), of which only the logarithm fits a float.
            log_rate = np.where(self._x > 8, log_ndtr(-self._x), np.log(-self._log_cdf))
            total = -np.exp(self._log_sizes[:, None] + log_rate).sum(axis=0)
        self._others = total - self._log_cdf

    def log_probabilities(self) -> Floats:
        """Compute the log probability of one class of each level, shape (n_levels,)."""
        self._evaluate()
        terms, top = _terms(self._x, self._others, 0.0)
        return np.asarray(np.log(terms.sum(axis=-1)) + top + math.log(self.step))

    def neighbours(self) -> tuple[Floats, Floats]:
        """Compute log probabilities on the data and on each neighbour, shapes (n, 2 + n_levels).

        A ballot moves from a class that has one to any other. The outcomes are the class that loses
        it, the class that gains it, and the other classes of each level together, which are equally
        likely. Impossible outcomes have the same tiny probability on both sides.
        """
        levels = self.log_probabilities()
        ratio, n_levels = self._ratio, len(self.sizes)
        givers = np.flatnonzero(has_ballot(self._levels, ratio, self._levels[-1]))
        if not givers.size:  # no class has a ballot of this weight
            givers = np.arange(n_levels)
        shifts = 0.0, ratio, -ratio
        (same, same_top), (less, less_top), (more, more_top) = (
            _terms(self._x, self._others, shift) for shift in shifts
        )
        # Log numbers of classes of each level, of all but none, one or two.
        log_numbers = np.stack([log_counts(n - k for n in self.sizes) for k in range(3)])
        on_data, on_neighbour = [], []
        with np.errstate(all="ignore"):  # overflow is charged the worst case
            loses = np.exp(log_ndtr(self._x + ratio) - self._log_cdf)
            gains = np.exp(log_ndtr(self._x - ratio) - self._log_cdf)
            for i in givers.tolist():
                takers = [j for j in range(n_levels) if j != i or self.sizes[i] > 1]
                n_moved = np.eye(n_levels, dtype=int)[takers]
                n_moved[:, i] += 1
                others = log_numbers[n_moved, np.arange(n_levels)]
                giver = np.log(less[i] @ gains[takers].T) + less_top[i]
                taker = np.log((more[takers] * loses[i]).sum(axis=-1)) + more_top[takers]
                bystander = np.log((gains[takers] * loses[i]) @ same.T) + same_top
                moved = np.column_stack([giver, taker, bystander]) + math.log(self.step)
                moved[:, 2:] += others
                data = [np.full(len(takers), levels[i]), levels[takers], levels + others]
                none = np.pad(np.isneginf(others), ((0, 0), (2, 0)))
                on_data.append(np.where(none, _NEVER, np.column_stack(data)))
                on_neighbour.append(np.where(none, _NEVER, moved))
        return np.concatenate(on_data), np.concatenate(on_neighbour)


def log_counts(numbers: Iterable[int]) -> Floats:
    """Compute the logarithms of exact numbers, which may be too large for a float."""
    return np.array([math.log(number) if number > 0 else -math.inf for number in numbers])


def _terms(x: Floats, others: Floats, shift: float) -> tuple[Floats, Floats]:
    """Compute the terms of the sums, over the largest of each, and its logarithm."""
    log_terms = log_density(x + shift) + others
    top = log_terms.max(axis=-1)
    return np.exp(log_terms - top[..., None]), top
