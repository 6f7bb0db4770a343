"""How often labels come out right, of ballots that are right as often as was guessed."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from secretballot.divergences import clipped_weight, level_quadrature
from secretballot.mechanisms import BinaryVoting, PowersetVoting, TauVoting


def expected_balance(
    mechanism: BinaryVoting | TauVoting | PowersetVoting,
    n_teachers: int,
    n_labels: int,
    agreement: float,
    n_positives: int,
    correlation: float,
) -> float:
    """Return the balanced accuracy of one label, under a simple model of ballots.

    Each ballot has each label right with probability `agreement`, on its own (correlation 0) or
    all of them with one draw (correlation 1), in rows of `n_positives` labels. So a whole set is
    right with probability agreement^(1 + (n_labels - 1) (1 - correlation)).
    """
    if isinstance(mechanism, PowersetVoting):
        together = agreement ** (1 + (n_labels - 1) * (1 - correlation))
        return _of_sets(mechanism, n_teachers, n_labels, together)
    weight = 1.0
    if isinstance(mechanism, TauVoting):
        weight = float(clipped_weight(n_positives, mechanism.tau, mechanism.norm))
    right = [
        _ahead(2 * weight * agreement - 1, weight, mechanism.sigma, n_teachers, agreement),
        _ahead(1 - 2 * weight * (1 - agreement), weight, mechanism.sigma, n_teachers, agreement),
    ]
    return float(np.mean(right))


def _ahead(gap: float, weight: float, sigma: float, n_teachers: int, agreement: float) -> float:
    """Return how likely a label is decided as `gap` votes a ballot say on average."""
    variance = 4 * n_teachers * weight**2 * agreement * (1 - agreement) + 2 * sigma**2
    return float(ndtr(gap * n_teachers / math.sqrt(variance)))


def _of_sets(mechanism: PowersetVoting, n_teachers: int, n_labels: int, together: float) -> float:
    """Return the same of a vote between sets, where ballots that are wrong have one label wrong."""
    wrong = n_teachers * (1 - together) / n_labels
    votes = np.array([n_teachers * together, *[wrong] * n_labels])
    votes = votes[: mechanism.n_outcomes]
    log_each = level_quadrature(votes, mechanism.n_outcomes, mechanism.sigma, 0.0).unchanged()
    # Levels are the distinct counts, from the lowest on, which is that of sets without votes.
    of_level = dict(
        zip(np.unique(np.append(votes, 0.0)).tolist()[::-1], log_each[::-1], strict=False)
    )
    right = math.exp(of_level[votes[0]])
    near = min(n_labels * math.exp(of_level[wrong]), 1 - right)
    # Of all sets half of the labels are wrong: of those that nobody voted for a few more.
    others = mechanism.n_outcomes - n_labels - 1
    of_others = (mechanism.n_outcomes // 2 - n_labels) / others if others else 0.0
    return right + near * (1 - 1 / n_labels) + max(1 - right - near, 0.0) * of_others
