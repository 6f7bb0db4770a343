"""What makes the means of bags err, in independent terms, and tests against that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import chi2

from secretballot.quantification.kernels._bag_gram import PartSums

#: Of noise of the proportions, which may be Laplace noise: half of its excess kurtosis, by which
#: its squares vary more than those of normal noise.
_NOISE_UNSURE = 1.5
#: What is left of a distribution on either side, and steps between.
_LEAST = 1e-15
_STEPS = 300


class BagErrors(NamedTuple):
    """Independent terms whose sums are the errors of the bags' means.

    Attributes
    ----------
    products : ndarray of shape (n_terms, n_terms)
        Inner products of the terms.
    owner : ndarray of shape (n_terms,)
        The bag that each term is of.
    unsure : ndarray of shape (n_terms,)
        One over the degrees of freedom by which the variance of the term's bag is known; or what
        heavy tails make it seem.
    """

    products: NDArray[np.float64]
    owner: NDArray[np.int64]
    unsure: NDArray[np.float64]

    def tail(
        self, weights: NDArray[np.float64], found: float, most_free: float = np.inf
    ) -> tuple[float, float]:
        """Return the mean of a quadratic form in the bags' errors, and the chance of more.

        Parameters
        ----------
        weights : ndarray of shape (n_bags, n_bags)
            Of the inner products of bags' errors.
        found : float
        most_free : float
            Degrees of freedom by which the form's scale is known at most.

        Notes
        -----
        With a normal factor g for each term the form is g' Q g, where Q are the terms' products
        times the weights of their bags. Its tail is taken to be that of the chi-square with the
        same three moments (Imhof, "Computing the distribution of quadratic forms in normal
        variables", Biometrika 48, 1961, section 4).

        Its scale is estimated, of small bags badly: over the true one it is taken to be a
        chi-square over its degrees of freedom (Satterthwaite), and the tail is averaged over that.
        """
        Q = self.products * weights[np.ix_(self.owner, self.owner)]
        square = Q @ Q
        mean, second, third = np.trace(Q), np.trace(square), np.sum(square * Q)
        if not mean > 0:  # bags of equal instances
            return 0.0, float(found <= 0)
        free = second**3 / third**2
        own = self.owner[:, None] == self.owner
        variance = float(np.sum(Q**2 * own, axis=1) @ self.unsure)
        scale, share = _scales(min(mean**2 / max(variance, 1e-9 * mean**2), most_free))
        tail = share @ chi2.sf(free + (found * scale - mean) * np.sqrt(free / second), free)
        return float(mean), min(float(tail), 1.0)


def _scales(free: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values of a chi-square over its degrees of freedom, and the share of each."""
    ends = np.log([chi2.ppf(_LEAST, free) / free, chi2.isf(_LEAST, free) / free])
    scale = np.exp(np.linspace(*np.maximum(ends, -700), _STEPS))
    log_share = chi2.logpdf(free * scale, free) + np.log(scale)
    share = np.exp(log_share - log_share.max())
    return scale, share / share.sum()


def error_terms(
    sums: PartSums,
    variance: NDArray[np.float64],
    roots: NDArray[np.float64] | None = None,
    mixture: NDArray[np.float64] | None = None,
) -> tuple[sparse.csr_array, NDArray[np.int64], NDArray[np.float64]]:
    """Return the errors of bags' means as weights of parts, a row for each term.

    With them the bag that each is of, and how unsure its variance is, as in `BagErrors`.

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
    # Rounding is not blown up.
    scale = np.sqrt(variance / np.maximum(np.maximum(lengths, 1e-6 * variance), 1e-300))
    terms, owner = sparse.diags_array(scale[bag]) @ deviations, bag
    unsure = 1 / np.maximum(parts.bag_sizes - 1.0, 1.0)[bag]
    if roots is not None and mixture is not None:
        noise = np.einsum("ijf,nj->ifn", roots, mixture).reshape(-1, len(mixture))
        terms = sparse.vstack([terms, sparse.csr_array(noise @ weights)])
        owner = np.r_[owner, np.repeat(np.arange(len(mixture)), roots.shape[2])]
        unsure = np.r_[unsure, np.full(len(noise), _NOISE_UNSURE)]
    return sparse.csr_array(terms), owner, unsure


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
    terms, owner, unsure = error_terms(sums, variance, roots, mixture)
    return BagErrors(sums.products(terms, terms), owner, unsure)
