"""Inner products of bag means, and class means as signed mixtures of bags.

Theory: docs/theory/class-ratios.md, "Class means" and "Group effects".
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import null_space

from secretballot.quantification._bag_types import Floats, Integers, Matrix
from secretballot.quantification.kernels._kernel_sums import inner_products
from secretballot.quantification.kernels._sub_bags import SubBags

#: Sums of inner products below this share of their absolute sum are rounding errors.
ROUNDING = 1e-12
#: Degrees of freedom of the pooled variance when a bag's own variance is shrunk towards it.
PRIOR_FREEDOM = 5.0

#: Weights of parts, a row for each weighted sum.
PartWeights: TypeAlias = "Floats | sparse.csr_array"


class BagGram(NamedTuple):
    """Inner products of the means of bags, shape (n_bags, n_bags)."""

    products: Floats
    #: Variance of each bag's mean: the bias of its squared length.
    spread: Floats

    def with_diagonal(self, share: float) -> Floats:
        """Return the products with this share of the self-similarity left on the diagonal."""
        return self.products - np.diag((1 - share) * self.spread)

    def select(self, bags: Integers) -> BagGram:
        return BagGram(self.products[np.ix_(bags, bags)], self.spread[bags])


class PartSums(NamedTuple):
    """Feature sums over the parts of bags, or the inner products of these, at one bandwidth."""

    #: Sums, shape (n_parts, n_features); or if `is_gram`, inner products of all pairs of sums.
    table: Matrix
    #: Sums of each instance's similarity to itself, shape (n_parts,).
    lengths: Floats
    parts: SubBags
    is_gram: bool = False

    def products(self, left: PartWeights, right: PartWeights) -> Floats:
        """Return inner products of two sets of weighted sums over parts."""
        if self.is_gram:
            return np.asarray(left @ self.table @ right.T)
        return np.asarray(inner_products(left @ self.table, right @ self.table), dtype=np.float64)

    def gram(self, counts: Floats | Integers | None = None) -> BagGram:
        """Return the Gram matrix of bags; `counts` as for `SubBags.weights`."""
        weights = self.parts.weights(counts)
        gram = self.products(weights, weights)
        taken = np.ones(len(self.parts.bag)) if counts is None else counts
        n_instances = np.bincount(self.parts.bag, weights=taken * self.parts.sizes)
        spread = (weights @ self.lengths - np.diag(gram)) / np.maximum(n_instances - 1, 1)
        return BagGram(gram, np.maximum(spread, 0.0))

    def transform(self, matrix: sparse.csr_array, parts: SubBags) -> PartSums:
        """Return the sums over other parts, made by a matrix of `SubBags.select` or `merge`."""
        table = matrix @ self.table
        table = table @ matrix.T if self.is_gram else table
        return PartSums(table, matrix @ self.lengths, parts, self.is_gram)


def unmix(
    proportions: Floats,
    gram: BagGram,
    covariance: Floats | None = None,
    solver: str = "class_mean",
    effect: float = 0.0,
) -> Floats:
    """Return signed mixtures A of bags that are the classes, with P' A = I.

    Weighted least squares. `effect` is a variance that every bag's mean has besides.
    """
    P = proportions
    first = _least_squares(P, gram.spread + effect)
    if solver == "bag_mixture":
        null = null_space(P.T)
        if not null.shape[1]:
            return first
        inverse = invert_products(null.T @ gram.products @ null, np.abs(gram.products).max())
        return first - null @ inverse @ (null.T @ gram.products @ first)
    if covariance is None:
        return first
    means = first.T @ gram.products @ first
    return _least_squares(P, gram.spread + effect + proportion_noise(covariance, means))


def invert_products(products: Floats, length: float) -> Floats:
    """Return the pseudo-inverse of inner products of sums of vectors of this squared length.

    Sums that are rounding errors of their terms are taken to be zero.
    """
    rounding = ROUNDING * length / max(float(np.abs(products).max()), 1e-300)
    return np.asarray(np.linalg.pinv(products, rcond=max(rounding, 1e-15), hermitian=True))


def _least_squares(P: Floats, variance: Floats) -> Floats:
    root = 1 / np.sqrt(floor_variance(variance))
    return (np.linalg.pinv(root[:, None] * P) * root).T


def proportion_noise(covariance: Floats | None, means: Floats) -> Floats | float:
    """Return the variance that noise of the proportions adds to each bag's residual.

    `means` are the inner products of the class means.
    """
    if covariance is None:
        return 0.0
    return np.maximum(np.einsum("ijk,kj->i", covariance, means), 0.0)


def shrink_variance(spread: Floats, sizes: Integers) -> Floats:
    """Return the variances of bags' means, those of small bags shrunk towards the pooled one."""
    freedom = np.maximum(sizes - 1.0, 0.0)
    pooled = (freedom * sizes) @ spread / max(float(freedom.sum()), 1.0)
    total = freedom + PRIOR_FREEDOM
    return np.asarray((freedom * spread + PRIOR_FREEDOM * pooled / sizes) / total)


def floor_variance(variance: Floats) -> Floats:
    """Return variances without zeros, which bags of equal instances have."""
    return np.maximum(variance, max(float(variance.max()) * 1e-9, 1e-300))


def jackknife(mixture: Floats, sums: PartSums) -> tuple[Floats, Floats]:
    """Return inner products of class means, and the same with parts left out in turn.

    The variance of a function of the former is that of the function over the latter, times their
    number less one.
    """
    parts = sums.parts
    first = np.cumsum(parts.n_parts) - parts.n_parts

    def products(counts: Floats | None) -> Floats:
        return np.asarray(mixture.T @ sums.gram(counts).with_diagonal(0.0) @ mixture)

    without = []
    for number in range(int(parts.n_parts.max())):
        counts = np.ones(len(parts.bag))
        counts[first + number % parts.n_parts] = 0.0
        without.append(products(counts))
    return products(None), np.array(without)


class ClassMeans(NamedTuple):
    """Class means as signed mixtures of bags, shape (n_bags, n_classes), from `unmix`."""

    mixture: Floats
    #: Mixtures whose inner products with a group's mean are those of the class means with it, in
    #: the metric in use. The same as `mixture` but for random group effects.
    dual_mixture: Floats
    #: Subtracted from the inner products of class means by the metric.
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
    variance; infinity is no random effect.
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
    total = max(float(values.sum()), 1e-300)
    for damping in dampings:
        shrunk = projection / np.maximum(values + damping * total, 1e-300)
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
