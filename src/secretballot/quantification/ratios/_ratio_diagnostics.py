"""Diagnostics of a fit of class ratios, and an error bound."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from secretballot._base._errors import warn
from secretballot.quantification._simplex_fit import class_directions
from secretballot.quantification.kernels import proportion_noise
from secretballot.quantification.ratios._ratio_fit import RatioFit
from secretballot.quantification.ratios._ratio_misfit import (
    Misfit,
    MisfitWarning,
    separation_p_value,
)

_NO_LEFT_OUT_BAG = (
    "No bag can be left out to see how far off ratios are: intervals are all of [0, 1]. Give more "
    "bags than classes."
)
#: Choosing the hardest direction makes the p-value larger.
_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class RatioDiagnostics:
    """Diagnostics of the bags: separation of the classes, test of the assumption, error bound.

    Attributes
    ----------
    rank : int
        Of the proportions.
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
        The two classes with the largest weights in that direction, of opposite sign.
    class_mean_error : float
        Expected norm of the error of the class means, as a matrix.
    feature_length : float
        Of an instance's features, root mean square; 1 for rbf.
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
            consequence = (
                "With group_effects=False intervals know nothing of it and are too narrow."
            )
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
