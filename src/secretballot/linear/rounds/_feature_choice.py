"""Rounds of several classes with two kinds of features, of which the better one goes on."""

from __future__ import annotations

from dataclasses import replace

from secretballot.linear.rounds._averaged_rounds import AveragedRounds
from secretballot.linear.rounds._class_residuals import ClippedClasses
from secretballot.linear.rounds._response import FittedRounds, RivalPlan, RoundPlan


def run_rival_rounds(plan: RoundPlan, rival: RivalPlan, residuals: ClippedClasses) -> FittedRounds:
    """Run a few rounds with either features, compare them, and finish the rounds of one.

    The comparison is one release: the number of private rows that the rival's model predicts right,
    less that of the plan's. The rival goes on if it is ahead by more than the noise's standard
    deviation.
    """
    candidates = [AveragedRounds(candidate, residuals) for candidate in (plan, rival.plan)]
    right_sums = []
    for candidate in candidates:
        rows, norm = candidate.plan.rows, candidate.plan.features.norm
        coefficients = candidate.advance(rival.n_pilot, rival.n_pilot // 2)
        right_sums.append(rows.right_sum(coefficients, norm))
    difference = rival.release(rival.mechanism, right_sums[1] - right_sums[0])
    is_ahead = float(difference[0]) > rival.mechanism.sigma
    return replace(candidates[is_ahead].finish(), is_rival=is_ahead)
