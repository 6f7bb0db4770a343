"""Classes of rows as the response of a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.ensemble._private_labels import encode, warn_classes_learned
from secretballot.ensemble._read_target import check_targets
from secretballot.linear.rounds._averaged_rounds import (
    AVERAGED_ROUNDS,
    AveragedRounds,
    run_averaged_rounds,
)
from secretballot.linear.rounds._class_residuals import ClassResiduals, ClippedClasses
from secretballot.linear.rounds._class_rounds import run_class_rounds
from secretballot.linear.rounds._output import ClassifierResponse, ClassOutput
from secretballot.linear.rounds._private_sums import Targets
from secretballot.linear.rounds._response import FittedRounds, RivalPlan, RoundPlan

#: Rounds of residuals after the first, by the least ratio of its two errors.
_ROUNDS = ((30.0, 1), (150.0, 2), (1500.0, 3), (15000.0, 5))
#: Fewest rounds with which pairs are asked by default.
_FEWEST_PAIR_ROUNDS = 2
#: Part of the pilot rounds before the first comparison.
_FIRST_PART = 2 / 3
#: Differences, in standard deviations of the noise, below and above which the first comparison
#: decides, and the one above which the last comparison decides for the rival.
_CLEARLY_BEHIND, _CLEARLY_AHEAD, _AHEAD = -0.5, 2.0, 0.5


@dataclass(frozen=True)
class ClassResponse(ClassifierResponse):
    """Class of each row."""

    classes: NDArray[np.generic]  # (n_classes,)
    classes_learned: bool  # whether the classes are those of private rows

    @property
    def n_columns(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def note(self) -> dict[str, object]:
        model = f"logistic regression of {len(self.classes)} classes"
        return {"model": model, "classes_learned": self.classes_learned}

    @property
    def has_pairs(self) -> bool:
        return len(self.classes) == 2

    def asks_pairs(self, signal: float, n_rounds: int) -> bool:
        """Decide if pairs are searched by default: noise hides them if there are few rounds."""
        return n_rounds >= _FEWEST_PAIR_ROUNDS

    @property
    def has_direction(self) -> bool:
        return len(self.classes) == 2

    @property
    def has_rival(self) -> bool:
        return len(self.classes) > 2

    def warn(self) -> None:
        if self.classes_learned:
            warn_classes_learned()

    def read(self, y: ArrayLike) -> Targets:
        return self.encode(check_targets(y))

    def encode(self, targets: NDArray[np.generic]) -> NDArray[np.intp]:
        return encode(targets, self.classes, "y")

    def choose_rounds(self, signal: float, n_public: int) -> int:
        return choose_rounds(signal, n_public) if len(self.classes) == 2 else AVERAGED_ROUNDS

    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        residuals = ClassResiduals(len(self.classes))
        if len(self.classes) == 2:
            return run_class_rounds(plan, residuals)
        if plan.rival is not None:
            return run_rival_rounds(plan, plan.rival, ClippedClasses(residuals))
        return run_averaged_rounds(plan, ClippedClasses(residuals))

    def output(self, rounds: FittedRounds) -> ClassOutput:
        return ClassOutput(self.classes)


def choose_rounds(signal: float, n_public: int) -> int:
    """Choose the number of rounds of residuals after the first.

    The first round takes public rows for private ones. That error is one over their number, and
    the noise one over the square of the signal: more rounds where the noise is the smaller error.
    """
    ratio = signal**2 / n_public
    return max((rounds for least, rounds in _ROUNDS if ratio >= least), default=0)


def run_rival_rounds(plan: RoundPlan, rival: RivalPlan, residuals: ClippedClasses) -> FittedRounds:
    """Run a few rounds with either features, compare them, and finish the rounds of one.

    A comparison takes the place of a round: the number of private rows that the rival's model
    predicts right, less that of the plan's, is released at the cost of a round. The first one
    decides if it is clear, and otherwise the second, after the rest of the pilot rounds. The better
    features take all releases that are left.
    """
    candidates = [AveragedRounds(candidate, residuals) for candidate in (plan, rival.plan)]

    def compare(n_rounds: int) -> float:
        """Take steps, and return the difference in standard deviations of its noise."""
        for candidate in candidates:
            candidate.advance(n_rounds)
        difference = candidates[1].right_sum() - candidates[0].right_sum()
        return float(plan.noisy_sums(difference, 1.0)[0]) / plan.noise(1.0)

    n_first, n_comparisons = max(round(_FIRST_PART * rival.n_pilot), 1), 1
    difference = compare(n_first)
    if n_first < rival.n_pilot and _CLEARLY_BEHIND < difference < _CLEARLY_AHEAD:
        difference = compare(rival.n_pilot - n_first)
        n_comparisons += 1
    is_ahead = difference > _AHEAD
    n_lost = candidates[not is_ahead].n_done + n_comparisons
    fitted = candidates[is_ahead].finish(plan.n_rounds + rival.n_pilot - n_lost)
    return replace(fitted, is_rival=is_ahead)
