"""Fit of class means, with its tests and random group effects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secretballot.quantification._bag_types import Floats
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification.kernels import ClassMeans, PartSums, class_means
from secretballot.quantification.ratios._group_effects import GroupEffects, fit_group_effects
from secretballot.quantification.ratios._ratio_misfit import (
    Misfit,
    MisfitData,
    check_misfit,
    thin_bags,
)


class RatioFit(NamedTuple):
    """Result of a fit at one bandwidth.

    Attributes
    ----------
    proportions : LabelProportions
    sums : PartSums
        Over the bags' parts.
    means : ClassMeans
    gram : ndarray of shape (n_classes, n_classes)
        Inner products of the class means.
    test_data : MisfitData
    misfit : Misfit or None
    effects : GroupEffects or None
        Random effects of groups, if they are assumed.
    group_effects : "auto" or bool
        The parameter.
    """

    proportions: LabelProportions
    sums: PartSums
    means: ClassMeans
    gram: Floats
    test_data: MisfitData
    misfit: Misfit | None
    effects: GroupEffects | None
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


def fit_ratios(
    proportions: LabelProportions,
    sums: PartSums,
    *,
    solver: str,
    diagonal: float,
    group_effects: str | bool,
    rng: np.random.Generator,
) -> RatioFit:
    """Fit class means, test them, and fit random group effects where they are needed.

    `solver`, `diagonal` (a share) and `group_effects` are those of `MMDClassRatioEstimator`.
    """
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
