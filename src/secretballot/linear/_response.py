"""Response of a fit (the part of a row that is learned), and the plan of its rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.linear._design import FeatureMap, Features, Floats
from secretballot.linear._posterior import Posterior
from secretballot.linear._private_sums import RowSums, Targets
from secretballot.linear._reference_rows import ReferenceRows
from secretballot.linear._residual_histogram import ResidualHistogram
from secretballot.mechanisms._noisy_counts import VectorSum
from secretballot.tables._private_rows import PrivateRows

#: Function from the name of a planned release and scaled sums to noisy ones: the accountant's.
Release = Callable[[str, Floats], Floats]

#: Largest distance of two people's scaled vectors, and largest length of one.
_DIAMETER = 2.0
#: Margin of scaled vectors' distances over the rounding of the length that scales them, and over
#: that of the sums: a part of each person's length.
_LENGTH_ROUNDING, _SUM_ROUNDING = 2.0**-40, 2.0**-50


def scaled_sum(sigma: float, weight: float | Mapping[str, float]) -> VectorSum:
    """Return the mechanism of sums of scaled vectors, whose distances are at most 2."""
    return VectorSum(sigma=sigma, norm=_DIAMETER, diameter=_DIAMETER, weight=weight)


@dataclass(frozen=True)
class RoundPlan:
    """Rounds of one fit, all of whose sizes are public."""

    rows: PrivateRows[RowSums]
    total: float  # sum of the weights of all rows, or owners
    features: FeatureMap
    public: Features | None  # features of the public rows
    release: Release
    sigma: float  # noise on the scaled sums of a round
    n_rounds: int  # number of sums of residuals
    n_people: float  # number of private rows or owners of equal weight
    least_weight: float  # weight of a person of the strictest level
    # Whether the products of columns' ranks are released, without public rows or with few.
    asks_ranks: bool = False
    n_pairs: int = 0  # largest number of pairs of columns that join the model; 0: none is searched
    pair_sigma: float = 0.0  # noise on the scaled sums of all pairs
    rival: RivalPlan | None = None  # rounds with other features of the same rows

    def noisy_sums(self, sums: Floats, radius: float, name: str = "sums") -> Floats:
        """Release exact sums of vectors, no two of which are farther apart than twice the radius.

        No vector may be longer than that distance.
        """
        length = self._length(radius)
        return np.asarray(length * self.release(name, sums / length))

    def noise(self, radius: float) -> float:
        """Return the noise on each of such sums, in a round."""
        return self.sigma * self._length(radius)

    def pair_noise(self, radius: float) -> float:
        return self.pair_sigma * self._length(radius)

    def _length(self, radius: float) -> float:
        rounding = _LENGTH_ROUNDING + _SUM_ROUNDING * self.total / self.least_weight
        return radius * (1 + rounding)


@dataclass(frozen=True)
class RivalPlan:
    """Rounds with other features of the same rows."""

    plan: RoundPlan
    # Number of rounds with either features before the last comparison. A fit has as many more
    # releases.
    n_pilot: int


@dataclass(frozen=True)
class FittedRounds:
    """Result of the rounds, released or computed from releases."""

    posterior: Posterior
    # (n_features, n_outputs): released sums of residuals, round by round; of clipped ones after the
    # first round less their expectation.
    residuals: list[Floats]
    # Features of the coefficients: the plan's, with pairs of columns beside them if some stand out;
    # or those of its rival.
    features: FeatureMap
    histogram: ResidualHistogram | None = None  # residuals of numbers in the last round
    # Rows by which the rates of classes and labels, and the variance of numbers, are estimated.
    reference: ReferenceRows | None = None
    # (n_features,): released numbers of rows with each one-hot feature of the plan; None of dense
    # ones.
    counts: Floats | None = None
    is_rival: bool = False  # whether the plan's rival was ahead


class Response(ABC):
    """Part of a row that a fit learns: its class, for instance."""

    #: Whether numbers of public rows get piecewise linear effects instead of bins.
    is_smooth: ClassVar[bool] = False
    #: Largest error at which correlations of ranks are released beside public rows, in units of the
    #: error of the public rows' correlations.
    largest_rank_error: ClassVar[float] = 0.1

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of residuals of a row, and of coefficients of a feature."""

    @property
    @abstractmethod
    def note(self) -> dict[str, object]:
        """Public facts for the ledger."""

    @property
    def has_pairs(self) -> bool:
        """True if pairs of columns may join the model."""
        return False

    def asks_pairs(self, signal: float, n_rounds: int) -> bool:
        """Decide if pairs of columns are searched by default: noise may hide all of them."""
        return False

    @property
    def has_rival(self) -> bool:
        """True if kernel features may take the place of additive ones."""
        return False

    @property
    def has_direction(self) -> bool:
        """True if all scores of a row rise with its response: False with three classes and more."""
        return True

    @abstractmethod
    def read(self, y: ArrayLike) -> Targets:
        """Check the targets of private rows, and return them as they are learned."""

    @property
    def target_bounds(self) -> tuple[float, float] | None:
        """Declared bounds of the target, to which it is clipped; None of classes and labels."""
        return None

    def misfits(self, targets: Targets) -> dict[Hashable, NDArray[np.bool_]]:
        """Return the mask of targets, as they are learned, beyond `target_bounds`, by `TARGETS`."""
        return {}

    def warn(self) -> None:
        """Warn of what the response itself tells of private rows."""
        return

    @abstractmethod
    def choose_rounds(self, signal: float, n_public: int) -> int:
        """Choose the number of sums of residuals after the first, from public numbers."""

    @abstractmethod
    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        """Release the sums of each round, and compute the coefficients from them."""


class ClassifierResponse(Response):
    """Response of a classifier, with its predictions; it holds nothing private."""

    def fitted(self, rounds: FittedRounds) -> ClassifierResponse:
        """Return the response with what predictions need of a fit."""
        return self

    @abstractmethod
    def class_values(self) -> NDArray[np.generic] | list[NDArray[np.generic]]:
        """Return the classes, or the values of each label."""

    @abstractmethod
    def decision(self, scores: Floats) -> Floats:
        """Return the numbers from which predictions follow."""

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each class or label: (n_rows, n_outputs)."""

    @abstractmethod
    def predict(self, scores: Floats) -> NDArray[np.generic]:
        """Return the most probable classes, or the labels that are present."""

    @abstractmethod
    def find_target(self, target: Hashable) -> tuple[int, float]:
        """Return the column of a target's scores, and their sign, or raise ValueError."""
