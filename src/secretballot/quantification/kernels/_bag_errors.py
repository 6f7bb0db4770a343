"""What makes the means of bags err, in independent terms, and tests against that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import chi2

from secretballot.quantification.kernels._bag_gram import PartSums


class BagErrors(NamedTuple):
    """Independent terms whose sums are the errors of the bags' means.

    Attributes
    ----------
    products : ndarray of shape (n_terms, n_terms)
        Inner products of the terms.
    owner : ndarray of shape (n_terms,)
        The bag that each term is of.
    """

    products: NDArray[np.float64]
    owner: NDArray[np.int64]

    def tail(self, weights: NDArray[np.float64], found: float) -> tuple[float, float]:
        """Return the mean of a quadratic form in the bags' errors, and the chance of more.

        Parameters
        ----------
        weights : ndarray of shape (n_bags, n_bags)
            Of the inner products of bags' errors.
        found : float

        Notes
        -----
        With a normal factor g for each term the form is g' Q g, where Q are the terms' products
        times the weights of their bags. Its tail is taken to be that of the chi-square with the
        same three moments (Imhof, "Computing the distribution of quadratic forms in normal
        variables", Biometrika 48, 1961, section 4).
        """
        Q = self.products * weights[np.ix_(self.owner, self.owner)]
        square = Q @ Q
        mean, second, third = np.trace(Q), np.trace(square), np.sum(square * Q)
        if not mean > 0:  # bags of equal instances
            return 0.0, float(found <= 0)
        free = second**3 / third**2
        tail = chi2.sf(free + (found - mean) * np.sqrt(free / second), free)
        return float(mean), float(tail)


def error_terms(
    sums: PartSums,
    variance: NDArray[np.float64],
    roots: NDArray[np.float64] | None = None,
    mixture: NDArray[np.float64] | None = None,
) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Return the errors of bags' means as weights of parts, a row for each term, and their bags.

    Parameters
    ----------
    sums : PartSums
    variance : ndarray of shape (n_bags,)
        Of each bag's mean, in all directions together: parts' deviations from the mean tell the
        directions, and are scaled to it.
    roots : ndarray of shape (n_bags, n_classes, n_factors), default=None
        Of the covariances of noise of the proportions, which makes further terms.
    mixture : ndarray of shape (n_bags, n_classes), default=None
        The class means, for these.
    """
    parts = sums.parts
    bag, weights = parts.bag, parts.weights()
    share = parts.sizes / parts.bag_sizes[bag]
    deviations = sparse.diags_array(1 / parts.sizes) - weights[bag]
    deviations = sparse.csr_array(sparse.diags_array(share) @ deviations)
    lengths = np.bincount(bag, weights=np.diag(sums.products(deviations, deviations)))
    scale = np.sqrt(variance / np.maximum(lengths, 1e-300))
    terms, owner = sparse.diags_array(scale[bag]) @ deviations, bag
    if roots is not None and mixture is not None:
        noise = np.einsum("ijf,nj->ifn", roots, mixture).reshape(-1, len(mixture))
        terms = sparse.vstack([terms, sparse.csr_array(noise @ weights)])
        owner = np.r_[owner, np.repeat(np.arange(len(mixture)), roots.shape[2])]
    return sparse.csr_array(terms), owner


def bag_errors(
    sums: PartSums,
    variance: NDArray[np.float64],
    roots: NDArray[np.float64] | None = None,
    mixture: NDArray[np.float64] | None = None,
) -> BagErrors:
    """Return the errors of bags' means.

    Parameters
    ----------
    sums, variance, roots, mixture
        As for `error_terms`.
    """
    terms, owner = error_terms(sums, variance, roots, mixture)
    return BagErrors(sums.products(terms, terms), owner)
