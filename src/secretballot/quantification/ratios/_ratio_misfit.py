"""Whether bags are mixtures of the same classes, and whether these can be told apart: tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot.quantification._known_proportions import KnownProportions
from secretballot.quantification.kernels import (
    ROUNDING,
    PartSums,
    bag_errors,
    jackknife,
    noise_floor,
    proportion_noise,
    steady,
    unmix,
)

#: Real groups that break the assumption are far beyond it, so that a strict level costs little.
LEVEL = 0.01
#: Terms of the bags' errors, of which all pairs are multiplied.
_MOST_TERMS = 800
_MOST_LABELS = 0.9


class Misfit(NamedTuple):
    """How far bags are from mixtures of the same classes.

    Attributes
    ----------
    ratio : float
        Weighted squared residuals of the bags' means, over what they would be on average if they
        came from the sampling of instances and from the noise of the proportions alone: about 1
        where features of a class are alike in every bag, and less where classes are hardly told
        apart.
    p_value : float
        Chance of a ratio this large if so.
    n_free : int
        Bags beyond one for each class: what there is to tell it by.
    """

    ratio: float
    p_value: float
    n_free: int

    @property
    def found(self) -> bool:
        """Whether the assumption fails: a p-value below .01."""
        return self.p_value < LEVEL


def find_misfit(tested: Tested) -> Misfit | None:
    """Test whether the bags' means are the mixtures of class means that the proportions say.

    Parameters
    ----------
    tested : Tested
        From `thin`.

    Returns
    -------
    Misfit or None
        None if there are no more bags than classes: any means fit then.

    Notes
    -----
    With W one over the variance of a bag's mean, the weighted squares of least squares' residuals
    are a quadratic form in the errors e of the bags' means, trace(e' N e) with
    N = W - W P (P'WP)^-1 P'W. A bag's error is the sum of independent ones of its parts, whose
    deviations from the bag's mean show how large they are; but those of a bag with known
    proportions vary within classes only, so that they are scaled down by the share of its variance
    that is between classes (by a lower bound on it). Noise of the proportions adds further terms.
    """
    known, sums, _ = tested
    n_bags, n_classes = known.values.shape
    if n_bags <= n_classes:
        return None
    P, gram = known.values, sums.gram()
    # A bag's weight is not to depend on the very variance that its error is compared with.
    variance = steady(gram.spread, sums.parts.bag_sizes)
    mixture = unmix(P, gram._replace(spread=variance), known.covariance)
    means = mixture.T @ gram.kept(0.0) @ mixture
    weight = 1 / noise_floor(variance + proportion_noise(known.covariance, means))
    weight /= weight.max()  # or its square may overflow
    residual = np.eye(n_bags) - P @ mixture.T
    N = residual.T @ (weight[:, None] * residual)
    within = within_share(P, gram.spread, sums.parts.bag_sizes, jackknife(mixture, sums))
    errors = bag_errors(sums, gram.spread * within, known.noise_roots(), mixture)
    found, n_free = max(float(np.sum(N * gram.products)), 0.0), n_bags - n_classes
    mean, tail = errors.tail(N, found)
    rounding = ROUNDING * float(np.sum(np.abs(N * gram.products)))
    if max(found, mean) <= rounding:
        return Misfit(1.0, 1.0, n_free)  # bags of equal instances, without error
    return Misfit(found / max(mean, rounding), tail, n_free)


def separation_p_value(tested: Tested, direction: NDArray[np.float64]) -> float:
    """Return the chance of two mixtures of classes as far apart as these if they were alike.

    Parameters
    ----------
    tested : Tested
    direction : ndarray of shape (n_classes,)
        The difference of the mixtures.
    """
    known, sums, _ = tested
    gram = sums.gram()
    bags = unmix(known.values, gram, known.covariance) @ direction
    weights = np.outer(bags, bags)
    found = float(np.sum(weights * gram.products))
    if found <= ROUNDING * float(np.sum(np.abs(weights * gram.products))):
        return 1.0
    # Classes that are alike have no noise of the proportions, and nothing between them.
    return bag_errors(sums, gram.spread).tail(weights, found)[1]


def chance_lengths(tested: Tested, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of classes' squared distances, if they were alike.

    Parameters
    ----------
    tested : Tested
    vectors : ndarray of shape (n_classes, n_directions)
        Differences of mixtures of classes.
    """
    known, sums, _ = tested
    gram = sums.gram()
    bags = unmix(known.values, gram, known.covariance) @ vectors
    errors = bag_errors(sums, gram.spread)
    weights = bags[errors.owner] ** 2
    return np.asarray(np.sqrt(2 * np.sum(weights * (errors.products**2 @ weights), axis=0)))


class Tested(NamedTuple):
    """What tests look at.

    Attributes
    ----------
    known : KnownProportions
    sums : PartSums
    into : CSR of shape (n_parts, n_training_parts)
        Which training parts are in which part.
    """

    known: KnownProportions
    sums: PartSums
    into: Any


def thin(known: KnownProportions, sums: PartSums, rng: np.random.Generator) -> Tested:
    """Return what is tested: all, or where bags are many fewer parts of them, or fewer bags."""
    more = 0 if known.covariance is None else known.values.shape[1]
    most = max(_MOST_TERMS // (2 + more), 2 * known.values.shape[1])
    some = np.arange(len(known.values))
    if len(some) > most:
        some = np.sort(rng.permutation(len(some))[:most])
    picked, parts = sums.parts.only(some)
    merged, parts = parts.merged(max(2, _MOST_TERMS // len(some) - more))
    into = merged @ picked
    return Tested(known.rows(some), sums.through(into, parts), into)


def within_share(
    ratios: NDArray[np.float64],
    spread: NDArray[np.float64],
    sizes: NDArray[np.int64],
    classes: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return an upper bound on the share of bags' variance that is within their classes.

    Parameters
    ----------
    ratios : ndarray of shape (n_bags, n_classes)
    spread, sizes : ndarray of shape (n_bags,)
        Variance of the bags' means, and numbers of instances.
    classes : tuple
        The class means, from `jackknife`.
    """
    means, others = classes
    between = ratios @ np.diag(means) - np.einsum("ij,jk,ik->i", ratios, means, ratios)
    labels = np.diag(ratios.mean(axis=0)) - ratios.T @ ratios / len(ratios)
    value = float(np.sum(labels * means))
    error = np.sqrt((len(others) - 1) * np.var(np.sum(labels * others, axis=(1, 2))))
    sure = max(0.0, 1 - 2 * error / value) if value > 0 else 0.0
    share = sure * between / np.maximum(sizes * spread, 1e-300)
    return np.asarray(1 - np.clip(share, 0.0, _MOST_LABELS))
