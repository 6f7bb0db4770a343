"""Whether classes can be told apart from bags, and how far an estimate may be off."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

import numpy as np

from secretballot.quantification._simplex_fit import directions
from secretballot.quantification.kernels import proportion_noise
from secretballot.quantification.ratios._ratio_fit import RatioFit
from secretballot.quantification.ratios._ratio_misfit import Misfit, separation_p_value

_NO_BAG_TO_SPARE = (
    "No bag can be left out to see how far off ratios are: intervals are all of [0, 1]. Give more "
    "bags than classes."
)
#: The direction was picked as the hardest, which makes it look harder.
_LEVEL = 0.05


class MisfitWarning(UserWarning):
    """Bags are not mixtures of the same classes: ratios are worse than they look."""


@dataclass(frozen=True, kw_only=True)
class RatioDiagnostics:
    """What stands between the bags and good class ratios.

    Attributes
    ----------
    rank : int
        Of the proportions; the number of classes if all can be learned.
    condition : float
        Largest over smallest singular value of the proportions: by how much noise of the bags may
        grow in the class means.
    separation : float
        Least distance between the means of two disjoint mixtures of classes, as a length: the
        least norm of M' d over d that sum to zero, with norm(d) = 1.
    separation_p_value : float
        Chance of a separation as large if the classes were alike in that direction.
    misfit : Misfit or None
        Test of the assumption that features of a class are alike in every bag; None where there are
        no more bags than classes, so that nothing can be told.
    left_out_error : float or None
        Where the test failed: mean L1 error of the ratios of training bags that were left out.
    hardest : tuple
        The two classes that weigh most in that direction, of opposite sign.
    class_mean_error : float
        Expected norm of the error of the class means, as a matrix.
    feature_length : float
        Of an instance's features, root mean square; 1 for rbf.
    """

    rank: int
    condition: float
    separation: float
    separation_p_value: float
    hardest: tuple[object, object]
    class_mean_error: float
    misfit: Misfit | None
    left_out_error: float | None
    feature_length: float = field(default=1.0)

    @property
    def separable(self) -> bool:
        """Whether the least separation stands out of the noise (assumption A0 of the paper)."""
        return self.separation_p_value < _LEVEL

    def error_bound(self, size: int) -> float:
        """Bound on the expected L2 error for a group, where the classes' means don't shift.

        Parameters
        ----------
        size : int
            Instances in the group.

        Notes
        -----
        For the minimiser r' of norm(u' - M'' r) over the simplex and the true ratios r,
        norm(M''(r' - r)) <= 2 norm(u' - M'' r) <= 2 (error of class means + error of u'), as
        norm(r) <= 1. Divided by the separation. It is a worst case over directions, several times
        what is found; its use is in comparing bags.
        """
        if not self.separation > 0:
            return math.inf
        error = self.class_mean_error + self.feature_length / math.sqrt(size)
        return 2 * error / self.separation

    def _misfit_warning(self, misfit: Misfit, group_effects: str | bool) -> str:
        if self.left_out_error is not None:
            then = (
                f"Bags that were left out were off by {self.left_out_error:.2g} (L1): intervals "
                "are as wide as that makes them for another bag of this kind."
            )
        elif group_effects:
            then = _NO_BAG_TO_SPARE
        else:
            then = "With group_effects=False intervals know nothing of it and are too narrow."
        return (
            "the bags are not mixtures of the same classes: their means are off by "
            f"{misfit.ratio:.3g} times what chance explains (p = {misfit.p_value:.1g}). Either the "
            "features of a class differ from bag to bag, or the proportions have noise that isn't "
            "known here, or are not those of these very instances (give PublishedProportions, or "
            f"covariance=). {then} Bags that were formed "
            "by something that doesn't show in the features would be better."
        )

    def warn(self, group_effects: str | bool) -> None:
        """Warn if classes can't be told apart, or differ from bag to bag.

        Parameters
        ----------
        group_effects : "auto" or bool
            What intervals know of the latter.
        """
        if self.misfit is not None and self.misfit.found:
            warnings.warn(
                self._misfit_warning(self.misfit, group_effects), MisfitWarning, stacklevel=6
            )
        elif group_effects is True and self.left_out_error is None:
            warnings.warn(f"group_effects=True: {_NO_BAG_TO_SPARE}", UserWarning, stacklevel=6)
        if not self.separable:
            warnings.warn(
                f"the classes {self.hardest[0]!r} and {self.hardest[1]!r} can't be told apart by "
                f"their means: these differ by {self.separation:.2g} in the hardest direction, "
                f"and as much would be found by chance (p = {self.separation_p_value:.2g}). Their "
                "ratios are a guess; larger bags, bags that differ more (condition "
                f"{self.condition:.3g}), or other features would help.",
                UserWarning,
                stacklevel=6,
            )


def diagnose(fitted: RatioFit) -> RatioDiagnostics:
    """Return the diagnostics of a fit.

    Parameters
    ----------
    fitted : RatioFit
    """
    known, mixture, effects = fitted.known, fitted.means.mixture, fitted.effects
    singular = np.linalg.svd(known.values, compute_uv=False)
    gram, lengths = fitted.sums.gram(), fitted.sums.lengths
    apart = mixture.T @ gram.kept(0.0) @ mixture
    values, vectors = directions(apart)
    variance = gram.spread + proportion_noise(known.covariance, apart)
    ends = (int(np.argmax(vectors[:, 0])), int(np.argmin(vectors[:, 0])))
    return RatioDiagnostics(
        rank=int(np.linalg.matrix_rank(known.values)),
        condition=float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf,
        separation=math.sqrt(max(float(values[0]), 0.0)),
        separation_p_value=separation_p_value(fitted.tested, vectors[:, 0]),
        hardest=(known.classes.tolist()[ends[0]], known.classes.tolist()[ends[1]]),
        class_mean_error=math.sqrt(float(((mixture**2).sum(axis=1) * variance).sum())),
        misfit=fitted.misfit,
        left_out_error=None if effects is None else float(effects.errors.mean()),
        feature_length=math.sqrt(float(lengths.sum() / fitted.sums.parts.sizes.sum())),
    )
