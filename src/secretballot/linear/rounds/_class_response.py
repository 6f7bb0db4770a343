"""Classes of rows as the response of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.ensemble._private_labels import encode, warn_classes_learned
from secretballot.ensemble._read_target import check_targets
from secretballot.linear.rounds._averaged_rounds import AVERAGED_ROUNDS, run_averaged_rounds
from secretballot.linear.rounds._class_residuals import ClassResiduals, ClippedClasses
from secretballot.linear.rounds._class_rounds import run_class_rounds
from secretballot.linear.rounds._feature_choice import run_rival_rounds
from secretballot.linear.rounds._output import ClassifierResponse, ClassOutput
from secretballot.linear.rounds._private_sums import Targets
from secretballot.linear.rounds._response import FittedRounds, RoundPlan

#: Rounds of residuals after the first, by the least ratio of its two errors.
_ROUNDS = ((30.0, 1), (150.0, 2), (1500.0, 3), (15000.0, 5))
#: Fewest rounds with which pairs are asked by default.
_FEWEST_PAIR_ROUNDS = 2


@dataclass(frozen=True)
class ClassResponse(ClassifierResponse):
    """Class of each row.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    classes_learned : bool
        Whether the classes are those of private rows.
    """

    classes: NDArray[np.generic]
    classes_learned: bool

    @property
    def n_columns(self) -> int:
        """Residuals of a row: one of two classes, else one a class."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def note(self) -> dict[str, object]:
        """The model, and the origin of its classes."""
        model = f"logistic regression of {len(self.classes)} classes"
        return {"model": model, "classes_learned": self.classes_learned}

    @property
    def has_pairs(self) -> bool:
        """True with two classes."""
        return len(self.classes) == 2

    def asks_pairs(self, signal: float, n_rounds: int) -> bool:
        """Return whether pairs are asked by default: with few rounds noise would hide them."""
        return n_rounds >= _FEWEST_PAIR_ROUNDS

    @property
    def has_direction(self) -> bool:
        """True with two classes, of which the second is the positive one."""
        return len(self.classes) == 2

    @property
    def has_rival(self) -> bool:
        """True with three classes and more: kernel features may take the place of additive ones."""
        return len(self.classes) > 2

    def warn(self) -> None:
        """Warn of classes that are learned from private rows."""
        if self.classes_learned:
            warn_classes_learned()

    def read(self, y: ArrayLike) -> Targets:
        """Return the class code of each row."""
        return self.encode(check_targets(y))

    def encode(self, targets: NDArray[np.generic]) -> NDArray[np.intp]:
        """Return the class codes of checked targets."""
        return encode(targets, self.classes, "y")

    def choose_rounds(self, signal: float, n_public: int) -> int:
        """Choose the number of sums of residuals after the first."""
        return choose_rounds(signal, n_public) if len(self.classes) == 2 else AVERAGED_ROUNDS

    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        """Fit two classes by the posterior of all rounds, and more by averaged steps."""
        residuals = ClassResiduals(len(self.classes))
        if len(self.classes) == 2:
            return run_class_rounds(plan, residuals)
        if plan.rival is not None:
            return run_rival_rounds(plan, plan.rival, ClippedClasses(residuals))
        return run_averaged_rounds(plan, ClippedClasses(residuals))

    def output(self, rounds: FittedRounds) -> ClassOutput:
        """Return the predictions of a fit."""
        return ClassOutput(self.classes)


def choose_rounds(signal: float, n_public: int) -> int:
    """Choose the number of rounds of residuals after the first.

    The first round takes public rows for private ones. That error is one over their number, and
    the noise one over the square of the signal: more rounds where the noise is the smaller error.
    """
    ratio = signal**2 / n_public
    return max((rounds for least, rounds in _ROUNDS if ratio >= least), default=0)
