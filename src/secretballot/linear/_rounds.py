"""Rounds of a fit: a noisy sum of residuals, then a new posterior."""

from __future__ import annotations

import math
from collections.abc import Callable

from secretballot.linear._design import Design, FeatureMap, Floats
from secretballot.linear._posterior import (
    Posterior,
    ReleasedRound,
    fit_posterior,
    probabilities,
)
from secretballot.linear._private_sums import PrivateRows, residual_gains

#: A posterior is replaced if its residual sum of squares is more than this multiple of the smallest
#: of all rounds.
_MOST_RESIDUAL_RATIO = 2.0


def run_rounds(
    rows: PrivateRows,
    features: FeatureMap,
    public: Design,
    release: Callable[[Floats], Floats],
    *,
    sigma: float,
    n_rounds: int,
    n_people: float,
    earlier: tuple[ReleasedRound, ...] = (),
) -> Posterior:
    """Release sums of residuals, each at the posterior of the round before.

    Parameters
    ----------
    rows : PrivateRows
    features : FeatureMap
    public : Design
        Features of the public rows.
    release : callable
        Function from sums to noisy sums; the accountant's.
    sigma : float
        Standard deviation of the noise on each sum.
    n_rounds : int
    n_people : float
        Number of private rows or owners of equal weight.
    earlier : tuple of ReleasedRound
        Rounds that were released before.
    """
    posterior = Posterior.initial(features.n_features, rows.n_columns, len(features.groups))
    rounds = list(earlier)
    if rounds:
        posterior = fit_posterior(
            rounds, public, features.groups, posterior, n_people, final=not n_rounds
        )
    best, least_sum = posterior, math.inf
    for remaining in reversed(range(n_rounds)):
        noisy = release(rows.residual_sums(posterior.coefficients, features.norm))
        p = probabilities(public.decision(posterior.coefficients[1:], posterior.coefficients[:1]))
        rounds.append(ReleasedRound(noisy / rows.total, p, residual_gains(p), sigma / rows.total))
        # At true coefficients the sums are noise alone, so each round tests the posterior before.
        sum_of_squares = float((noisy**2).sum())
        if sum_of_squares <= least_sum:
            best, least_sum = posterior, sum_of_squares
        posterior = fit_posterior(
            rounds, public, features.groups, posterior, n_people, final=not remaining
        )
        if sum_of_squares > _MOST_RESIDUAL_RATIO * least_sum:
            # The public rows mislead the fit here: go back towards the best posterior.
            posterior = posterior.halfway_to(best) if remaining else best
    return posterior
