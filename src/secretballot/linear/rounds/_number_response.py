"""Numbers of rows as the response of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.linear.features import Floats
from secretballot.linear.rounds._number_rounds import BEYOND, run_number_rounds
from secretballot.linear.rounds._private_sums import Targets
from secretballot.linear.rounds._response import FittedRounds, Response, RoundPlan
from secretballot.measures._targets import read_targets

#: Rounds of residuals after the first. Fewer are worse at every epsilon: the scale of the first
#: round is that of the target's bounds, and later ones follow the residuals.
_N_ROUNDS = 5
#: Least ratio of signal to noise with which pairs are asked by default.
_PAIR_SIGNAL = 300.0


@dataclass(frozen=True)
class NumberResponse(Response):
    """Number of each row, scaled to -1 at the lower bound and 1 at the upper one."""

    bounds: tuple[float, float]  # declared bounds; targets beyond them are clipped

    @property
    def n_columns(self) -> int:
        return 1

    @property
    def note(self) -> dict[str, object]:
        return {"model": "regression of a number", "learned": "numbers"}

    @property
    def has_pairs(self) -> bool:
        return True

    def asks_pairs(self, signal: float, n_rounds: int) -> bool:
        """Decide if pairs are searched by default: noise hides them if the signal is weak."""
        return signal >= _PAIR_SIGNAL

    @property
    def largest_rank_error(self) -> float:
        """Error of correlations of ranks below which they are released beside public rows.

        It is larger than that of classes: coefficients of correlated columns diverge where
        reference rows are less correlated than the private ones.
        """
        return 0.3

    @property
    def is_smooth(self) -> bool:
        return True

    def read(self, y: ArrayLike) -> Targets:
        return self.encode(read_targets(y))

    def encode(self, targets: Floats) -> Floats:
        """Scale targets to between -1 and 1, and mark those beyond the bounds by `BEYOND`."""
        low, high = self.bounds
        scaled = (2 * np.clip(targets, low, high) - (low + high)) / (high - low)
        return np.select([targets < low, targets > high], [-BEYOND, BEYOND], scaled)

    @property
    def target_bounds(self) -> tuple[float, float]:
        return self.bounds

    def beyond_bounds(self, targets: Targets) -> NDArray[np.bool_]:
        return np.abs(np.asarray(targets, dtype=np.float64)) == BEYOND

    def choose_rounds(self, signal: float, n_public: int) -> int:
        return _N_ROUNDS

    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        return run_number_rounds(plan)
