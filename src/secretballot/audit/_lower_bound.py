"""A lower bound on epsilon from outcomes on two neighbouring data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot._numbers import check_number
from secretballot.audit._events import (
    MEASURE,
    Outcomes,
    Statistics,
    Trials,
    log_odds_bound,
    telling_event,
)


def epsilon_lower_bound(
    outcomes: ArrayLike,
    neighbour_outcomes: ArrayLike,
    delta: float,
    *,
    confidence: float = 0.999,
    events: Statistics | None = None,
) -> float:
    """Smallest epsilon that outcomes on two neighbouring data sets leave possible.

    An event is searched on one half of the draws and measured on the other, in both directions.
    A claim below the bound is refuted; a bound far below the claim proves nothing.

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
        sets of outcomes, the most telling first; for floating-point outcomes, the level sets of
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
    one, two = np.asarray(outcomes), np.asarray(neighbour_outcomes)
    if min(len(one), len(two)) < 4:
        raise ValueError(
            f"outcomes has {len(one)} draws and neighbour_outcomes {len(two)}; pass at least 4."
        )
    if one.shape[1:] != two.shape[1:]:
        raise ValueError(
            f"outcomes has shape {one.shape} and neighbour_outcomes {two.shape}; they may differ "
            "in the number of draws only."
        )
    error = (1 - confidence) / 4  # two directions, two probabilities each
    return max(
        _one_way(one, two, delta, error, events), _one_way(two, one, delta, error, events), 0.0
    )


def check_probabilities(delta: float, confidence: float) -> None:
    """Refuse a delta or a confidence that is not a probability."""
    check_number("delta", delta, least=0, below=1)
    check_number("confidence", confidence, above=0, below=1)


def _one_way(
    one: Outcomes, two: Outcomes, delta: float, error: float, events: Statistics | None
) -> float:
    hits, other_hits = (event[MEASURE] for event in telling_event(one, two, events, delta, error))
    trials = Trials(int(hits.sum()), len(hits), int(other_hits.sum()), len(other_hits))
    return float(log_odds_bound(trials, delta, error))
