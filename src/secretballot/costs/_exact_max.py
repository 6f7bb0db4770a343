"""Winning probabilities of a noisy maximum, and its cost on known votes, exact or bounded.

Grids and their precision, and several ballots: docs/theory/divergences.md, "The noisy maximum" and
"Several ballots".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from secretballot.costs._divergence import (
    exact_bit,
    gaussian_bound,
    has_ballot,
    largest_divergence,
    log_density,
    round_up,
)
from secretballot.costs._orders import ORDERS, Floats
from secretballot.costs._worst_max import worst_max

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
        n_classes = scaled.shape[1]
        # The highest peak solves t = (c - 1) phi(t)/Phi(t), and sqrt(2 log c) + 1 is beyond it.
        high = scaled.max(axis=1) + ratio + np.sqrt(2 * np.log(n_classes)) + 1 + _REACH
        span = (high - cls._low(scaled, ratio)) / cls._step(n_classes)
        return np.asarray(np.ceil(np.minimum(span, 1e9)) + 1).astype(np.int64)

    @classmethod
    def fits(cls, scaled: Floats, ratio: float) -> NDArray[np.bool_]:
        nodes = cls.nodes(scaled, ratio)
        return (nodes <= _MOST_NODES) & (ratio * nodes <= 40 * _MOST_NODES)

    def log_probabilities(self) -> Floats:
        """Compute the log probabilities of the rows themselves, (n_rows, n_classes)."""
        terms, top = _terms(self._x, self._others, 0.0)
        return np.asarray(np.log(terms.sum(axis=-1)) + top + np.log(self.step))

    def neighbours(self) -> Floats:
        """Compute log probabilities on all neighbours: at i * n_classes + j, i gives j a ballot."""
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
        """Compute the log probability of one class of each level."""
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


_FINEST, _FARTHEST = 1 / 256, -35.0  # grid of quantiles to which probabilities are rounded up
_CUTS = np.concatenate([[0.0], ndtr(np.linspace(-6, 6, 49)), [1.0]])
_BLOCK_VALUES = 2_000_000


def several_ballots(log_probabilities: Floats, ratio: float) -> Floats:
    """Bound the cost if several ballots move, whose weights sum to `ratio` times the noise."""
    # Winners on the data, (n_rows, n_classes).
    logs = np.sort(log_probabilities, axis=1)
    return bound_from_loss(np.logaddexp.reduce(logs[:, :-1], axis=1), ratio)


def bound_from_loss(log_loss: Floats, ratio: float) -> Floats:
    """Bound that cost by the log probability that the likeliest class does not win."""
    shift = float(np.sqrt(2)) * ratio
    log_loss = np.minimum(log_loss, -1e-9)
    # A higher probability never costs less, so it is rounded up to a grid of quantiles.
    quantile = np.ceil(np.maximum(ndtri_exp(log_loss), _FARTHEST) / _FINEST) * _FINEST
    quantiles, inverse = np.unique(quantile, return_inverse=True)
    out = np.full((len(quantiles), len(ORDERS)), np.inf)
    size = max(1, _BLOCK_VALUES // (len(_CUTS) * len(ORDERS)))
    for start in range(0, len(quantiles), size):
        loss = ndtr(quantiles[start : start + size])
        out[start : start + size, :-1] = _bound(loss, shift, ORDERS[:-1])
    return np.asarray(np.minimum(out, gaussian_bound(shift))[inverse.ravel()])


def _bound(loss: Floats, shift: float, orders: Floats) -> Floats:
    """Bound the cost where another class wins with probability `loss`, shape (n_rows, n_orders)."""
    q = loss[:, None, None]
    below, above = q * _CUTS, q * _CUTS[::-1]  # probability on either side of the atom
    a = orders[None, :, None]
    left_tail, right_tail = ndtri(below), -ndtri(above)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        # The atom's probability on the neighbour over that on the data, and the likelihood ratios
        # at its two ends. All three fall with the probability below it.
        mass = 1 - ndtr(-right_tail - shift) - ndtr(left_tail + shift)
        mean = mass / (1 - q)
        first, last = (np.exp(-shift * x - shift**2 / 2) for x in (left_tail, right_tail))
        growth = np.exp(a * (a - 1) * shift**2 / 2)

        tails = growth * ndtr(left_tail + a * shift), growth * ndtr(-right_tail - a * shift)
        atom = (1 - q) * mean**a
        forward = _largest(
            tails,
            atom,
            atom[..., :-1],
            rise=first[..., :-1] ** a
            - last[..., 1:] ** a
            - a * mean[..., 1:] ** (a - 1) * _positive(first[..., 1:] - last[..., :-1]),
            fall=last[..., :-1] ** a
            - first[..., 1:] ** a
            + a * mean[..., :-1] ** (a - 1) * (first[..., :-1] - last[..., 1:]),
            width=np.diff(below),
        )
        tails = (
            growth * ndtr(left_tail - (a - 1) * shift),
            growth * ndtr(-right_tail + (a - 1) * shift),
        )
        atom = (1 - q) * mean ** (1 - a)
        backward = _largest(
            tails,
            atom,
            atom[..., 1:],
            rise=first[..., 1:] ** (1 - a)
            - last[..., :-1] ** (1 - a)
            + (a - 1) * mean[..., 1:] ** -a * (first[..., :-1] - last[..., 1:]),
            fall=last[..., 1:] ** (1 - a)
            - first[..., :-1] ** (1 - a)
            - (a - 1) * mean[..., :-1] ** -a * _positive(first[..., 1:] - last[..., :-1]),
            width=np.diff(below),
        )
    rounding = 1e-15 * (orders + 10)
    moment = np.log(np.maximum(np.maximum(forward, backward), 1.0) + rounding)
    return np.asarray(moment / (orders - 1) * round_up(shift))


def _largest(
    tails: tuple[Floats, Floats],
    atom: Floats,
    largest_atom: Floats,
    *,
    rise: Floats,
    fall: Floats,
    width: Floats,
) -> Floats:
    """Bound the maximum over all cells: the left tail rises along them, the right one falls."""
    left_tail, right_tail = tails
    value = left_tail + right_tail + atom
    ends = np.minimum(
        value[..., :-1] + width * _positive(rise), value[..., 1:] + width * _positive(fall)
    )
    apart = left_tail[..., 1:] + right_tail[..., :-1] + largest_atom
    bound = np.fmin(np.where(np.isnan(ends), np.inf, ends), apart)
    return np.asarray(np.where(np.isnan(bound), np.inf, bound).max(axis=-1))


def _positive(values: Floats) -> Floats:
    return np.asarray(np.where(np.isnan(values), np.inf, np.maximum(values, 0.0)))


def papernot_bound(log_loss: Floats, sigma: float) -> Floats:
    """Compute the data-dependent bound of Papernot et al. for a noisy maximum, in one direction.

    At most the data-independent a/sigma^2. `log_loss` bounds the log probability of each row that
    the largest count does not win, for ballots of weight 1.

    Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson, "Scalable Private Learning with
    PATE" (ICLR 2018): Theorem 6 (A, B and the conditions), with q = exp(`log_loss`).
    """
    log_q, orders = log_loss[:, None], ORDERS
    independent = orders / sigma**2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mu2 = sigma * np.sqrt(-log_q)
        mu1 = mu2 + 1
        epsilon1, epsilon2 = mu1 / sigma**2, mu2 / sigma**2
        valid = (
            (log_q < 0)
            & (orders <= mu1)
            & (mu2 > 1)
            & (
                log_q
                <= (mu2 - 1) * epsilon2 - mu2 * (np.log(mu1 / (mu1 - 1)) + np.log(mu2 / (mu2 - 1)))
            )
            & (-log_q > epsilon2)
        )
        log_a = np.log1p(-np.exp(log_q)) - np.log1p(-np.exp((log_q + epsilon2) * (mu2 - 1) / mu2))
        log_b = epsilon1 - log_q / (mu1 - 1)
        moment = np.logaddexp(
            np.log1p(-np.exp(log_q)) + (orders - 1) * log_a, log_q + (orders - 1) * log_b
        )
        bound = np.maximum(moment / (orders - 1), 0.0)
    return np.where(valid, np.minimum(bound, independent), independent)


def max_log_probabilities(counts: Floats, sigma: float) -> Floats:
    """Compute the log probability that each class wins, to 1e-13 however small."""
    scaled = np.asarray(counts, dtype=np.float64) / sigma
    return Quadrature(scaled, 0.0).log_probabilities()


def exact_max(counts: Floats, sigma: float, weight: float = 1.0, ballots: int = 1) -> Floats:
    """Compute the cost of a noisy maximum on known votes: every neighbour, both directions.

    A neighbour moves `ballots` ballots of `weight`, from classes that have them to any others. For
    several ballots among three or more classes it is a bound. Rows whose votes are hundreds of
    `sigma` apart are charged the worst case. `counts` has shape (n_rows, n_classes), the cost
    (n_rows, n_orders).
    """
    votes = np.asarray(counts, dtype=np.float64)
    if votes.shape[1] == 2:
        gap = (votes[:, 0] - votes[:, 1]) / (np.sqrt(2) * sigma)
        # One of the ballots is enough.
        can_widen = has_ballot(votes.min(axis=1), weight, votes.sum(axis=1))
        shift = np.sqrt(2) * ballots * weight / sigma
        return exact_bit(gap, shift, can_widen=can_widen)
    ratio = ballots * weight / sigma
    cap = gaussian_bound(np.sqrt(2) * ratio) if ballots == 1 else worst_max(ratio)
    # The cost is the same for any order of the classes, and equal rows need one evaluation.
    rows, inverse = np.unique(-np.sort(-votes, axis=1), axis=0, return_inverse=True)
    scaled = rows / sigma
    out = np.empty((len(rows), len(ORDERS)))
    nodes = Quadrature.nodes(scaled, ratio)
    fits = Quadrature.fits(scaled, ratio)
    if not fits.all():
        out[~fits] = worst_max(ratio)
    by_size = np.flatnonzero(fits)[np.argsort(nodes[fits], kind="stable")]
    while len(by_size):
        size = max(1, int(_BLOCK_VALUES / (nodes[by_size[-1]] * votes.shape[1] ** 2)))
        block, by_size = by_size[-size:], by_size[:-size]
        if ballots == 1:
            out[block] = _exact_block(scaled[block], ratio)
        else:
            logs = Quadrature(scaled[block], 0.0).log_probabilities()
            out[block] = several_ballots(logs, ratio)
    np.minimum(out, cap, out=out)
    return np.asarray(out[inverse.ravel()])


def _exact_block(scaled: Floats, ratio: float) -> Floats:
    n_classes = scaled.shape[1]
    quadrature = Quadrature(scaled, ratio)
    data = quadrature.log_probabilities()[:, None, :]
    giver, taker = np.divmod(np.arange(n_classes**2), n_classes)
    # A neighbour needs a ballot to move.
    possible = has_ballot(scaled, ratio, scaled.sum(axis=1)[:, None])[:, giver] & (giver != taker)
    possible |= ~possible.any(axis=1, keepdims=True) & (giver != taker)
    # Impossible neighbours are replaced by the data, so that their divergence is 0.
    neighbours = np.where(possible[..., None], quadrature.neighbours(), data)
    return largest_divergence(data, neighbours) * round_up(ratio)


def largest_normal(log_rate: Floats) -> Floats:
    """Transform log(E/m), E ~ Exp(1), into the largest of m standard normals; -inf for m = 0."""
    rate = np.exp(np.minimum(log_rate, 700.0))
    small = rate < 1e-8
    log_tail = np.where(small, log_rate - rate / 2, np.log(-np.expm1(-np.where(small, 1.0, rate))))
    high = -ndtri_exp(np.where(rate < 0.5, log_tail, -1.0))
    return np.asarray(np.where(rate < 0.5, high, ndtri_exp(-np.exp(np.maximum(log_rate, -1.0)))))


def level_quadrature(counts: Floats, n_classes: int, sigma: float, ratio: float) -> LevelQuadrature:
    """Set up the integrals of one row of `n_classes`; classes beyond `counts` have no votes."""
    values, multiplicities = np.unique(np.append(counts, 0.0), return_counts=True)
    # The lowest value is the 0 that was added, for all classes without votes; perhaps for none.
    first, *others = multiplicities.tolist()
    first += n_classes - len(counts) - 1
    sizes = [first, *others] if first else others
    return LevelQuadrature(values[-len(sizes) :] / sigma, sizes, ratio)


def exact_level_max(
    counts: Floats, n_classes: int, sigma: float, weight: float = 1.0, ballots: int = 1
) -> Floats:
    """Compute `exact_max` of very many classes; those beyond the columns have no votes."""
    votes = np.asarray(counts, dtype=np.float64)
    ratio = ballots * weight / sigma
    worst = worst_max(ratio)
    # The log sizes of levels are added and subtracted again, which rounds.
    rounding = round_up(ratio / (1 + math.log(n_classes)))
    cap = gaussian_bound(np.sqrt(2) * ratio) if ballots == 1 else worst
    rows, inverse = np.unique(-np.sort(-votes, axis=1), axis=0, return_inverse=True)
    out = np.empty((len(rows), len(ORDERS)))
    for number, row in enumerate(rows):
        quadrature = level_quadrature(row, n_classes, sigma, ratio)
        cost = worst
        if quadrature.fits and ballots == 1:
            data, neighbours = quadrature.neighbours()
            if np.isfinite(neighbours).all():
                cost = largest_divergence(data[None], neighbours[None])[0] * rounding
        elif quadrature.fits:
            # The class with the most votes does not win.
            others = log_counts([*quadrature.sizes[:-1], quadrature.sizes[-1] - 1])
            log_loss = np.logaddexp.reduce(quadrature.log_probabilities() + others)
            cost = bound_from_loss(np.array([log_loss]), ratio)[0]
        out[number] = np.minimum(cost, cap)
    return np.asarray(out[inverse.ravel()])
