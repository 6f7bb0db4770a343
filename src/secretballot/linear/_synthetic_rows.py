"""Synthetic one-hot rows: a Gaussian copula of the columns, from private sums and public rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._design import Floats
from secretballot.linear._private_sums import Residuals, RowSums, as_vector
from secretballot.linear._reference_rows import (
    COPULA_SIZE,
    N_SYNTHETIC,
    ReferenceRows,
    dense_reference_rows,
)
from secretballot.linear._response import RoundPlan

_SEED = 20_200_722
#: Binary places of a bin's score: a product of two scores times an owner's share is exact.
SCORE_BITS = 10
#: Half the largest distance of two rows' products of scores.
_PRODUCT_RADIUS = 2.0**-0.5
#: Prior mean and standard deviation of the correlation of two columns' scores.
_CORRELATION, _CORRELATION_DEVIATION = 0.2, 0.3
#: Largest correlation of two columns.
_LARGEST_CORRELATION = 0.95
#: Standard errors by which a released share of private rows may differ from that of public rows:
#: of values, and of missing cells, whose effect no neighbouring bin limits. Shares of missing cells
#: must also differ by so many standard deviations of the noise, as most columns have no such cells.
_LARGEST_DIFFERENCE, _LARGEST_DIFFERENCE_MISSING, _LARGEST_NOISE = 5.0, 2.5, 4.0
#: Usual variance of ranks.
RANK_VARIANCE = 0.3
#: Smallest variance of a bin's indicator.
_LEAST_VARIANCE = 1e-6


def release_first_round(
    plan: RoundPlan, residuals: Residuals, start: Floats
) -> tuple[Floats, Floats | None, ReferenceRows]:
    """Release the residuals of rows with the same scores, and the number of rows of each bin.

    Reference rows are returned beside them. The numbers of rows are released with the residuals,
    and add nothing to their sensitivity. Without public rows, or with few, one more sum is
    released, the products of columns: see "Stand-in rows" in `docs/theory/logistic-regression.md`.
    """
    rows, features = plan.rows, plan.features
    coefficients = np.zeros((1 + features.n_features, len(start)))
    coefficients[0] = start
    residual_sums = partial(
        RowSums.residual_sums, coefficients=coefficients, norm=features.norm, residuals=residuals
    )
    sums = rows.sum(residual_sums)
    if not isinstance(features, AdditiveBins):
        assert isinstance(plan.public, np.ndarray)
        return plan.noisy_sums(sums, features.norm), None, dense_reference_rows(plan.public)
    counts = rows.sum(partial(RowSums.feature_sums, norm=features.norm))
    sums_and_counts = np.concatenate([sums, counts], axis=1)
    noisy = plan.noisy_sums(sums_and_counts, features.norm)
    released, counts = noisy[:, :-1], noisy[:, -1]
    reference = copula_reference_rows(plan, released / plan.total, counts / plan.total)
    return released, counts, reference


def copula_reference_rows(plan: RoundPlan, residuals: Floats, means: Floats) -> ReferenceRows:
    """Return public rows, and synthetic ones with released means of features.

    Columns whose released shares differ clearly from the public ones get the released shares by the
    weights of the rows: coefficients would be too large where private rows are more frequent than
    reference rows.

    Without public rows, or with few, one more sum may be released, the products of the columns'
    ranks.
    """
    rows, features, public = plan.rows, plan.features, plan.public
    assert isinstance(features, AdditiveBins)
    assert not isinstance(public, np.ndarray)
    noise = plan.noise(features.norm) / plan.total
    margins = column_margins(features, residuals, means, noise, public)
    if public is not None and not plan.asks_ranks:
        correlations, precisions = public_correlations(features, margins, public)
    else:
        margins = [
            margin.ranked(column.order(margin.scores))
            for column, margin in zip(features.columns, margins, strict=True)
        ]
        scores = partial(features.column_scores, scores=[margin.scores for margin in margins])
        score_products = partial(
            RowSums.score_products, column_scores=scores, score_bits=SCORE_BITS
        )
        products = as_vector(rows.sum(score_products))
        correlations, precisions = released_correlations(
            margins,
            plan.noisy_sums(products, _PRODUCT_RADIUS) / plan.total,
            plan.noise(_PRODUCT_RADIUS) / plan.total,
        )
        if public is not None:
            shown, shown_precisions = public_correlations(features, margins, public)
            correlations = correlations * precisions + shown * shown_precisions
            precisions = precisions + shown_precisions
            correlations = correlations / precisions
    synthetic = draw_rows(features, margins, correlations, precisions)
    reference = ReferenceRows.from_rows(public, synthetic, COPULA_SIZE)
    unlike = [
        (place, margin.shares)
        for place, margin in zip(features.places, margins, strict=True)
        if not margin.is_like_public
    ]
    return reference.raked(unlike) if unlike else reference


@dataclass(frozen=True)
class ColumnMargins:
    """Share and score of each bin of one column."""

    shares: Floats  # (n_bins,): estimated shares of the private rows; their sum is 1
    # (n_bins,): mean residual of the bin along the direction in which classes differ most, divided
    # by the largest of the column; or the rank of the bin.
    scores: Floats
    is_like_public: bool = True  # whether the public rows may have these shares

    def ranked(self, order: NDArray[np.intp]) -> ColumnMargins:
        """Return margins whose scores are the ranks of the bins in this order, from -1 to 1."""
        shares = self.shares[order]
        scores = np.empty(len(order))
        scores[order] = _rounded(2 * np.cumsum(shares) - shares - 1)
        return replace(self, scores=scores.clip(-1, 1))

    @property
    def mean(self) -> float:
        return float(self.shares @ self.scores)

    @property
    def deviation(self) -> float:
        variance = float(self.shares @ self.scores**2) - self.mean**2
        return max(variance, 1e-12) ** 0.5


def column_margins(
    features: AdditiveBins, residuals: Floats, means: Floats, noise: float, public: csr_array | None
) -> list[ColumnMargins]:
    """Compute the shares and scores of all columns' bins from means with this noise."""
    margins = []
    public_sums = None if public is None else np.asarray(public.sum(axis=0)).ravel()
    n_public = 0 if public is None else public.shape[0]
    for column, place in zip(features.columns, features.places, strict=True):
        share, is_like_public = np.maximum(means[place], noise), True
        if public_sums is not None:
            share, is_like_public = _combined_shares(
                means[place], noise, public_sums[place], n_public, column.n_values
            )
        share = share / share.sum()
        rates = residuals[place] / (share + 2 * noise)[:, None]
        rates = rates - share @ rates
        direction = np.linalg.svd(np.sqrt(share)[:, None] * rates, full_matrices=False)[2][0]
        score = rates @ (direction * np.sign(direction[0]))
        largest = float(np.abs(score).max())
        score = score / largest if largest > 0 else score
        margins.append(ColumnMargins(share, _rounded(score), is_like_public))
    return margins


def _rounded(scores: Floats) -> Floats:
    return np.asarray(np.rint(scores * 2**SCORE_BITS) / 2**SCORE_BITS)


def _combined_shares(
    means: Floats, noise: float, public_sums: Floats, n_public: int, n_values: int
) -> tuple[Floats, bool]:
    """Combine released means and public shares; means count alone, with False, if they differ."""
    shares = (public_sums + 1) / (n_public + len(public_sums))
    variances = np.maximum(shares * (1 - shares), _LEAST_VARIANCE) / n_public
    combined = (means / noise**2 + shares / variances) / (1 / noise**2 + 1 / variances)
    # The error of a public share, were it drawn from the private rows; rare bins have at least one.
    private = means.clip(0, 1)
    error = np.sqrt(noise**2 + (private * (1 - private) + 1 / n_public) / n_public)
    largest = _LARGEST_DIFFERENCE * error
    largest[n_values:] = np.maximum(
        _LARGEST_DIFFERENCE_MISSING * error[n_values:], _LARGEST_NOISE * noise
    )
    differs = np.abs(means - public_sums / n_public) > largest
    combined = np.where(differs, means, combined)
    return np.maximum(combined, min(noise, 0.5 / n_public)), not differs.any()


def public_correlations(
    features: AdditiveBins, margins: list[ColumnMargins], public: csr_array
) -> tuple[Floats, Floats]:
    """Compute the correlations of the public rows' scores, and their precisions.

    The standard error of a correlation r of n rows is (1 - r^2) / sqrt(n), so that few rows are
    enough to know that two columns are nearly the same.
    """
    n_public = public.shape[0]
    scores = features.column_scores(public, [margin.scores for margin in margins])
    deviations = scores.std(axis=0)
    varies = deviations > 0
    scores = (scores - scores.mean(axis=0)) / np.where(varies, deviations, 1.0)
    correlations = scores.T @ scores / n_public
    variances = (1 - np.clip(correlations, -_LARGEST_CORRELATION, _LARGEST_CORRELATION) ** 2) ** 2
    return correlations, n_public * np.outer(varies, varies) / variances


def released_correlations(
    margins: list[ColumnMargins], products: Floats, noise: float
) -> tuple[Floats, Floats]:
    """Compute correlations, and their precisions, from mean products, scaled by `as_vector`."""
    p = len(margins)
    moments = np.zeros((p, p))
    upper = np.triu_indices(p)
    moments[upper] = products / np.where(upper[0] == upper[1], 1.0, np.sqrt(2)) * p
    moments = moments + np.triu(moments, 1).T
    means = np.array([margin.mean for margin in margins])
    spread = np.outer(*2 * [np.array([margin.deviation for margin in margins])])
    deviations = noise * p / np.sqrt(2) / spread
    return (moments - np.outer(means, means)) / spread, 1 / deviations**2


def draw_rows(
    features: AdditiveBins, margins: list[ColumnMargins], correlations: Floats, precisions: Floats
) -> csr_array:
    """Draw one-hot rows from a Gaussian copula, with correlations drawn towards a prior."""
    p = len(margins)
    prior = 1 / _CORRELATION_DEVIATION**2
    combined = (correlations * precisions + prior * _CORRELATION) / (precisions + prior)
    combined = np.clip(combined, -_LARGEST_CORRELATION, _LARGEST_CORRELATION)
    np.fill_diagonal(combined, 1.0)
    values, vectors = np.linalg.eigh(combined)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    rng = np.random.default_rng(_SEED)  # a public seed: the draws protect nothing
    normal = rng.normal(size=(N_SYNTHETIC, p)) @ root.T
    # Ranks within the sample are even, so that shares are met exactly.
    ranks = (normal.argsort(axis=0).argsort(axis=0) + 0.5) / N_SYNTHETIC
    codes = np.empty((N_SYNTHETIC, p), dtype=np.int32)
    for column, margin in enumerate(margins):
        order = np.argsort(margin.scores, kind="stable")
        position = np.searchsorted(np.cumsum(margin.shares[order]), ranks[:, column])
        codes[:, column] = order[position.clip(0, len(order) - 1)]
    return features.rows_of_codes(codes, rng)
