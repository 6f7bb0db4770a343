"""Factor of all scores of a fit, estimated from the sums that its rounds released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from secretballot.linear.features import AdditiveBins, Design, Floats
from secretballot.linear.rounds._clipped_residuals import ClippedResiduals
from secretballot.linear.rounds._reference_rows import ReferenceRows
from secretballot.linear.rounds._response import RoundPlan

#: Smallest and largest factor.
_BOUNDS = (0.05, 2.0)
#: Prior standard deviation of the factor's logarithm, below and above 0: noise may hide the factor
#: of a small fit. Noise and clipping may make scores many times too large, and nothing makes them
#: many times too small.
_SHRINKING, _GROWING = 1.0, 0.25
#: Distance by which the factor's logarithm is shrunk towards 0: residuals do not follow the model
#: exactly, even without noise.
_MODEL_ERROR = 0.05


@dataclass(frozen=True)
class ScoreEquation:
    """Released mean product of residuals and scores, and its expectation under a factor.

    The product of a row is the sum, over the classes, of its clipped residuals times the scores of
    a direction, averaged over rounds. See "The factor of scores" in
    `docs/theory/logistic-regression.md`.
    """

    released: float  # mean product over the private rows, less the part that noise has in it
    variance: float  # variance of its noise
    products: Floats  # (n_rows, n_classes): product of each reference row, for each true class
    # (n_rows, n_classes): scores of the reference rows, to be multiplied by the factor.
    scores: Floats
    weights: Floats  # (n_rows,): weights of the reference rows; their sum is 1
    effective_size: float  # number of public rows with which the expectation would be as accurate

    @classmethod
    def of_rounds(
        cls,
        plan: RoundPlan,
        reference: ReferenceRows,
        residuals: ClippedResiduals,
        rounds: Sequence[Floats],
        coefficients: Floats,
        direction: Floats,
        *,
        released: float,
        variance: float,
    ) -> ScoreEquation:
        """Compute the products of reference rows, averaged over rounds.

        Of dense features public rows alone are taken: synthetic rows with permuted columns have
        scores of another size. `rounds` are the coefficients at which residuals were released.
        """
        if not isinstance(plan.features, AdditiveBins):
            assert isinstance(plan.public, np.ndarray)
            n_public = len(plan.public)
            weights = np.full(n_public, 1 / n_public)
            reference = ReferenceRows(Design(plan.public), weights, float(n_public))
        limits = reference.design.residual_limits(plan.features.norm)
        direction_scores = reference.design.decision(direction, 0.0)
        products = [
            residuals.score_products(reference.probabilities(at_release), limits, direction_scores)
            for at_release in rounds
        ]
        return cls(
            released,
            variance,
            np.mean(products, axis=0),
            reference.scores(coefficients),
            reference.weights,
            reference.effective_size,
        )

    def factor(self) -> float:
        """Compute the factor that solves the equation, moved to 1 as far as errors explain it."""
        p = softmax(self.scores, axis=1)
        products = (p * self.products).sum(axis=1)
        spread = float(self.weights @ (products - self.weights @ products) ** 2)
        variance = self.variance + spread / self.effective_size

        def loss(logarithm: float) -> float:
            # The mean product if the true classes follow the scores times the factor.
            p = softmax(float(np.exp(logarithm)) * self.scores, axis=1)
            gap = self.released - float(self.weights @ (p * self.products).sum(axis=1))
            deviation = _GROWING if logarithm > 0 else _SHRINKING
            return gap**2 + variance * (logarithm / deviation) ** 2

        minimum = minimize_scalar(loss, bounds=np.log(_BOUNDS), method="bounded")
        size = max(abs(float(minimum.x)) - _MODEL_ERROR, 0.0)
        return float(np.exp(np.copysign(size, minimum.x)))
