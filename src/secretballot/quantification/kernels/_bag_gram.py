"""Inner products of bag means, and class means as signed mixtures of bags."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from secretballot.quantification.kernels._sub_bags import SubBags

#: Of sums of inner products: what is less, as a share of these, is nothing.
ROUNDING = 1e-12
#: Degrees of freedom that all bags' variance counts for beside a bag's own.
_PRIOR_FREE = 5.0


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

    def only(self, bags: NDArray[np.intp]) -> BagGram:
        """Return the products of some bags."""
        return BagGram(self.products[np.ix_(bags, bags)], self.spread[bags])


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

    def through(self, into: Any, parts: SubBags) -> PartSums:
        """Return the sums over parts that consist of these.

        Parameters
        ----------
        into : CSR of shape (n_new_parts, n_parts)
            Of 0 and 1, as from `SubBags.only` and `SubBags.merged`.
        parts : SubBags
        """
        return PartSums(partial(_through, self.products, into), into @ self.lengths, parts)


def _through(products: Products, into: Any, left: Any, right: Any) -> NDArray[np.float64]:
    return products(left @ into, into if right is None else right @ into)


def unmix(
    proportions: NDArray[np.float64],
    gram: BagGram,
    covariance: NDArray[np.float64] | None = None,
    solver: str = "class_mean",
    effect: float = 0.0,
) -> NDArray[np.float64]:
    """Return the signed mixtures of bags that are the classes, shape (n_bags, n_classes).

    Columns of the result A are mixtures of bags: ``P' A = I``, so that bag means B have class
    means ``A' B`` if ``B = P M``.

    Parameters
    ----------
    proportions : ndarray of shape (n_bags, n_classes)
    gram : BagGram
    covariance : ndarray of shape (n_bags, n_classes, n_classes), default=None
        Of the noise of the proportions.
    solver : {"class_mean", "bag_mixture"}
    effect : float, default=0
        Variance that every bag's mean has besides, whatever its size.

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
    first = _weighted(P, gram.spread + effect)
    if solver == "bag_mixture":
        idle = null_space(P.T)
        if not idle.shape[1]:
            return first
        inner = np.linalg.pinv(idle.T @ gram.products @ idle, hermitian=True)
        return first - idle @ inner @ (idle.T @ gram.products @ first)
    if covariance is None:
        return first
    means = first.T @ gram.products @ first
    return _weighted(P, gram.spread + effect + proportion_noise(covariance, means))


def proportion_noise(
    covariance: NDArray[np.float64] | None, means: NDArray[np.float64]
) -> NDArray[np.float64] | float:
    """Return the variance that noise of the proportions adds to each bag's residual.

    Parameters
    ----------
    covariance : ndarray of shape (n_bags, n_classes, n_classes) or None
    means : ndarray of shape (n_classes, n_classes)
        Inner products of the class means.
    """
    if covariance is None:
        return 0.0
    return np.maximum(np.einsum("ijk,kj->i", covariance, means), 0.0)


def steady(spread: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return variances of bags' means for weights: of few instances all bags' tell more.

    Parameters
    ----------
    spread, sizes : ndarray of shape (n_bags,)
        Variance of the bags' means, and numbers of instances.
    """
    free = np.maximum(sizes - 1.0, 0.0)
    pooled = (free * sizes) @ spread / max(float(free.sum()), 1.0)
    return np.asarray((free * spread + _PRIOR_FREE * pooled / sizes) / (free + _PRIOR_FREE))


def noise_floor(variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances, none of them zero: of bags of equal instances all are alike."""
    return np.maximum(variance, max(float(variance.max()) * 1e-9, 1e-300))


def _weighted(P: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    root = 1 / np.sqrt(noise_floor(variance))
    return (np.linalg.pinv(root[:, None] * P) * root).T


def jackknife(
    mixture: NDArray[np.float64], sums: PartSums
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return inner products of class means, and the same with parts of the bags left out in turn.

    Parameters
    ----------
    mixture : ndarray of shape (n_bags, n_classes)
    sums : PartSums

    Returns
    -------
    means : ndarray of shape (n_classes, n_classes)
    others : ndarray of shape (n_left_out, n_classes, n_classes)
        Of which any function varies by the function's variance over their number less one.
    """
    parts = sums.parts
    first = np.r_[0, np.cumsum(parts.n_parts)[:-1]]

    def products(times: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return np.asarray(mixture.T @ sums.gram(times).kept(0.0) @ mixture)

    others = []
    for number in range(int(parts.n_parts.max())):
        times = np.ones(len(parts.bag))
        times[first + number % parts.n_parts] = 0.0
        others.append(products(times))
    return products(None), np.array(others)
