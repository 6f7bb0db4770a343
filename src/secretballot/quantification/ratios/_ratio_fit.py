"""Fit of class means, with tests of the assumptions and random group effects.

Theory: docs/theory/class-ratios.md, "Group effects".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secretballot.quantification._bag_types import Floats
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification._simplex_fit import (
    class_directions,
    distance_rounding,
    fit_on_simplex,
    fit_signed,
    inverse_above,
)
from secretballot.quantification.kernels import (
    BagGram,
    ClassMeans,
    PartSums,
    class_means,
    effect_variance,
    proportion_noise,
)
from secretballot.quantification.ratios._ratio_misfit import (
    Misfit,
    MisfitData,
    check_misfit,
    thin_bags,
)

#: Dampings that are tried; see `class_means`.
_DAMPINGS = (np.inf, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_MOST_FOLDS = 30
#: Number of bags from which on folds are few and the metric is not damped, to save time.
_MANY_BAGS = 300
_FEW_FOLDS = 5


class RatioFit(NamedTuple):
    """Result of a fit at one bandwidth."""

    proportions: LabelProportions
    #: Over the bags' parts.
    sums: PartSums
    means: ClassMeans
    #: Inner products of the class means, shape (n_classes, n_classes).
    gram: Floats
    test_data: MisfitData
    misfit: Misfit | None
    #: Random effects of groups, if they are assumed.
    effects: GroupEffects | None
    #: The parameter, "auto" or bool.
    group_effects: str | bool

    @property
    def bags_differ(self) -> bool:
        """True if bags were found to differ by more than their classes."""
        return self.misfit is not None and self.misfit.significant

    @property
    def lacks_effects(self) -> bool:
        """True if group effects are needed, but no bag could be left out to estimate them."""
        needed = self.bags_differ if self.group_effects == "auto" else bool(self.group_effects)
        return needed and self.effects is None

    @property
    def birge_ratio(self) -> float:
        """Squared residuals of the bags over their expectation, at least 1."""
        if self.misfit is None or not self.group_effects:
            return 1.0
        return max(1.0, self.misfit.ratio)


class GroupEffects(NamedTuple):
    """Class means under random group effects, and the errors of bags that were left out."""

    means: ClassMeans
    #: The damping in use; infinity leaves the metric unchanged.
    damping: float
    #: Covariance of the errors of the left-out bags' ratios, shape (n_classes, n_classes).
    covariance: Floats
    #: Degrees of freedom of that covariance: bags beyond one for each class.
    freedom: int
    #: L1 errors of the left-out bags' ratios, shape (n_bags,).
    errors: Floats


def fit_ratios(
    proportions: LabelProportions,
    sums: PartSums,
    *,
    solver: str,
    diagonal: float,
    group_effects: str | bool,
    rng: np.random.Generator,
) -> RatioFit:
    """Fit class means, test them, and fit random group effects where they are needed."""
    gram, test_data = sums.gram(), thin_bags(proportions, sums, rng)
    misfit, effects = check_misfit(test_data), None
    differ = misfit is not None and misfit.significant
    if differ if group_effects == "auto" else group_effects:
        effects = fit_group_effects(proportions, gram, solver, diagonal, rng)
    if effects is None:
        means = class_means(proportions.values, gram, proportions.covariance, solver)[0]
    else:
        means = effects.means
    class_gram = means.gram(gram, diagonal)
    return RatioFit(proportions, sums, means, class_gram, test_data, misfit, effects, group_effects)


def fit_group_effects(
    proportions: LabelProportions,
    gram: BagGram,
    solver: str,
    diagonal: float,
    rng: np.random.Generator,
) -> GroupEffects | None:
    """Fit random group effects by predicting bags that were left out; None if none can be."""
    P, covariance = proportions.values, proportions.covariance
    n_bags, n_classes = P.shape
    effect = 0.0
    if solver == "class_mean":
        first = class_means(P, gram, covariance)[0].gram(gram, 0.0)
        noise = gram.spread + proportion_noise(covariance, first)
        effect = effect_variance(P, gram, noise)
    damped = solver == "class_mean" and n_bags <= _MANY_BAGS
    dampings = _DAMPINGS if damped else _DAMPINGS[:1]
    n_folds = min(n_bags, _MOST_FOLDS if n_bags <= _MANY_BAGS else _FEW_FOLDS)
    fold = rng.permutation(np.arange(n_bags) % n_folds)
    residuals = np.full((len(dampings), n_bags, n_classes), np.nan)
    errors = np.full((len(dampings), n_bags), np.nan)
    for number in range(n_folds):
        training, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(training) < n_classes or np.linalg.matrix_rank(P[training]) < n_classes:
            continue
        part, part_gram = proportions.take(training), gram.select(training)
        by_damping = class_means(part.values, part_gram, part.covariance, solver, effect, dampings)
        cross = gram.products[np.ix_(training, test)]
        for row, means in enumerate(by_damping):
            products = means.dual_mixture.T @ cross
            ratios = fit_on_simplex(means.gram(part_gram, diagonal), products, part.mean)
            errors[row, test] = np.abs(ratios - P[test]).sum(axis=1)
            residuals[row, test] = signed_ratios(means, part_gram, products, part.mean) - P[test]
    predicted = np.isfinite(errors[0])
    if not predicted.any():
        return None
    best = int(np.argmin(errors[:, predicted].mean(axis=1)))
    means = class_means(P, gram, covariance, solver, effect, dampings)[best]
    best_residuals = residuals[best, predicted]
    return GroupEffects(
        means,
        dampings[best],
        best_residuals.T @ best_residuals / len(best_residuals),
        n_bags - n_classes,
        errors[best, predicted],
    )


def signed_ratios(means: ClassMeans, gram: BagGram, products: Floats, fallback: Floats) -> Floats:
    """Return ratios that may be negative, of groups that differ as bags do.

    `products`, shape (n_classes, n_groups), are those of class means with the groups' means, and
    `fallback` the ratios where they show nothing.
    """
    class_gram = means.gram(gram, 0.0)
    values, vectors = class_directions(class_gram)
    noise = np.maximum(gram.spread @ (means.mixture @ vectors) ** 2, distance_rounding(class_gram))
    return fit_signed(class_gram, products, inverse_above(values, vectors, noise), fallback)
