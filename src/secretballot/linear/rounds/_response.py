"""Response of a fit: the part of a row that is learned, and the plan of its rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from secretballot.linear.features import FeatureMap, Features, Floats
from secretballot.linear.rounds._posterior import Posterior
from secretballot.linear.rounds._private_sums import RowSums, Targets
from secretballot.linear.rounds._reference_rows import ReferenceRows
from secretballot.linear.rounds._residual_histogram import ResidualHistogram
from secretballot.mechanisms._noisy_counts import VectorSum

Release = Callable[[VectorSum, Floats], Floats]


@dataclass(frozen=True)
class PairPlan:
    """Release of the residuals of all pairs of columns.

    Attributes
    ----------
    mechanism : VectorSum
        Mechanism of vectors as long as a round's.
    release : callable
    n_pairs : int
        Largest number of pairs that join the model.
    """

    mechanism: VectorSum
    release: Release
    n_pairs: int


@dataclass(frozen=True)
class RoundPlan:
    """Rounds of one fit, all of whose sizes are public.

    Attributes
    ----------
    rows : RowSums
    features : FeatureMap
    public : ndarray, csr_array or None
        Features of the public rows.
    mechanism : VectorSum
        Mechanism of a round, as `Response.mechanism` makes it.
    release : callable
        Function from a mechanism and sums to noisy sums; the accountant's.
    n_rounds : int
        Number of sums of residuals.
    n_people : float
        Number of private rows or owners of equal weight.
    asks_ranks : bool
        Whether the products of columns' ranks are released, without public rows or with few.
    pairs : PairPlan or None
        Release of all pairs of columns.
    rival : RivalPlan or None
        Rounds with other features of the same rows.
    """

    rows: RowSums
    features: FeatureMap
    public: Features | None
    mechanism: VectorSum
    release: Release
    n_rounds: int
    n_people: float
    asks_ranks: bool = False
    pairs: PairPlan | None = None
    rival: RivalPlan | None = None


@dataclass(frozen=True)
class RivalPlan:
    """Rounds with other features of the same rows.

    Attributes
    ----------
    plan : RoundPlan
    n_pilot : int
        Number of rounds with either features before the last comparison. A fit has as many more
        releases.
    """

    plan: RoundPlan
    n_pilot: int


@dataclass(frozen=True)
class FittedRounds:
    """Result of the rounds, released or computed from releases.

    Attributes
    ----------
    posterior : Posterior
    residuals : list of ndarray of shape (n_features, n_columns)
        Released sums of residuals, round by round; of clipped ones after the first round less
        their expectation.
    features : FeatureMap
        Features of the coefficients: the plan's, with pairs of columns beside them if some stand
        out; or those of its rival.
    histogram : ResidualHistogram or None
        Residuals of numbers in the last round.
    reference : ReferenceRows or None
        Rows by which the rates of classes and labels, and the variance of numbers, are estimated.
    counts : ndarray of shape (n_features,) or None
        Released numbers of rows with each one-hot feature of the plan; None of dense ones.
    is_rival : bool, default=False
        Whether the plan's rival was ahead.
    """

    posterior: Posterior
    residuals: list[Floats]
    features: FeatureMap
    histogram: ResidualHistogram | None = None
    reference: ReferenceRows | None = None
    counts: Floats | None = None
    is_rival: bool = False


class Response(ABC):
    """Part of a row that a fit learns: its class, for instance."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
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
        """Return whether pairs of columns are asked by default: noise may hide all of them.

        Parameters
        ----------
        signal : float
            Ratio of the rows' mean to the noise.
        n_rounds : int
            Number of sums of residuals after the first.
        """
        return False

    @property
    def largest_rank_error(self) -> float:
        """Error of correlations of ranks below which they are released beside public rows.

        In units of the error of the public rows' correlations.
        """
        return 0.1

    @property
    def has_rival(self) -> bool:
        """True if kernel features may take the place of additive ones."""
        return False

    @property
    def is_smooth(self) -> bool:
        """Whether numbers of public rows get piecewise linear effects instead of bins."""
        return False

    @property
    def has_direction(self) -> bool:
        """True if all scores of a row rise with its response: False with three classes and more."""
        return True

    @abstractmethod
    def read(self, y: ArrayLike) -> Targets:
        """Check the targets of private rows, and return them as they are learned."""

    def warn(self) -> None:
        """Warn of what the response itself tells of private rows."""
        return

    @abstractmethod
    def choose_rounds(self, signal: float, n_public: int) -> int:
        """Choose the number of sums of residuals after the first, from public numbers."""

    def mechanism(
        self, sigma: float, features: FeatureMap, weight: float | dict[str, float]
    ) -> VectorSum:
        """Return the mechanism of a round's sums of features times residuals.

        Residuals have a length of at most 1. The diameter is given apart from the norm: without
        public rows the norm is larger.
        """
        return VectorSum(sigma=sigma, norm=features.norm, diameter=2 * features.norm, weight=weight)

    @abstractmethod
    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        """Release the sums of each round, and compute the coefficients from them."""
