"""Random group effects: class means that differ from bag to bag, and the errors that makes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot.quantification._known_proportions import KnownProportions
from secretballot.quantification._simplex_fit import (
    directions,
    fit_on_simplex,
    fit_signed,
    inverse_over,
    rounding_of,
)
from secretballot.quantification.kernels import (
    BagGram,
    ClassMeans,
    class_means,
    effect_variance,
    proportion_noise,
)

#: Strengths of damping that are tried; see `class_means`.
_DAMPINGS = (np.inf, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_MOST_FOLDS = 30
_MANY_BAGS = 300
_FEW_FOLDS = 5


class GroupEffects(NamedTuple):
    """What random effects of groups do to class ratios.

    Attributes
    ----------
    means : ClassMeans
    damping : float
        What was chosen: infinity leaves the metric as it was.
    covariance : ndarray of shape (n_classes, n_classes)
        Of the errors of bags that were left out: of a new group's ratios, if it is such a bag.
    n_free : int
        Bags beyond one for each class, of which that covariance is known.
    errors : ndarray of shape (n_bags,)
        L1 errors of bags that were left out.
    """

    means: ClassMeans
    damping: float
    covariance: NDArray[np.float64]
    n_free: int
    errors: NDArray[np.float64]


def fit_group_effects(
    known: KnownProportions,
    gram: BagGram,
    solver: str,
    diagonal: float,
    rng: np.random.Generator,
) -> GroupEffects | None:
    """Fit random group effects, by predicting bags that were left out.

    Only for bags that don't follow the assumption without: their number is all there is to learn
    from, and no instances within bags tell how bags differ.

    Parameters
    ----------
    known : KnownProportions
    gram : BagGram
    solver, diagonal
        As in the fit.
    rng : Generator
        Deals bags to folds where they are many.

    Returns
    -------
    GroupEffects or None
        None if no bag can be left out without making the others' proportions dependent.
    """
    P, covariance = known.values, known.covariance
    n_bags, n_classes = P.shape
    effect = 0.0
    if solver == "class_mean":
        first = class_means(P, gram, covariance)[0].gram(gram, 0.0)
        other = gram.spread + proportion_noise(covariance, first)
        effect = effect_variance(P, gram, other)
    # A metric of so many residuals would take minutes, and is needed least.
    damped = solver == "class_mean" and n_bags <= _MANY_BAGS
    dampings = _DAMPINGS if damped else _DAMPINGS[:1]
    n_folds = min(n_bags, _MOST_FOLDS if n_bags <= _MANY_BAGS else _FEW_FOLDS)
    fold = rng.permutation(np.arange(n_bags) % n_folds)
    signed = np.full((len(dampings), n_bags, n_classes), np.nan)
    errors = np.full((len(dampings), n_bags), np.nan)
    for number in range(n_folds):
        kept, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(kept) < n_classes or np.linalg.matrix_rank(P[kept]) < n_classes:
            continue
        part = known.rows(kept)
        tried = class_means(part.values, gram.only(kept), part.covariance, solver, effect, dampings)
        cross = gram.products[np.ix_(kept, out)]
        for row, means in enumerate(tried):
            bags, pulled = gram.only(kept), means.pull.T @ cross
            found = fit_on_simplex(means.gram(bags, diagonal), pulled)
            errors[row, out] = np.abs(found - P[out]).sum(axis=1)
            signed[row, out] = signed_ratios(means, bags, pulled) - P[out]
    left = np.isfinite(errors[0])
    if not left.any():
        return None
    best = int(np.argmin(errors[:, left].mean(axis=1)))
    means = class_means(P, gram, covariance, solver, effect, dampings)[best]
    off = signed[best, left]
    return GroupEffects(
        means, dampings[best], off.T @ off / len(off), n_bags - n_classes, errors[best, left]
    )


def signed_ratios(
    means: ClassMeans, gram: BagGram, pulled: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ratios that may be negative, of groups that differ as bags do.

    Parameters
    ----------
    means : ClassMeans
    gram : BagGram
    pulled : ndarray of shape (n_classes, n_groups)
        Inner products of class means with the groups' means.
    """
    apart = means.gram(gram, 0.0)
    values, vectors = directions(apart)
    noise = np.maximum(gram.spread @ (means.mixture @ vectors) ** 2, rounding_of(apart))
    return fit_signed(apart, pulled, inverse_over(values, vectors, noise))
