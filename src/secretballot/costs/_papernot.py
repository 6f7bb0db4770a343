"""The published data-dependent bound for a noisy maximum, for comparison with published tables."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from secretballot.costs._orders import ORDERS, Floats


def papernot_bound(
    counts: Floats,
    sigma: float,
    weight: float = 1.0,
    orders: Floats = ORDERS,
    n_classes: int | None = None,
) -> Floats:
    """Compute the data-dependent bound of Papernot et al. for a noisy maximum, in one direction.

    At most the data-independent a w^2/sigma^2. Votes and noise are divided by the `weight` of a
    ballot (Boenisch et al., 2023, Corollary 1). Classes beyond the columns of `counts`, up to
    `n_classes`, have no votes.

    Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson, "Scalable Private Learning with
    PATE" (ICLR 2018): Proposition 7 (q) and Theorem 6 (A, B and the conditions).
    """
    noise = sigma / weight
    votes = np.asarray(counts, dtype=np.float64) / weight
    return bound_of_loss(log_losses(votes, noise, n_classes)[:, None], noise, orders)


def log_losses(votes: Floats, noise: float, n_classes: int | None = None) -> Floats:
    """Bound the log probability q of each row that the largest count does not win."""
    top = votes.argmax(axis=1)
    behind = votes[np.arange(len(votes)), top][:, None] - votes
    log_wins = log_ndtr(-behind / (np.sqrt(2) * noise))  # log of erfc(behind / (2 sigma)) / 2
    log_wins[np.arange(len(votes)), top] = -np.inf
    log_q = np.logaddexp.reduce(log_wins, axis=1)
    if n_classes is not None and n_classes > votes.shape[1]:
        unseen = log_ndtr(-votes.max(axis=1) / (np.sqrt(2) * noise))
        log_q = np.logaddexp(log_q, unseen + math.log(n_classes - votes.shape[1]))
    return np.asarray(log_q)


def bound_of_loss(log_q: Floats, noise: float, orders: Floats) -> Floats:
    """Compute the bound from log q and the orders, which broadcast."""
    independent = orders / noise**2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mu2 = noise * np.sqrt(-log_q)
        mu1 = mu2 + 1
        epsilon1, epsilon2 = mu1 / noise**2, mu2 / noise**2
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
