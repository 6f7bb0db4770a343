"""Noisy plurality: GNMax and, with a threshold before it, Confident GNMax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot.divergences import Bound, ConfidentMax, Law, NoisyMax, NoisyTop, Step
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._fields import (
    ROUNDING,
    check_count_spacing,
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
        (2018), which reproduces published tables. In the worst case that bound is never less than
        the exact cost. On known votes it covers only one direction between neighbours.

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
        laws: dict[str, Law] = {}
        for group, (weight, ballots) in pair_by_group(self.weight, self.ballots).items():
            vote = NoisyMax(
                sigma=self.sigma,
                weight=weight,
                ballots=ballots,
                n_classes=n_columns,
                bound=self.bound,
            )
            laws[group] = (Step("vote", vote),)
        return laws

    def noise_share(self, n_votes: float) -> float:
        """Compute the noise on the votes of a class as a share of all ballots."""
        return float(self.sigma / n_votes)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes that are small enough for the noise, or raise `ValueError`."""
        return check_count_spacing(self.sigma, super().check_counts(counts))

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the winning class of each row, shape (n_rows,)."""
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(noisy.argmax(axis=1))

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the votes, on which the cost depends."""
        return {"vote": counts}


@dataclass(frozen=True, kw_only=True)
class ConfidentGNMax(Mechanism):
    """Noisy plurality among the rows on which the teachers agree enough.

    A row is answered only if its largest count, plus noise of its own, reaches a threshold. Every
    row that is begun pays for that bit. In a budget of Renyi divergences only answered rows pay for
    the vote. In the default budget votes are paid for beforehand, and the refund for rows without
    an answer is a little less than their price. With `n_votes` a row of two classes is charged as a
    whole instead.

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
        Sum of every row's counts: the number of ballots, or the sum of their weights. It is public,
        and rows with another sum are refused. The outcome of a row of two classes, answered or not,
        is then charged as one of three. With three or more classes, and for ``bound="papernot"``,
        costs are as without it.

    Notes
    -----
    With two classes `n_votes` lowers costs wherever some rows don't pass. The winner of a tied row
    reveals most, and a tied row passes most rarely. A charge for the whole row uses both facts; a
    charge by outcome charges every answered row as if it had been tied.

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

    sigma: float
    sigma_threshold: float
    threshold: float
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    bound: Bound = field(default="exact")
    n_votes: float | None = field(default=None)

    scalable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_votes is not None:
            # The number of votes must be a multiple of a ballot's weight, as counts must be.
            self._check_whole_ballots(np.array([[float(self.n_votes)]]), "n_votes is")

    @property
    def _vote(self) -> GNMax:
        return GNMax(sigma=self.sigma, weight=self.weight, ballots=self.ballots, bound=self.bound)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the threshold bit and, after it, GNMax's vote; or both as one move."""
        groups = pair_by_group(self.weight, self.ballots)
        if self.n_votes is not None and n_columns == 2 and self.bound == "exact":
            return {
                group: (self._whole_row(*pair, self.n_votes),) for group, pair in groups.items()
            }
        laws = {}
        for group, vote in self._vote.laws(n_columns).items():
            weight, ballots = groups[group]
            # The largest count moves by no more than its ballots.
            bit = NoisyTop(scale=self.sigma_threshold, shift=weight * ballots, bound=self.bound)
            follow = [replace(step, after="threshold") for step in vote]
            laws[group] = (Step("threshold", bit), *follow)
        return laws

    def _whole_row(self, weight: float, ballots: int, n_votes: float) -> Step:
        """Return the one step of a row of two classes with a public number of votes."""
        move = ConfidentMax(
            sigma=self.sigma,
            sigma_threshold=self.sigma_threshold,
            threshold=self.threshold,
            n_votes=n_votes,
            weight=weight,
            ballots=ballots,
            alike=not isinstance(self.weight, Mapping),
        )
        return Step("row", move)

    def noise_share(self, n_votes: float) -> float:
        """Compute the noise on the votes of a class as a share of all ballots."""
        return float(self.sigma / n_votes)

    def with_public_votes(self, n_votes: float, n_columns: int) -> Self:
        """Return the same mechanism for a public number of votes: cheaper with two classes."""
        if self.n_votes is not None or n_columns != 2:
            return self
        return replace(self, n_votes=float(n_votes))

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes that are small enough for the noise, or raise `ValueError`."""
        noise = min(self.sigma, self.sigma_threshold)
        votes = check_count_spacing(noise, super().check_counts(counts))
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
        return np.where(top >= self.threshold, self._vote.sample(counts, rng), UNANSWERED)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count a threshold bit for every row, and a vote for the answered ones."""
        once = np.ones(len(outcome))
        return {"row": once, "threshold": once, "vote": (outcome != UNANSWERED).astype(float)}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the largest count's distance from the threshold, and the votes."""
        top = counts.max(axis=1) - self.threshold
        return {"row": counts, "threshold": top, "vote": counts}


class LabelVoting(Mechanism):
    """Base class: votes on sets of labels, perhaps behind a threshold. Subclasses have the fields.

    The threshold's two fields belong together.
    """

    sigma: float
    threshold: float | None
    sigma_threshold: float | None
    weight: float | Mapping[str, float]
    ballots: int | Mapping[str, int]
    bound: Bound

    multilabel: ClassVar[bool] = True
    scalable: ClassVar[bool] = True

    def _vote(self, n_votes: float | None = None) -> GNMax | ConfidentGNMax:
        """Return the vote between classes with this noise, weight and threshold."""
        vote = GNMax(sigma=self.sigma, weight=self.weight, ballots=self.ballots, bound=self.bound)
        if self.threshold is None and self.sigma_threshold is None:
            return vote
        if self.threshold is None or self.sigma_threshold is None:
            raise ValueError(
                f"threshold={self.threshold!r} and sigma_threshold={self.sigma_threshold!r} belong "
                "together: give both, or neither."
            )
        return ConfidentGNMax(
            **vars(vote),
            threshold=self.threshold,
            sigma_threshold=self.sigma_threshold,
            n_votes=n_votes,
        )
