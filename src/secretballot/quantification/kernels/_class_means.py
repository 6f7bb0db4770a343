"""The class means that bags tell, and by what new groups are compared with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot.quantification.kernels._bag_gram import BagGram, noise_floor, unmix


class ClassMeans(NamedTuple):
    """Class means as signed mixtures of bags, known by their inner products.

    Attributes
    ----------
    mixture : ndarray of shape (n_bags, n_classes)
        From `unmix`.
    pull : ndarray of shape (n_bags, n_classes)
        Mixtures whose inner products with a group's mean are those of the class means with it, in
        the metric in use. The same as `mixture` but for random group effects.
    taken : ndarray of shape (n_classes, n_classes)
        What the metric takes from the inner products of class means.
    """

    mixture: NDArray[np.float64]
    pull: NDArray[np.float64]
    taken: NDArray[np.float64]

    def gram(self, bags: BagGram, diagonal: float) -> NDArray[np.float64]:
        """Return inner products of class means, with a share of the self-similarity of bags."""
        return self.mixture.T @ bags.kept(diagonal) @ self.mixture - self.taken


def class_means(
    proportions: NDArray[np.float64],
    gram: BagGram,
    covariance: NDArray[np.float64] | None = None,
    solver: str = "class_mean",
    effect: float = 0.0,
    dampings: tuple[float, ...] = (np.inf,),
) -> list[ClassMeans]:
    """Return the class means, once for each strength of random group effects.

    Parameters
    ----------
    proportions, gram, covariance, solver, effect
        As for `unmix`.
    dampings : tuple of float
        Of each, what all directions vary by between groups, as a share of the variance of the
        residuals. Infinity: all alike, that is without random effects.

    Notes
    -----
    Groups whose means are (proportions) M + (random effect), with the covariance G of the effects
    taken to be that of the residuals R plus a multiple of the identity, are compared with class
    means in the metric of its inverse: directions in which groups differ for other reasons than
    their classes count little. With the residuals as weights of bags and E = R K R' their inner
    products, the inverse is (I - R'(l I + E)^-1 R) / l (Woodbury), of which the factor 1 / l is of
    no consequence.
    """
    mixture = unmix(proportions, gram, covariance, solver, effect)
    plain = ClassMeans(mixture, mixture, np.zeros((mixture.shape[1],) * 2))
    n_free = len(mixture) - mixture.shape[1]
    if n_free < 1 or all(np.isinf(one) for one in dampings):
        return [plain] * len(dampings)
    weight = 1 / noise_floor(gram.spread + effect)
    residual = np.eye(len(mixture)) - proportions @ mixture.T
    residual *= np.sqrt(weight / weight.mean() / n_free)[:, None]
    values, vectors = np.linalg.eigh(residual @ gram.products @ residual.T)
    values = np.maximum(values, 0.0)
    along = mixture.T @ gram.products @ residual.T @ vectors
    residual = vectors.T @ residual
    found = []
    for damping in dampings:
        share = along / np.maximum(values + damping * values.sum(), 1e-300)
        found.append(
            plain
            if np.isinf(damping)
            else ClassMeans(mixture, mixture - (share @ residual).T, share @ along.T)
        )
    return found


def effect_variance(
    proportions: NDArray[np.float64], gram: BagGram, noise: NDArray[np.float64]
) -> float:
    """Return the variance of random group effects, by the method of moments.

    Parameters
    ----------
    proportions : ndarray of shape (n_bags, n_classes)
    gram : BagGram
    noise : ndarray of shape (n_bags,)
        The variance of each bag's mean that has other reasons.
    """
    even = np.linalg.pinv(proportions)
    residual = np.eye(len(proportions)) - proportions @ even
    free = np.trace(residual)
    if free < 0.5:
        return 0.0
    have = np.sum(residual * gram.products)
    return max(0.0, float(have - np.diag(residual) @ noise) / free)
