"""Tests: bags are mixtures of the same classes, and classes have different means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification.kernels import (
    ROUNDING,
    PartSums,
    bag_errors,
    floor_variance,
    jackknife,
    proportion_noise,
    shrink_variance,
    unmix,
)

#: Real groups that violate the assumption do so by far: a strict level costs little power.
_LEVEL = 0.01
#: Most terms of the bags' errors, of which all pairs are multiplied.
_MOST_TERMS = 800
_MOST_BETWEEN = 0.9


class Misfit(NamedTuple):
    """Test of the assumption that bags are mixtures of the same classes.

    Attributes
    ----------
    ratio : float
        Weighted squared residuals of the bags' means, over their expectation if only the sampling
        of instances and the noise of the proportions caused them. About 1 where features of a
        class are alike in every bag, and less where classes are hardly told apart.
    p_value : float
        Probability of at least this ratio under the assumption.
    degrees_of_freedom : int
        Bags beyond one for each class.
    """

    ratio: float
    p_value: float
    degrees_of_freedom: int

    @property
    def significant(self) -> bool:
        """True if the assumption is rejected: a p-value below .01."""
        return self.p_value < _LEVEL


class MisfitData(NamedTuple):
    """Bags that are tested: all of them, or fewer bags in fewer parts.

    `merger`, shape (n_parts, n_training_parts), makes their parts of the training parts.
    """

    proportions: LabelProportions
    sums: PartSums
    merger: sparse.csr_array


def thin_bags(
    proportions: LabelProportions, sums: PartSums, rng: np.random.Generator
) -> MisfitData:
    """Return the bags to be tested, at random where they are many."""
    n_bags, n_classes = proportions.values.shape
    n_noise = 0 if proportions.covariance is None else n_classes
    most = max(_MOST_TERMS // (2 + n_noise), 2 * n_classes)
    sample = np.arange(n_bags)
    if n_bags > most:
        sample = np.sort(rng.permutation(n_bags)[:most])
    picker, parts = sums.parts.select(sample)
    merger, parts = parts.merge(max(2, _MOST_TERMS // len(sample) - n_noise))
    merger = merger @ picker
    return MisfitData(proportions.take(sample), sums.transform(merger, parts), merger)


def check_misfit(data: MisfitData) -> Misfit | None:
    """Test that the bags' means are mixtures of class means by their proportions.

    Returns None if there are no more bags than classes: any means fit then. The statistic is a
    quadratic form in the errors of the bags' means (class-ratios in docs/theory).
    """
    P, covariance = data.proportions.values, data.proportions.covariance
    sums = data.sums
    n_bags, n_classes = P.shape
    if n_bags <= n_classes:
        return None
    gram = sums.gram()
    # A bag's weight must not depend on the variance that its error is compared with.
    variance = shrink_variance(gram.spread, sums.parts.bag_sizes)
    mixture = unmix(P, gram._replace(spread=variance), covariance)
    means = mixture.T @ gram.with_diagonal(0.0) @ mixture
    weight = 1 / floor_variance(variance + proportion_noise(covariance, means))
    weight /= weight.max()  # or its square may overflow
    residual = np.eye(n_bags) - P @ mixture.T
    N = residual.T @ (weight[:, None] * residual)
    within = within_share(P, gram.spread, sums.parts.bag_sizes, *jackknife(mixture, sums))
    errors = bag_errors(sums, gram.spread * within, data.proportions.noise_factors(), mixture)
    statistic, freedom = max(float(np.sum(N * gram.products)), 0.0), n_bags - n_classes
    mean, tail = errors.tail(N, statistic)
    rounding = ROUNDING * float(np.sum(np.abs(N * gram.products)))
    if max(statistic, mean) <= rounding:
        return Misfit(1.0, 1.0, freedom)  # bags of equal instances, without error
    return Misfit(statistic / max(mean, rounding), tail, freedom)


def within_share(
    ratios: NDArray[np.float64],
    spread: NDArray[np.float64],
    sizes: NDArray[np.int64],
    means: NDArray[np.float64],
    jackknifed: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return an upper bound on the share of bags' variance that is within their classes.

    `spread` is the variance of the bags' means, and `means` and `jackknifed` the inner products of
    class means that `jackknife` returns.
    """
    between = ratios @ np.diag(means) - np.einsum("ij,jk,ik->i", ratios, means, ratios)
    label_covariance = np.diag(ratios.mean(axis=0)) - ratios.T @ ratios / len(ratios)
    value = float(np.sum(label_covariance * means))
    values = np.sum(label_covariance * jackknifed, axis=(1, 2))
    error = np.sqrt((len(jackknifed) - 1) * np.var(values))
    certain = max(0.0, 1 - 2 * error / value) if value > 0 else 0.0
    share = certain * between / np.maximum(sizes * spread, 1e-300)
    return np.asarray(1 - np.clip(share, 0.0, _MOST_BETWEEN))


def separation_p_value(data: MisfitData, direction: NDArray[np.float64]) -> float:
    """Return the p-value of the distance of two mixtures of classes, if they were alike.

    `direction`, shape (n_classes,), is the difference of the mixtures.
    """
    sums, gram = data.sums, data.sums.gram()
    bags = unmix(data.proportions.values, gram, data.proportions.covariance) @ direction
    weights = np.outer(bags, bags)
    distance = float(np.sum(weights * gram.products))
    if distance <= ROUNDING * float(np.sum(np.abs(weights * gram.products))):
        return 1.0
    # Noise of the proportions does nothing to classes that are alike.
    return bag_errors(sums, gram.spread).tail(weights, distance)[1]


def chance_distances(data: MisfitData, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of classes' squared distances, if they were alike.

    `vectors`, shape (n_classes, n_directions), are differences of mixtures of classes.
    """
    gram = data.sums.gram()
    bags = unmix(data.proportions.values, gram, data.proportions.covariance) @ vectors
    errors = bag_errors(data.sums, gram.spread)
    weights = bags[errors.bag] ** 2
    return np.asarray(np.sqrt(2 * np.sum(weights * (errors.products**2 @ weights), axis=0)))
