"""A lower bound on epsilon from outcomes on two neighbouring data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot._numbers import check_number
from secretballot.audit._events import MEASURE, Outcomes, Statistics, find_event, log_odds_bound


def epsilon_lower_bound(
    outcomes: ArrayLike,
    neighbour_outcomes: ArrayLike,
    delta: float,
    *,
    confidence: float = 0.999,
    events: Statistics | None = None,
) -> float:
    """Compute the smallest epsilon that is consistent with outcomes on two neighbouring data sets.

    An event is searched on one half of the draws and measured on the other, in both directions.

    Parameters
    ----------
    outcomes, neighbour_outcomes : array-like of shape (n_draws, ...)
        Independent draws on the data and on a neighbour.
    delta : float
        The delta of the claim.
    confidence : float, default=0.999
        Probability with which the bound is not above the true epsilon.
    events : callable, default=None
        Takes outcomes and returns a statistic of each, shape (n_draws,), or several, shape
        (n_draws, n_statistics); the events are "a statistic is at least, or at most, t". None:
        sets of outcomes, by their likelihood ratio; for floating-point outcomes, the level sets of
        their coordinates and of the direction in which their means differ.

    Returns
    -------
    float
        The lower bound, at least 0.

    Raises
    ------
    ValueError
        If `delta` or `confidence` is not a probability, or there are fewer than 4 draws.

    See Also
    --------
    audit_epsilon : Draws for a family of neighbours, and compares with the claim.

    Notes
    -----
    (epsilon, delta)-DP means P(E) <= e^epsilon Q(E) + delta for every event E. With Clopper-Pearson
    bounds p and q on the two probabilities, epsilon is at least log((p - delta)/q).

    Examples
    --------
    >>> from secretballot.audit import epsilon_lower_bound
    >>> always, never = [1] * 4000, [0] * 4000
    >>> epsilon_lower_bound(always, never, delta=1e-5) > 5
    True
    >>> epsilon_lower_bound(always, always, delta=1e-5)
    0.0
    """
    check_probabilities(delta, confidence)
    first, second = np.asarray(outcomes), np.asarray(neighbour_outcomes)
    if min(len(first), len(second)) < 4:
        raise ValueError(
            f"outcomes has {len(first)} draws and neighbour_outcomes {len(second)}; "
            "pass at least 4."
        )
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(
            f"outcomes has shape {first.shape} and neighbour_outcomes {second.shape}; they may "
            "differ in the number of draws only."
        )
    error = (1 - confidence) / 4  # two directions, two probabilities each
    directions = (first, second), (second, first)
    return max(_bound_one_way(*pair, delta, error, events) for pair in directions)


def check_probabilities(delta: float, confidence: float) -> None:
    """Refuse a delta or a confidence that is not a probability."""
    check_number("delta", delta, least=0, below=1)
    check_number("confidence", confidence, above=0, below=1)


def _bound_one_way(
    first: Outcomes, second: Outcomes, delta: float, error: float, events: Statistics | None
) -> float:
    in_event, in_other = find_event(first, second, events, delta, error)
    hits, other_hits = in_event[MEASURE], in_other[MEASURE]
    counts, n_draws = (hits.sum(), other_hits.sum()), (len(hits), len(other_hits))
    return float(log_odds_bound(counts, n_draws, delta, error))
