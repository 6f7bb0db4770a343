"""Labels of rows as the response of a fit: several of them, each present or absent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from secretballot.ensemble._read_target import check_targets
from secretballot.linear.features import Floats
from secretballot.linear.rounds._averaged_rounds import AVERAGED_ROUNDS, run_averaged_rounds
from secretballot.linear.rounds._clipped_labels import ClippedLabels, label_probabilities
from secretballot.linear.rounds._output import ClassifierResponse, LabelOutput
from secretballot.linear.rounds._private_sums import Targets
from secretballot.linear.rounds._response import FittedRounds, RoundPlan

#: Least threshold, and one less the largest.
_LEAST_RATE = 1e-9


@dataclass(frozen=True)
class LabelResponse(ClassifierResponse):
    """Labels of each row."""

    rates: Floats  # (n_labels,): public guess of the share of rows with each label
    # (n_labels,): probability above which a label is predicted. None: its mean over the reference
    # rows.
    thresholds: Floats | None = None

    @property
    def n_columns(self) -> int:
        return len(self.rates)

    @property
    def note(self) -> dict[str, object]:
        """The model, and the origin of its labels, whose number is public as that of rows is."""
        model = f"logistic regression of {len(self.rates)} labels"
        return {"model": model, "classes_learned": False}

    def read(self, y: ArrayLike) -> Targets:
        targets = check_targets(y)
        if targets.ndim != 2 or targets.shape[1] != len(self.rates):
            raise ValueError(f"y has shape {targets.shape}; give {len(self.rates)} labels a row.")
        return self.encode(targets)

    def encode(self, targets: NDArray[np.generic] | csr_array) -> csr_array:
        return csr_array(targets, dtype=np.float64)

    def choose_rounds(self, signal: float, n_public: int) -> int:
        return AVERAGED_ROUNDS

    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        return run_averaged_rounds(plan, ClippedLabels(self.rates))

    def output(self, rounds: FittedRounds) -> LabelOutput:
        thresholds = self.thresholds
        if thresholds is None:
            reference = rounds.reference
            assert reference is not None
            p = label_probabilities(reference, rounds.posterior.coefficients)
            thresholds = np.clip(reference.weights @ p, _LEAST_RATE, 1 - _LEAST_RATE)
        return LabelOutput(thresholds)
