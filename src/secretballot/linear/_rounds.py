"""Rounds of a fit of two classes: a noisy sum of residuals, then a new posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._design import FeatureMap, Features, Floats
from secretballot.linear._posterior import Posterior, ReleasedRound, fit_posterior
from secretballot.linear._private_sums import PrivateRows, residual_gains
from secretballot.linear._reference_rows import COPULA_SIZE, ReferenceRows, dense_reference_rows
from secretballot.linear._synthetic_rows import (
    SCORE_BITS,
    column_margins,
    draw_rows,
    public_correlations,
    released_correlations,
)
from secretballot.mechanisms import VectorSum

Release = Callable[[VectorSum, Floats], Floats]
Gains = Callable[[Floats], Floats]

#: Relative rounding of the factors that scale the exact sums.
_ROUNDING = 2.0**-40


def run_rounds(
    rows: PrivateRows,
    features: FeatureMap,
    public: Features | None,
    mechanism: VectorSum,
    release: Release,
    *,
    n_rounds: int,
    n_people: float,
) -> tuple[Posterior, list[Floats]]:
    """Release sums of residuals, each at the posterior of the round before.

    Parameters
    ----------
    rows : PrivateRows
    features : FeatureMap
    public : ndarray, csr_array or None
        Features of the public rows.
    mechanism : VectorSum
        Mechanism of the residuals; its diameter is twice the norm of a row's features.
    release : callable
        Function from a mechanism and sums to noisy sums; the accountant's.
    n_rounds : int
        Number of sums of residuals.
    n_people : float
        Number of private rows or owners of equal weight.

    Returns
    -------
    Posterior
    list of ndarray of shape (n_features, n_columns)
        Released sums of residuals.
    """
    noise = mechanism.sigma / rows.total
    posterior = Posterior.initial(features.n_features, rows.n_columns, len(features.groups))
    noisy, reference = release_first_round(rows, features, public, mechanism, release)
    residuals, rounds = [noisy], []
    for remaining in reversed(range(n_rounds)):
        p = reference.probabilities(posterior.coefficients)
        rounds.append(ReleasedRound(residuals[-1][:, 0] / rows.total, p, residual_gains(p), noise))
        posterior = fit_posterior(rounds, reference, features.groups, posterior, n_people)
        if remaining:
            sums = rows.residual_sums(posterior.coefficients, features.norm, residual_gains)
            residuals.append(release(mechanism, sums))
    return posterior, residuals


def release_first_round(
    rows: PrivateRows,
    features: FeatureMap,
    public: Features | None,
    mechanism: VectorSum,
    release: Release,
    *,
    gains: Gains = residual_gains,
) -> tuple[Floats, ReferenceRows]:
    """Release the residuals of equal probabilities, and return reference rows beside them.

    The means of bins are released with the residuals, and add nothing to their sensitivity. Without
    public rows one more sum is released, the products of columns: see "Stand-in rows" in
    `docs/theory/logistic-regression.md`.
    """
    start = np.zeros((1 + features.n_features, rows.n_columns))
    sums = rows.residual_sums(start, features.norm, gains)
    if not isinstance(features, AdditiveBins):
        assert isinstance(public, np.ndarray)
        return release(mechanism, sums), dense_reference_rows(public)
    wide = replace(mechanism, norm=float(np.sqrt(2)) * features.norm)
    noisy = release(wide, np.concatenate([sums, rows.feature_sums(features.norm)], axis=1))
    noise = mechanism.sigma / rows.total
    residuals, means = noisy[:, :-1], noisy[:, -1] / rows.total
    assert not isinstance(public, np.ndarray)
    margins = column_margins(features, residuals / rows.total, means, noise, public)
    if isinstance(public, csr_array):
        correlations, precisions = public_correlations(margins, public)
    else:
        rounding = _ROUNDING + 2.0**-52 * rows.total
        scale = 2 * features.norm / (float(np.sqrt(2)) + rounding)
        scores = [margin.scores for margin in margins]
        products = release(wide, scale * rows.score_products(scores, SCORE_BITS)[None])[0]
        correlations, precisions = released_correlations(
            margins, products / (scale * rows.total), noise / scale
        )
    synthetic = draw_rows(features, margins, correlations, precisions)
    return residuals, ReferenceRows.from_rows(public, synthetic, COPULA_SIZE)
