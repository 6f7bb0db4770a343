"""Games played out without grids, and adversaries that a price must cover."""

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from secretballot.costs._worst_max import three_way_logs


def end(u, epsilon):
    """ValueFunction of the end of a game with likelihood ratio u = Q/P."""
    return np.maximum(1 - np.exp(epsilon) * np.asarray(u), 0.0)


def bit_laws(gaps, ratio):
    """Pairs (p, q), positive outcome first, for both neighbours of each gap."""
    gaps = np.asarray(gaps, dtype=float)
    p = ndtr(np.concatenate([gaps, gaps]))
    q = ndtr(np.concatenate([gaps - ratio, gaps + ratio]))
    return np.stack([p, 1 - p], axis=1), np.stack([q, 1 - q], axis=1)


def max_laws(points, ratio):
    """Pairs of laws of {i, j, neither} at points (u, v)."""
    u, v = np.asarray(points, dtype=float).T
    return np.exp(three_way_logs(u, v)), np.exp(three_way_logs(u - ratio, v + ratio))


def best_move(laws, *after):
    """Return u -> the best choice's worth; the last of `after` serves the other outcomes."""
    p, q = laws

    def value(u):
        u = np.asarray(u, dtype=float)
        total = np.zeros((len(p), *u.shape))
        for k in range(p.shape[1]):
            leads_to = after[min(k, len(after) - 1)]
            scale = (q[:, k] / p[:, k]).reshape(-1, *[1] * u.ndim)
            total += p[:, k].reshape(scale.shape) * leads_to(u * scale)
        return total.max(axis=0)

    return value


def enumerate_bits(gaps, ratio, n_rows, epsilon):
    """Delta of the best adaptive adversary who may choose these gaps: every branch is followed."""
    value = lambda u: end(u, epsilon)  # noqa: E731
    for _ in range(n_rows):
        value = best_move(bit_laws(gaps, ratio), value)
    return float(value(1.0))


def tied(n_rows, ratio, epsilon, gap=0.0):
    """Delta of n bits at one fixed gap: a binomial against a binomial."""
    k = np.arange(n_rows + 1)
    p, q = ndtr(gap), ndtr(gap - ratio)
    return float(
        np.maximum(binom.pmf(k, n_rows, p) - np.exp(epsilon) * binom.pmf(k, n_rows, q), 0).sum()
    )


def on_a_lattice(ratio, n_rows, epsilon, levels=40):
    """Return the nearest epsilon on a lattice, and there the delta of an adversary who stays on it.

    Nothing is rounded, so this is a lower bound of the game.

    It picks pairs with log p/q = a h and log (1-q)/(1-p) = b h for integers a and b, of all that
    need no larger shift than `ratio`.
    """
    h = np.log(ndtr(ratio / 2) / ndtr(-ratio / 2)) / levels
    a, b = np.meshgrid(np.arange(1, 3 * levels), np.arange(1, 3 * levels), indexing="ij")
    a, b = a.ravel(), b.ravel()
    p = np.expm1(b * h) / (np.exp(b * h) - np.exp(-a * h))
    q = p * np.exp(-a * h)
    need = ndtri(p) - ndtri(q)
    fits = need <= ratio * (1 + 1e-12)
    # Of the pairs with the same a only the largest b tells the most.
    fits &= b == np.array([b[(a == one) & fits].max(initial=0) for one in a])
    a, b, p = a[fits], b[fits], p[fits]
    reach = int(np.ceil((9 * ratio * np.sqrt(n_rows) + epsilon + 4 * ratio) / h))
    width = 3 * levels
    loss = h * np.arange(-reach, reach + 1)
    value = np.maximum(-np.expm1(-loss), 0.0)
    for _ in range(n_rows):
        # Left of the lattice nothing is worth anything; right of it what the end is worth.
        right = -np.expm1(-h * np.arange(reach + 1, reach + width + 1))
        wide = np.concatenate([np.zeros(width), value, right])
        n = len(value)
        value = np.max(
            [
                one * wide[width + up : width + up + n]
                + (1 - one) * wide[width - down : width - down + n]
                for up, down, one in zip(a, b, p, strict=True)
            ],
            axis=0,
        )
    node = round(epsilon / h)
    return node * h, float(value[reach - node])
