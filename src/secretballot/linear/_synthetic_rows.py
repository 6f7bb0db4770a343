"""Synthetic rows in place of public ones, from private means and products that are paid for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._design import Design, Floats
from secretballot.linear._posterior import ReleasedRound, probabilities
from secretballot.linear._private_sums import PrivateRows, residual_gains, rounded_towards_zero
from secretballot.mechanisms import VectorSum

#: Number of synthetic rows. More would be trusted more, and they are approximate.
N_SYNTHETIC = 400
_SEED = 20_200_722
#: Binary places of a bin's score: a product of two scores times an owner's share is exact.
_SCORE_BITS = 10
#: Relative rounding of the factors that scale the exact sums.
_ROUNDING = 2.0**-40


def release_synthetic_rows(
    rows: PrivateRows,
    features: AdditiveBins,
    mechanism: VectorSum,
    release: Callable[[VectorSum, Floats], Floats],
) -> tuple[Design, ReleasedRound]:
    """Release two sums, and draw synthetic rows from them.

    The first sum holds the residuals and the means of all bins, which add nothing to its
    sensitivity. The second holds the products of columns. The sensitivity of each is at most the
    mechanism's diameter: see `docs/theory/logistic-regression.md`, "Without public rows".

    Parameters
    ----------
    rows : PrivateRows
    features : AdditiveBins
        Declared bins.
    mechanism : VectorSum
        Mechanism of the residuals; its diameter is twice the norm of a row's features.
    release : callable
        Function from a mechanism and sums to noisy sums; the accountant's.

    Returns
    -------
    Design
        Features of the synthetic rows.
    ReleasedRound
        The residuals of the first sum.
    """
    norm = features.norm
    start = np.zeros((1 + features.n_features, rows.n_columns))
    sums = np.concatenate([rows.residual_sums(start, norm), rows.feature_sums(norm)], axis=1)
    wide = replace(mechanism, norm=float(np.sqrt(2)) * norm)
    noisy = release(wide, sums) / rows.total
    residuals, means = noisy[:, :-1], noisy[:, -1]
    noise = mechanism.sigma / rows.total
    exact_scores, shares = _bin_scores(features, residuals, means, noise)
    scores = [np.rint(score * 2**_SCORE_BITS) / 2**_SCORE_BITS for score in exact_scores]
    rounding = _ROUNDING + 2.0**-52 * rows.total
    scale = 2 * norm / (float(np.sqrt(2)) + rounding)
    products = release(wide, scale * _column_products(rows, scores)) / (scale * rows.total)
    synthetic = _draw_rows(features, scores, shares, products, noise / scale)
    p = probabilities(np.zeros((N_SYNTHETIC, rows.n_columns)))
    return Design(synthetic), ReleasedRound(residuals, p, residual_gains(p), noise)


def _bin_scores(
    features: AdditiveBins, residuals: Floats, means: Floats, noise: float
) -> tuple[list[Floats], list[Floats]]:
    """Compute for each column a score of each bin, and the bins' shares of the rows.

    The score is the bin's mean residual along the direction in which classes differ most, shrunk
    by the noise.
    """
    scores, shares = [], []
    for low, high in itertools.pairwise(features.ends):
        share = np.maximum(means[low:high], noise)
        share = share / share.sum()
        rates = residuals[low:high] / (share + 2 * noise)[:, None]
        rates = rates - share @ rates
        direction = np.linalg.svd(np.sqrt(share)[:, None] * rates, full_matrices=False)[2][0]
        score = rates @ direction
        largest = float(np.abs(score).max())
        scores.append(score / largest if largest > 0 else score)
        shares.append(share)
    return scores, shares


def _column_products(rows: PrivateRows, scores: Sequence[Floats]) -> Floats:
    """Sum the products of two columns' scores, a vector of length at most 1 for each row.

    No product is rounded, so an owner adds an average of products z z', which is positive
    semidefinite. Rounded row by row it would not be: products of one sign may vanish while those
    of the other survive.
    """
    p = len(scores)
    score_of_bin = np.concatenate(scores)
    bits = rows.share_bits(1.0) - 2 * _SCORE_BITS
    total = np.zeros((p, p))
    for block, one_hot in rows.blocks():
        assert isinstance(one_hot, csr_array)
        z = (score_of_bin[one_hot.indices] * one_hot.data).reshape(-1, p)
        total += (z * rounded_towards_zero(rows.shares[block, None], bits)).T @ z
    upper = np.triu_indices(p)
    twice = np.where(upper[0] == upper[1], 1.0, np.sqrt(2))
    return np.asarray(total[upper] * (twice / p))[None]


def _draw_rows(
    features: AdditiveBins,
    scores: Sequence[Floats],
    shares: Sequence[Floats],
    products: Floats,
    noise: float,
) -> csr_array:
    """Draw one-hot rows from a Gaussian copula with the released correlations of columns."""
    p = len(scores)
    moments = np.zeros((p, p))
    upper = np.triu_indices(p)
    moments[upper] = products.ravel() / np.where(upper[0] == upper[1], 1.0, np.sqrt(2)) * p
    moments = moments + np.triu(moments, 1).T
    means = np.array([share @ score for score, share in zip(scores, shares, strict=True)])
    deviations = np.array(
        [np.sqrt(share @ s**2 - (share @ s) ** 2) for s, share in zip(scores, shares, strict=True)]
    )
    correlations = (moments - np.outer(means, means)) / np.maximum(
        np.outer(deviations, deviations), 4 * noise * p
    )
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(np.clip(correlations, -0.95, 0.95))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    rng = np.random.default_rng(_SEED)  # a public seed: the draws protect nothing
    ranks = ndtr(rng.normal(size=(N_SYNTHETIC, p)) @ root.T)
    codes = np.empty((N_SYNTHETIC, p), dtype=np.intp)
    for column, (score, share) in enumerate(zip(scores, shares, strict=True)):
        order = np.argsort(score)
        position = np.searchsorted(np.cumsum(share[order]), ranks[:, column])
        codes[:, column] = order[position.clip(0, len(order) - 1)] + features.ends[column]
    starts = np.arange(N_SYNTHETIC + 1) * p
    shape = (N_SYNTHETIC, features.n_features)
    return csr_array((np.ones(codes.size), codes.ravel(), starts), shape=shape)
