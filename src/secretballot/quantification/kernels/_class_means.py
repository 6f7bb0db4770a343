"""Class means as mixtures of bags, and the metric in which new groups are compared with them.

Theory: docs/theory/class-ratios.md, "Group effects".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secretballot.quantification._bag_types import Floats
from secretballot.quantification.kernels._bag_gram import BagGram, floor_variance, unmix


class ClassMeans(NamedTuple):
    """Class means as signed mixtures of bags.

    Attributes
    ----------
    mixture : ndarray of shape (n_bags, n_classes)
        From `unmix`.
    dual_mixture : ndarray of shape (n_bags, n_classes)
        Mixtures whose inner products with a group's mean are those of the class means with it, in
        the metric in use. The same as `mixture` but for random group effects.
    correction : ndarray of shape (n_classes, n_classes)
        Subtracted from the inner products of class means by the metric.
    """

    mixture: Floats
    dual_mixture: Floats
    correction: Floats

    def gram(self, bags: BagGram, diagonal: float) -> Floats:
        """Return inner products of class means, with a share of the self-similarity of bags."""
        return self.mixture.T @ bags.with_diagonal(diagonal) @ self.mixture - self.correction


def class_means(
    proportions: Floats,
    gram: BagGram,
    covariance: Floats | None = None,
    solver: str = "class_mean",
    effect: float = 0.0,
    dampings: tuple[float, ...] = (np.inf,),
) -> list[ClassMeans]:
    """Return the class means, for each damping of the metric of random group effects.

    A damping is the variance between groups that all directions have, as a share of the residuals'
    variance; infinity is no random effect. Other parameters are those of `unmix`.
    """
    mixture = unmix(proportions, gram, covariance, solver, effect)
    plain = ClassMeans(mixture, mixture, np.zeros((mixture.shape[1],) * 2))
    freedom = len(mixture) - mixture.shape[1]
    if freedom < 1 or np.isinf(dampings).all():
        return [plain] * len(dampings)
    weight = 1 / floor_variance(gram.spread + effect)
    residual = np.eye(len(mixture)) - proportions @ mixture.T
    residual *= np.sqrt(weight / weight.mean() / freedom)[:, None]
    values, vectors = np.linalg.eigh(residual @ gram.products @ residual.T)
    values = np.maximum(values, 0.0)
    projection = mixture.T @ gram.products @ residual.T @ vectors
    residual = vectors.T @ residual
    by_damping = []
    for damping in dampings:
        shrunk = projection / np.maximum(values + damping * values.sum(), 1e-300)
        by_damping.append(
            plain
            if np.isinf(damping)
            else ClassMeans(mixture, mixture - (shrunk @ residual).T, shrunk @ projection.T)
        )
    return by_damping


def effect_variance(proportions: Floats, gram: BagGram, noise: Floats) -> float:
    """Return the variance of random group effects, by the method of moments.

    `noise` is the variance of each bag's mean without them.
    """
    residual = np.eye(len(proportions)) - proportions @ np.linalg.pinv(proportions)
    freedom = np.trace(residual)
    if freedom < 0.5:
        return 0.0
    total = np.sum(residual * gram.products)
    return max(0.0, float(total - np.diag(residual) @ noise) / freedom)
