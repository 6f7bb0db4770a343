"""Inner products of bag means, and class means as signed mixtures of bags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from secretballot.quantification.kernels._sub_bags import SubBags


class BagGram(NamedTuple):
    """Inner products of the means of bags.

    Attributes
    ----------
    products : ndarray of shape (n_bags, n_bags)
    spread : ndarray of shape (n_bags,)
        By how much each squared length is too long on average, as instances are like themselves:
        the variance within the bag over its size.
    """

    products: NDArray[np.float64]
    spread: NDArray[np.float64]

    def kept(self, diagonal: float) -> NDArray[np.float64]:
        """Return the products with this share of the self-similarity left on the diagonal."""
        return self.products - np.diag((1 - diagonal) * self.spread)


#: Takes weights of parts, as rows of two matrices (None for the second: every part by itself), and
#: returns the inner products of the weighted sums.
Products = Callable[[Any, Any], NDArray[np.float64]]


class PartSums(NamedTuple):
    """Sums over the parts of bags at one bandwidth, known by their inner products.

    Attributes
    ----------
    products : callable
        Inner products of weighted sums over parts.
    lengths : ndarray of shape (n_parts,)
        Sums of each instance's similarity to itself.
    parts : SubBags
    """

    products: Products
    lengths: NDArray[np.float64]
    parts: SubBags

    def gram(self, times: NDArray[Any] | None = None) -> BagGram:
        """Return the Gram matrix of bags.

        Parameters
        ----------
        times : ndarray of shape (n_parts,), default=None
            0 leaves a part out; once each if None.
        """
        weights = self.parts.weights(times)
        gram = self.products(weights, weights)
        taken = np.ones(len(self.parts.bag)) if times is None else times
        count = np.bincount(self.parts.bag, weights=taken * self.parts.sizes)
        spread = (weights @ self.lengths - np.diag(gram)) / np.maximum(count - 1, 1)
        return BagGram(gram, np.maximum(spread, 0.0))


def unmix(
    proportions: NDArray[np.float64],
    gram: BagGram,
    covariance: NDArray[np.float64] | None = None,
    solver: str = "class_mean",
) -> NDArray[np.float64]:
    """Return the signed mixtures of bags that are the classes, shape (n_bags, n_classes).

    Columns of the result A are mixtures of bags: ``P' A = I``, so that bag means B have class
    means ``A' B`` if ``B = P M``.

    Notes
    -----
    Weighted least squares. A bag's residual has the variance of its mean, and if its proportions
    are noisy, with covariance S, also that of (noise) M, which is trace(S M M'); the class means
    M for that come from a first round with sizes alone. "bag_mixture" takes the mixture of bags
    that is closest to the mean to be explained, among those with given class ratios: after
    eliminating the mixtures that change no ratio, this is generalised least squares with the
    residuals' own products as covariance.
    """
    P = proportions
    first = _weighted(P, gram.spread)
    if solver == "bag_mixture":
        idle = null_space(P.T)
        if not idle.shape[1]:
            return first
        inner = np.linalg.pinv(idle.T @ gram.products @ idle, hermitian=True)
        return first - idle @ inner @ (idle.T @ gram.products @ first)
    if covariance is None:
        return first
    means = first.T @ gram.products @ first
    noise = np.einsum("ijk,kj->i", covariance, means)
    return _weighted(P, gram.spread + np.maximum(noise, 0.0))


def _weighted(P: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    # No variance at all, as of bags of equal instances: alike weights.
    floor = max(float(variance.max()) * 1e-9, 1e-300)
    root = 1 / np.sqrt(np.maximum(variance, floor))
    return (np.linalg.pinv(root[:, None] * P) * root).T
