"""Rounds of several classes with two kinds of features, of which the better one goes on."""

from __future__ import annotations

from dataclasses import replace

from secretballot.linear.rounds._averaged_rounds import AveragedRounds
from secretballot.linear.rounds._class_residuals import ClippedClasses
from secretballot.linear.rounds._pair_rounds import resized
from secretballot.linear.rounds._response import FittedRounds, RivalPlan, RoundPlan

#: Part of the pilot rounds before the first comparison.
_FIRST_PART = 2 / 3
#: Differences, in standard deviations of the noise, below and above which the first comparison
#: decides, and the one above which the last comparison decides for the rival.
_CLEARLY_BEHIND, _CLEARLY_AHEAD, _AHEAD = -0.5, 2.0, 0.5


def run_rival_rounds(plan: RoundPlan, rival: RivalPlan, residuals: ClippedClasses) -> FittedRounds:
    """Run a few rounds with either features, compare them, and finish the rounds of one.

    A comparison takes the place of a round: the number of private rows that the rival's model
    predicts right, less that of the plan's, is released at the cost of a round. The first one
    decides if it is clear, and otherwise the second, after the rest of the pilot rounds. The better
    features take all releases that are left.
    """
    candidates = [AveragedRounds(candidate, residuals) for candidate in (plan, rival.plan)]
    mechanism = resized(plan.mechanism, 1.0)

    def compare(n_rounds: int) -> float:
        """Take steps, and return the difference in standard deviations of its noise."""
        for candidate in candidates:
            candidate.advance(n_rounds)
        difference = candidates[1].right_sum() - candidates[0].right_sum()
        return float(plan.release(mechanism, difference)[0]) / mechanism.sigma

    n_first, n_comparisons = max(round(_FIRST_PART * rival.n_pilot), 1), 1
    difference = compare(n_first)
    if n_first < rival.n_pilot and _CLEARLY_BEHIND < difference < _CLEARLY_AHEAD:
        difference = compare(rival.n_pilot - n_first)
        n_comparisons += 1
    is_ahead = difference > _AHEAD
    n_lost = candidates[not is_ahead].n_done + n_comparisons
    fitted = candidates[is_ahead].finish(plan.n_rounds + rival.n_pilot - n_lost)
    return replace(fitted, is_rival=is_ahead)
