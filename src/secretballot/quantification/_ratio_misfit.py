"""Whether bags are mixtures of the same classes, and whether these can be told apart: tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot.quantification._known_proportions import KnownProportions
from secretballot.quantification.kernels import (
    PartSums,
    bag_errors,
    jackknife,
    noise_floor,
    proportion_noise,
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


def find_misfit(known: KnownProportions, sums: PartSums) -> Misfit | None:
    """Test whether the bags' means are the mixtures of class means that the proportions say.

    Parameters
    ----------
    known : KnownProportions
    sums : PartSums
        Over the training bags' parts; from `thin`.

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
    n_bags, n_classes = known.values.shape
    if n_bags <= n_classes:
        return None
    P, gram = known.values, sums.gram()
    mixture = unmix(P, gram, known.covariance)
    means = mixture.T @ gram.kept(0.0) @ mixture
    weight = 1 / noise_floor(gram.spread + proportion_noise(known.covariance, means))
    residual = np.eye(n_bags) - P @ mixture.T
    N = residual.T @ (weight[:, None] * residual)
    between = P @ np.diag(means) - np.einsum("ij,jk,ik->i", P, means, P)
    between *= _sure_share(P, mixture, sums)
    between /= np.maximum(sums.parts.bag_sizes * gram.spread, 1e-300)
    within = gram.spread * (1 - np.clip(between, 0.0, _MOST_LABELS))
    errors = bag_errors(sums, within, known.noise_roots(), mixture)
    found = float(np.sum(N * gram.products))
    mean, tail = errors.tail(N, found)
    return Misfit(found / mean if mean > 0 else 1.0, tail, n_bags - n_classes)


def separation_p_value(
    known: KnownProportions, sums: PartSums, direction: NDArray[np.float64]
) -> float:
    """Return the chance of two mixtures of classes as far apart as these if they were alike.

    Parameters
    ----------
    known, sums
        As for `find_misfit`.
    direction : ndarray of shape (n_classes,)
        The difference of the mixtures.
    """
    gram = sums.gram()
    mixture = unmix(known.values, gram, known.covariance)
    bags = mixture @ direction
    # Classes that are alike have no noise of the proportions, and nothing between them.
    return bag_errors(sums, gram.spread).tail(np.outer(bags, bags), bags @ gram.products @ bags)[1]


def chance_lengths(
    known: KnownProportions, sums: PartSums, vectors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the standard deviation of classes' squared distances, if they were alike.

    Parameters
    ----------
    known, sums
        As for `find_misfit`.
    vectors : ndarray of shape (n_classes, n_directions)
        Differences of mixtures of classes.
    """
    gram = sums.gram()
    bags = unmix(known.values, gram, known.covariance) @ vectors
    errors = bag_errors(sums, gram.spread)
    weights = bags[errors.owner] ** 2
    return np.asarray(np.sqrt(2 * np.sum(weights * (errors.products**2 @ weights), axis=0)))


def thin(
    known: KnownProportions, sums: PartSums, rng: np.random.Generator
) -> tuple[KnownProportions, PartSums]:
    """Return what is tested: all, or where bags are many fewer parts of them, or fewer bags."""
    more = 0 if known.covariance is None else known.values.shape[1]
    most = max(_MOST_TERMS // (2 + more), 2 * known.values.shape[1])
    if len(known.values) > most:
        some = np.sort(rng.permutation(len(known.values))[:most])
        known, sums = known.only(some), sums.only(some)
    return known, sums.merged(max(2, _MOST_TERMS // len(known.values) - more))


def _sure_share(P: NDArray[np.float64], mixture: NDArray[np.float64], sums: PartSums) -> float:
    """Return by how much to shrink the variance between classes to have a lower bound on it."""
    labels = np.diag(P.mean(axis=0)) - P.T @ P / len(P)
    value, error = jackknife(mixture, labels, sums)
    return max(0.0, 1 - 2 * error / value) if value > 0 else 0.0
