"""Errors of the means of bags as sums of independent terms, and tails of their quadratic forms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import chi2

from secretballot.quantification._bag_types import Floats, Integers
from secretballot.quantification.kernels._bag_gram import PartSums

#: For noise of proportions, which may be Laplace noise: half of its excess kurtosis.
_NOISE_RELATIVE_VARIANCE = 1.5
#: Probability beyond the grid of scales, on either side, and the size of the grid.
_TAIL = 1e-15
_GRID_SIZE = 300


class BagErrors(NamedTuple):
    """Independent terms whose sums are the errors of the bags' means."""

    #: Inner products of the terms, shape (n_terms, n_terms).
    products: Floats
    #: The bag of each term.
    bag: Integers
    #: Relative variance of the estimate of the term's variance: one over degrees of freedom.
    relative_variance: Floats

    def tail(
        self, weights: Floats, value: float, most_freedom: float = np.inf
    ) -> tuple[float, float]:
        """Return the mean of a quadratic form in the bags' errors, and P(form > value).

        `weights`, shape (n_bags, n_bags), are those of the inner products of errors. The tail is
        that of a chi-square with the same three moments (Imhof, Biometrika 48, 1961), averaged over
        the estimated scale (Satterthwaite), which has at most `most_freedom` degrees of freedom.
        """
        Q = self.products * weights[np.ix_(self.bag, self.bag)]
        square = Q @ Q
        mean, second, third = np.trace(Q), np.trace(square), np.sum(square * Q)
        if not mean > 0:  # bags of equal instances
            return 0.0, float(value <= 0)
        freedom = second**3 / third**2
        same_bag = self.bag[:, None] == self.bag
        variance = float(np.sum(Q**2 * same_bag, axis=1) @ self.relative_variance)
        scale_freedom = min(mean**2 / max(variance, 1e-9 * mean**2), most_freedom)
        scale, probability = _scale_grid(scale_freedom)
        standardised = freedom + (value * scale - mean) * np.sqrt(freedom / second)
        tail = probability @ chi2.sf(standardised, freedom)
        return float(mean), min(float(tail), 1.0)


def _scale_grid(freedom: float) -> tuple[Floats, Floats]:
    """Return a grid of values of a chi-square over its degrees of freedom, and probabilities."""
    ends = np.log([chi2.ppf(_TAIL, freedom) / freedom, chi2.isf(_TAIL, freedom) / freedom])
    first, last = np.maximum(ends, -700)
    scale = np.exp(np.linspace(first, last, _GRID_SIZE))
    log_density = chi2.logpdf(freedom * scale, freedom) + np.log(scale)
    density = np.exp(log_density - log_density.max())
    return scale, density / density.sum()


def error_terms(
    sums: PartSums,
    variance: Floats,
    noise_factors: Floats | None = None,
    mixture: Floats | None = None,
) -> tuple[sparse.csr_array, Integers, Floats]:
    """Return the errors of bags' means as weights of parts, a row for each term.

    `variance` is that of each bag's mean: parts' deviations from the mean have the directions, and
    are scaled to it. Noise of the proportions makes further terms, mixtures of the class means.
    """
    parts = sums.parts
    bag, weights = parts.bag, parts.weights()
    share = parts.sizes / parts.bag_sizes[bag]
    deviations = sparse.diags_array(1 / parts.sizes) - weights[bag]
    deviations = sparse.csr_array(sparse.diags_array(share) @ deviations)
    lengths = np.bincount(bag, weights=np.diag(sums.products(deviations, deviations)))
    # Rounding errors are not scaled up.
    scale = np.sqrt(variance / np.maximum(np.maximum(lengths, 1e-6 * variance), 1e-300))
    terms, term_bag = sparse.diags_array(scale[bag]) @ deviations, bag
    relative_variance = 1 / np.maximum(parts.bag_sizes - 1.0, 1.0)[bag]
    if noise_factors is not None and mixture is not None:
        noise = np.einsum("ijf,nj->ifn", noise_factors, mixture).reshape(-1, len(mixture))
        terms = sparse.vstack([terms, sparse.csr_array(noise @ weights)])
        term_bag = np.r_[term_bag, np.repeat(np.arange(len(mixture)), noise_factors.shape[2])]
        relative_variance = np.r_[relative_variance, np.full(len(noise), _NOISE_RELATIVE_VARIANCE)]
    return sparse.csr_array(terms), term_bag, relative_variance


def bag_errors(
    sums: PartSums,
    variance: Floats,
    noise_factors: Floats | None = None,
    mixture: Floats | None = None,
) -> BagErrors:
    terms, term_bag, relative_variance = error_terms(sums, variance, noise_factors, mixture)
    return BagErrors(sums.products(terms, terms), term_bag, relative_variance)
