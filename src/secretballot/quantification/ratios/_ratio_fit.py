"""What class ratios are estimated by: class means, what tests say of them, and group effects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secretballot.quantification._known_proportions import KnownProportions
from secretballot.quantification.kernels import ClassMeans, PartSums, class_means
from secretballot.quantification.ratios._group_effects import GroupEffects, fit_group_effects
from secretballot.quantification.ratios._ratio_misfit import Misfit, Tested, find_misfit, thin


class RatioFit(NamedTuple):
    """What was learned from bags at one bandwidth.

    Attributes
    ----------
    known : KnownProportions
    sums : PartSums
        Over the bags' parts.
    diagonal : float
        Share of the bags' self-similarity that is kept.
    means : ClassMeans
    gram : ndarray of shape (n_classes, n_classes)
        Inner products of the class means.
    tested : Tested
        What tests look at.
    misfit : Misfit or None
    effects : GroupEffects or None
        Random effects of groups, if they are taken to differ.
    group_effects : "auto" or bool
        What was asked for.
    """

    known: KnownProportions
    sums: PartSums
    diagonal: float
    means: ClassMeans
    gram: NDArray[np.float64]
    tested: Tested
    misfit: Misfit | None
    effects: GroupEffects | None
    group_effects: str | bool

    @property
    def differ(self) -> bool:
        """Whether bags were found to differ by more than their classes."""
        return self.misfit is not None and self.misfit.found

    @property
    def unknowable(self) -> bool:
        """Whether effects of groups were wanted, and no bag could be left out to see them."""
        wanted = self.differ if self.group_effects == "auto" else bool(self.group_effects)
        return wanted and self.effects is None

    @property
    def residual_ratio(self) -> float:
        """Squared residuals of the bags over what was to be expected, and 1 if not larger."""
        if self.misfit is None or not self.group_effects:
            return 1.0
        return max(1.0, self.misfit.ratio)


def fit_ratios(
    known: KnownProportions,
    sums: PartSums,
    *,
    solver: str,
    diagonal: float,
    group_effects: str | bool,
    rng: np.random.Generator,
) -> RatioFit:
    """Learn class means, test them, and fit random effects of groups where they are wanted.

    Parameters
    ----------
    known : KnownProportions
    sums : PartSums
    solver, diagonal, group_effects
        As for `MMDClassRatioEstimator`; `diagonal` is a share.
    rng : Generator
        Picks and deals bags where they are many.
    """
    gram, tested = sums.gram(), thin(known, sums, rng)
    misfit, effects = find_misfit(tested), None
    differ = misfit is not None and misfit.found
    if differ if group_effects == "auto" else group_effects:
        effects = fit_group_effects(known, gram, solver, diagonal, rng)
    if effects is None:
        means = class_means(known.values, gram, known.covariance, solver)[0]
    else:
        means = effects.means
    inner = means.gram(gram, diagonal)
    return RatioFit(known, sums, diagonal, means, inner, tested, misfit, effects, group_effects)
