"""Noisy plurality: GNMax and, with a threshold before it, Confident GNMax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._law import Bound, Law, NoisyBit, NoisyMax, Step
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._fields import (
    ROUNDING,
    BallotThreshold,
    check_count_spacing,
    check_whole_votes,
    pair_by_group,
)

#: Outcome of a row that was not answered.
UNANSWERED = -1


@dataclass(frozen=True, kw_only=True)
class GNMax(Mechanism):
    """Noisy plurality: the class with the most votes after Gaussian noise on every count.

    Charged for the winner released, not for the noisy counts behind it.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count, in votes.
    weight : float or dict of str to float, default=1.0
        Weight of one ballot in the counts; per privacy level where ballots differ.
    ballots : int or dict of str to int, default=1
        Number of ballots that one row (or owner) can move: the number of teachers trained on it.
        Per privacy level where that differs.
    bound : {"exact", "papernot"}, default="exact"
        Charge of a row: the exact divergence of its outcome, or the bound of Papernot et al.
        (2018), which reproduces published tables. In the worst case that is never less; on known
        votes it covers only one direction between neighbours.

    References
    ----------
    Papernot et al., "Scalable Private Learning with PATE" (ICLR 2018), Section 4.1.

    Examples
    --------
    >>> from secretballot import GNMax, PrivacyAccountant
    >>> votes = [[90, 7, 3], [2, 94, 4]]
    >>> accountant = PrivacyAccountant(epsilon=20, delta=1e-5)
    >>> accountant.release(GNMax(sigma=4), votes)
    array([0, 1])
    """

    sigma: float
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    bound: Bound = field(default="exact")

    scalable: ClassVar[bool] = True

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one vote a row, for each privacy group's weight."""
        vote = partial(NoisyMax, sigma=self.sigma, n_classes=n_columns, bound=self.bound)
        return {
            group: (Step("vote", vote(weight=weight, ballots=ballots)),)
            for group, (weight, ballots) in pair_by_group(self.weight, self.ballots).items()
        }

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes that are small enough for the noise, or raise `ValueError`."""
        votes = check_count_spacing(self.sigma, super().check_counts(counts))
        check_whole_votes(votes, self.weight)
        return votes

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the winning class of each row, shape (n_rows,)."""
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(noisy.argmax(axis=1))

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the votes, on which the cost depends."""
        return {"vote": counts}


@dataclass(frozen=True, kw_only=True)
class ConfidentGNMax(GNMax):
    """Noisy plurality among the rows on which the teachers agree enough.

    A row is answered only if its largest count, plus noise of its own, reaches a threshold. Every
    row that is begun pays for that bit, and answered rows pay for the vote: afterwards in a budget
    of Renyi divergences, beforehand and with a refund in the default budget.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count of an answered row.
    sigma_threshold : float
        Standard deviation of the noise on the largest count.
    threshold : float
        Noisy number of votes from which on a row is answered.
    weight, ballots, bound
        As for `GNMax`.
    n_votes : float, default=None
        Sum of every row's counts (ballots, or their weights), a public number; rows with another
        sum are refused. A row of two classes is then charged as a whole: winner or no answer. With
        three or more classes, and for ``bound="papernot"``, costs are as without it.

    Notes
    -----
    With two classes `n_votes` lowers costs wherever some rows don't pass. The winner of a tied row
    reveals most, and a tied row passes most rarely: only a charge for the whole row uses both.

    References
    ----------
    Papernot et al., "Scalable Private Learning with PATE" (ICLR 2018), Algorithm 1. Charging by
    what was released is Feldman and Zrnic, "Individual Privacy Accounting via a Renyi Filter"
    (2021), and holds at one Renyi order fixed beforehand.

    Examples
    --------
    >>> from secretballot import ConfidentGNMax, PrivacyAccountant
    >>> votes = [[95, 3, 2], [34, 33, 33]]
    >>> accountant = PrivacyAccountant(epsilon=20, delta=1e-5)
    >>> accountant.release(ConfidentGNMax(sigma=4, sigma_threshold=4, threshold=65), votes)
    array([ 0, -1])
    """

    sigma_threshold: float
    threshold: float
    n_votes: float | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_votes is not None:
            self._check_whole_ballots(np.array([[float(self.n_votes)]]), "n_votes is")

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the threshold bit and, after it, GNMax's vote; or both as one move."""
        if self.n_votes is not None and n_columns == 2 and self.bound == "exact":
            return self._laws_of_whole_rows(self.n_votes)
        laws: dict[str, Law] = {}
        for group, (vote,) in super().laws(n_columns).items():
            weight, ballots = pair_by_group(self.weight, self.ballots)[group]
            # The largest count moves by no more than its ballots.
            bit = NoisyBit(scale=self.sigma_threshold, shift=weight * ballots, bound=self.bound)
            laws[group] = (Step("threshold", bit), replace(vote, after="threshold"))
        return laws

    def _laws_of_whole_rows(self, n_votes: float) -> dict[str, Law]:
        """Return one step for each group: a row of two classes with a public number of votes."""
        row = partial(
            ConfidentMax,
            sigma=self.sigma,
            sigma_threshold=self.sigma_threshold,
            threshold=self.threshold,
            n_votes=n_votes,
            alike=not isinstance(self.weight, Mapping),
        )
        return {
            group: (Step("row", row(weight=weight, ballots=ballots)),)
            for group, (weight, ballots) in pair_by_group(self.weight, self.ballots).items()
        }

    def with_public_votes(self, n_votes: float, n_columns: int) -> Self:
        """Return the same mechanism for a public number of votes: cheaper with two classes."""
        if self.n_votes is not None or n_columns != 2:
            return self
        return replace(self, n_votes=float(n_votes))

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes that are small enough for the noise, or raise `ValueError`."""
        votes = super().check_counts(counts)
        check_count_spacing(self.sigma_threshold, votes, "sigma_threshold")
        if self.n_votes is not None:
            totals = votes.sum(axis=1)
            different = ~np.isclose(totals, self.n_votes, rtol=ROUNDING, atol=0)
            if different.any():
                row = int(different.argmax())
                raise ValueError(
                    f"counts has {totals[row]:.6g} votes in row {row}, and n_votes="
                    f"{self.n_votes!r}: all rows must have as many. Pass their number (the sum of "
                    "weights, if there are any), or leave n_votes out. "
                    f"{NOT_FOR_PUBLICATION}"
                )
            self._check_whole_ballots(votes, "counts holds")
        return votes

    def _check_whole_ballots(self, votes: NDArray[np.float64], source: str) -> None:
        """Refuse votes that are not whole ballots, where all weigh the same."""
        if isinstance(self.weight, Mapping):
            return
        parts = ~np.isclose(votes, np.round(votes / self.weight) * self.weight, rtol=ROUNDING)
        if parts.any():
            raise ValueError(
                f"{source} {votes[parts][0]:.6g}, which is no whole number of ballots of weight="
                f"{self.weight:g}; with n_votes all votes are. Give weights per level if ballots "
                f"differ, or leave n_votes out. {NOT_FOR_PUBLICATION}"
            )

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw each row's winner, -1 where the threshold was not reached; shape (n_rows,)."""
        top = counts.max(axis=1) + rng.normal(scale=self.sigma_threshold, size=len(counts))
        return np.where(top >= self.threshold, super().sample(counts, rng), UNANSWERED)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count a threshold bit for every row, and a vote for the answered ones."""
        once = np.ones(len(outcome))
        return {"row": once, "threshold": once, "vote": (outcome != UNANSWERED).astype(float)}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the largest count's distance from the threshold, and the votes."""
        top = counts.max(axis=1) - self.threshold
        return {"row": counts, "threshold": top, "vote": counts}


@dataclass(frozen=True, kw_only=True)
class LabelVoting(Mechanism):
    """Base class: votes on sets of labels, perhaps behind a threshold."""

    sigma: float
    threshold: float | None = field(default=None)
    sigma_threshold: float | None = field(default=None)
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    bound: Bound = field(default="exact")
    ballot_threshold: BallotThreshold = field(default=None)

    multilabel: ClassVar[bool] = True
    scalable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.threshold is None) != (self.sigma_threshold is None):
            raise ValueError(
                f"threshold={self.threshold!r} and sigma_threshold={self.sigma_threshold!r} belong "
                "together: give both, or neither."
            )

    def _vote(self, n_votes: float | None = None) -> GNMax:
        """Return the vote between classes with this noise, weight and threshold."""
        vote = GNMax(sigma=self.sigma, weight=self.weight, ballots=self.ballots, bound=self.bound)
        if self.threshold is None or self.sigma_threshold is None:
            return vote
        return ConfidentGNMax(
            **vars(vote),
            threshold=self.threshold,
            sigma_threshold=self.sigma_threshold,
            n_votes=n_votes,
        )
