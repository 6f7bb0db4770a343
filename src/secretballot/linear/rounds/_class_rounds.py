"""Rounds of a fit of two classes: a noisy sum of residuals, then a new posterior."""

from __future__ import annotations

import numpy as np

from secretballot.linear.rounds._class_residuals import ClassResiduals, residual_gains
from secretballot.linear.rounds._pair_rounds import release_pairs
from secretballot.linear.rounds._posterior import Posterior, ReleasedRound, fit_posterior
from secretballot.linear.rounds._response import FittedRounds, RoundPlan
from secretballot.linear.rounds._synthetic_rows import release_first_round


def run_class_rounds(plan: RoundPlan, residuals: ClassResiduals) -> FittedRounds:
    """Release sums of residuals, each at the last posterior; half-way ask all pairs of columns."""
    rows, features = plan.rows, plan.features
    noise = plan.noise(features.norm) / rows.total
    posterior = Posterior.initial(features.n_features, residuals.n_columns, len(features.groups))
    clipped = residuals.times(residual_gains)
    noisy, counts, reference = release_first_round(plan, clipped, np.zeros(1))
    released, rounds = [noisy], []
    for n_done in range(1, plan.n_rounds + 1):
        p = reference.probabilities(posterior.coefficients)
        rounds.append(ReleasedRound(released[-1][:, 0] / rows.total, p, residual_gains(p), noise))
        posterior = fit_posterior(rounds, reference, features.groups, posterior, plan.n_people)
        if n_done == plan.n_rounds:
            break
        if plan.n_pairs and n_done == (plan.n_rounds + 1) // 2:
            p = reference.probabilities(posterior.coefficients)[:, 0]
            slopes = np.minimum(p, 1 - p)  # the gain times p (1 - p)
            paired = release_pairs(
                plan,
                reference,
                posterior.coefficients,
                clipped,
                slopes,
                slopes / np.maximum(p, 1 - p),
            )
            if paired is not None:
                features, rows, reference = (
                    paired,
                    rows.with_cells(paired),
                    reference.with_cells(paired),
                )
                noise = plan.noise(paired.norm) / rows.total
                sizes = [pair.n_cells for pair in paired.pairs]
                posterior = posterior.padded(sizes)
        sums = rows.residual_sums(posterior.coefficients, features.norm, clipped)
        released.append(plan.noisy_sums(sums, features.norm))
    return FittedRounds(posterior, released, features, reference=reference, counts=counts)
