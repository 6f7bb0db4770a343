"""Whether classes can be told apart from bags, and how far an estimate may be off."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secretballot.quantification._known_proportions import KnownProportions
from secretballot.quantification._simplex_fit import sum_zero
from secretballot.quantification.kernels import PartSums

#: Standard errors; the direction was picked as the hardest, which makes it look harder.
_SIGNIFICANT = 2.0


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
    significance : float
        Square of the separation over its standard error (jackknife over parts of the bags).
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
    significance: float
    hardest: tuple[object, object]
    class_mean_error: float
    feature_length: float = field(default=1.0)

    @property
    def separable(self) -> bool:
        """Whether the least separation stands out of the noise (assumption A0 of the paper)."""
        return self.significance > _SIGNIFICANT

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

    def warn(self) -> None:
        """Warn if classes can't be told apart."""
        if not self.separable:
            warnings.warn(
                f"the classes {self.hardest[0]!r} and {self.hardest[1]!r} can't be told apart by "
                f"their means: these differ by {self.separation:.2g} in the hardest direction, "
                f"and the square of that is {self.significance:.1f} standard errors. Their ratios "
                "are a guess; larger bags, bags that differ more (condition "
                f"{self.condition:.3g}), or other features would help.",
                UserWarning,
                stacklevel=6,
            )


def diagnose(
    known: KnownProportions,
    mixture: NDArray[np.float64],
    sums: PartSums,
) -> RatioDiagnostics:
    """Return the diagnostics of a fit.

    Parameters
    ----------
    known : KnownProportions
    mixture : ndarray of shape (n_bags, n_classes)
        From `unmix`.
    sums : PartSums
    """
    singular = np.linalg.svd(known.values, compute_uv=False)
    basis = sum_zero(known.values.shape[1])
    gram = sums.gram()
    means = mixture.T @ gram.kept(0.0) @ mixture
    values, vectors = np.linalg.eigh(basis.T @ means @ basis)
    direction = basis @ vectors[:, 0]
    variance = gram.spread.copy()
    if known.covariance is not None:
        variance += np.maximum(np.einsum("ijk,kj->i", known.covariance, means), 0.0)
    ends = (int(np.argmax(direction)), int(np.argmin(direction)))
    error = _jackknife(mixture @ direction, sums)
    return RatioDiagnostics(
        rank=int(np.linalg.matrix_rank(known.values)),
        condition=float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf,
        separation=math.sqrt(max(float(values[0]), 0.0)),
        significance=float(values[0]) / error if error > 0 else math.inf * np.sign(values[0]),
        hardest=(known.classes.tolist()[ends[0]], known.classes.tolist()[ends[1]]),
        class_mean_error=math.sqrt(float(((mixture**2).sum(axis=1) * variance).sum())),
        feature_length=math.sqrt(float(sums.lengths.sum() / sums.parts.sizes.sum())),
    )


def _jackknife(bags: NDArray[np.float64], sums: PartSums) -> float:
    """Return the standard error of a signed mixture's squared length, leaving out parts."""
    parts = sums.parts
    first = np.r_[0, np.cumsum(parts.n_parts)[:-1]]
    found = []
    for number in range(int(parts.n_parts.max())):
        times = np.ones(len(parts.bag))
        times[first + number % parts.n_parts] = 0.0
        found.append(bags @ sums.gram(times).kept(0.0) @ bags)
    return float(np.sqrt((len(found) - 1) * np.var(found)))
