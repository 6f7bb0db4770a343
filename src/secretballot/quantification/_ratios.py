"""Fit of class means, with random group effects, and its diagnostics.

Theory: docs/theory/class-ratios.md, "Group effects".
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from secretballot._base._errors import warn
from secretballot.quantification._bag_ids import Floats
from secretballot.quantification._class_means import (
    ClassMeans,
    class_directions,
    class_means,
    distance_rounding,
    effect_variance,
    fit_on_simplex,
    fit_signed,
    inverse_above,
    proportion_noise,
)
from secretballot.quantification._kernels import BagGram, PartSums
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification._misfit import (
    Misfit,
    MisfitData,
    MisfitWarning,
    check_misfit,
    separation_p_value,
    thin_bags,
)

#: Dampings that are tried; see `class_means`.
_DAMPINGS = (np.inf, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_MOST_FOLDS = 30
#: Number of bags from which on folds are few and the metric is not damped, to save time.
_MANY_BAGS = 300
_FEW_FOLDS = 5
_NO_LEFT_OUT_BAG = (
    "No bag can be left out to see how far off ratios are: intervals are all of [0, 1]. Give more "
    "bags than classes."
)
#: Level of the test of separation. Choosing the hardest direction makes the p-value larger.
_LEVEL = 0.05


class RatioFit(NamedTuple):
    """Result of a fit at one bandwidth."""

    proportions: LabelProportions
    #: Feature sums over the bags' parts.
    sums: PartSums
    means: ClassMeans
    #: Inner products of the class means, shape (n_classes, n_classes).
    gram: Floats
    test_data: MisfitData
    misfit: Misfit | None
    #: Random effects of groups, if they are assumed.
    effects: GroupEffects | None
    #: The parameter of the estimator.
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
    #: Degrees of freedom of that covariance: number of bags less the number of classes.
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
    `fallback` the ratios in directions without information.
    """
    class_gram = means.gram(gram, 0.0)
    values, vectors = class_directions(class_gram)
    noise = np.maximum(gram.spread @ (means.mixture @ vectors) ** 2, distance_rounding(class_gram))
    return fit_signed(class_gram, products, inverse_above(values, vectors, noise), fallback)


@dataclass(frozen=True, kw_only=True)
class RatioDiagnostics:
    """Diagnostics of the bags: separation of the classes, test of the assumption, error bound.

    Attributes
    ----------
    rank : int
        Rank of the matrix of proportions.
    condition : float
        Largest over smallest singular value of the proportions: the largest factor by which noise
        of the bags grows in the class means.
    separation : float
        Least distance between the means of two disjoint mixtures of classes, as a length: the
        least norm of M' d over d that sum to zero, with norm(d) = 1.
    separation_p_value : float
        Probability of at least this separation if the classes were alike in that direction.
    misfit : Misfit or None
        Test of the assumption that features of a class are alike in every bag; None with no more
        bags than classes.
    left_out_error : float or None
        With group effects: mean L1 error of the ratios of training bags that were left out.
    hardest_classes : tuple
        The two classes with the largest weights of either sign in the direction of the separation.
    class_mean_error : float
        Expected norm of the error of the class means, as a matrix.
    feature_length : float
        Root mean square of the length of an instance's features; 1 for rbf.
    """

    rank: int
    condition: float
    separation: float
    separation_p_value: float
    hardest_classes: tuple[Hashable, Hashable]
    class_mean_error: float
    misfit: Misfit | None
    left_out_error: float | None
    feature_length: float = field(default=1.0)

    @property
    def separable(self) -> bool:
        """True if the separation is significant (assumption A0 of Iyer, Nath and Sarawagi)."""
        return self.separation_p_value < _LEVEL

    def error_bound(self, size: int) -> float:
        """Bound the expected L2 error for a group with the same class means as the bags.

        Parameters
        ----------
        size : int
            Number of instances in the group.

        Returns
        -------
        float

        Notes
        -----
        For the minimiser r' of norm(u' - M'' r) over the simplex and the true ratios r,
        norm(M''(r' - r)) <= 2 norm(u' - M'' r) <= 2 (error of class means + error of u'), as
        norm(r) <= 1. Divided by the separation, it is a worst case over directions, several times
        the measured error, to compare bags by.
        """
        if not self.separation > 0:
            return math.inf
        error = self.class_mean_error + self.feature_length / math.sqrt(size)
        return 2 * error / self.separation

    def _misfit_warning(self, misfit: Misfit, group_effects: str | bool) -> str:
        if self.left_out_error is not None:
            consequence = (
                f"Bags that were left out were off by {self.left_out_error:.2g} (L1): intervals "
                "are as wide as that makes them for another bag of this kind."
            )
        elif group_effects:
            consequence = _NO_LEFT_OUT_BAG
        else:
            consequence = "With group_effects=False intervals ignore this and are too narrow."
        return (
            "the bags are not mixtures of the same classes: their means are off by "
            f"{misfit.ratio:.3g} times what chance explains (p = {misfit.p_value:.1g}). Either the "
            "features of a class differ from bag to bag, or the proportions have noise that isn't "
            "known here, or are not those of these very instances (give PublishedProportions, or "
            f"covariance=). {consequence} Bags that were formed "
            "by something that doesn't show in the features would be better."
        )

    def warn(self, group_effects: str | bool) -> None:
        """Warn if classes can't be told apart, or differ from bag to bag.

        Parameters
        ----------
        group_effects : "auto" or bool
            The parameter of the estimator.
        """
        if self.misfit is not None and self.misfit.significant:
            warn(self._misfit_warning(self.misfit, group_effects), MisfitWarning)
        elif group_effects is True and self.left_out_error is None:
            warn(f"group_effects=True: {_NO_LEFT_OUT_BAG}")
        if not self.separable:
            first, second = self.hardest_classes
            warn(
                f"the classes {first!r} and {second!r} can't be told apart by their means: these "
                f"differ by {self.separation:.2g} in the hardest direction, and as much would be "
                f"found by chance (p = {self.separation_p_value:.2g}). Their ratios are a guess; "
                f"larger bags, bags that differ more (condition {self.condition:.3g}), or other "
                "features would help."
            )


def diagnose(fit: RatioFit) -> RatioDiagnostics:
    proportions, mixture, effects = fit.proportions, fit.means.mixture, fit.effects
    singular = np.linalg.svd(proportions.values, compute_uv=False)
    gram, sums = fit.sums.gram(), fit.sums
    class_gram = mixture.T @ gram.with_diagonal(0.0) @ mixture
    values, vectors = class_directions(class_gram)
    hardest = vectors[:, 0]
    variance = gram.spread + proportion_noise(proportions.covariance, class_gram)
    classes = proportions.classes.tolist()
    return RatioDiagnostics(
        rank=int(np.linalg.matrix_rank(proportions.values)),
        condition=float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf,
        separation=math.sqrt(max(float(values[0]), 0.0)),
        separation_p_value=separation_p_value(fit.test_data, hardest),
        hardest_classes=(classes[int(np.argmax(hardest))], classes[int(np.argmin(hardest))]),
        class_mean_error=math.sqrt(float(((mixture**2).sum(axis=1) * variance).sum())),
        misfit=fit.misfit,
        left_out_error=None if effects is None else float(effects.errors.mean()),
        feature_length=math.sqrt(float(sums.lengths.sum() / sums.parts.sizes.sum())),
    )
