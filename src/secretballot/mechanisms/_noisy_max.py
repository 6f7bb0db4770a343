"""Noisy plurality: GNMax and, with a threshold before it, Confident GNMax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot._numbers import check_integer, check_number
from secretballot.divergences import (
    Bound,
    ConfidentMax,
    Law,
    NoisyMax,
    NoisyTop,
    Step,
    check_bound,
)
from secretballot.mechanisms._base import MOST_BALLOTS, Mechanism, paired

#: How fine floats beside a count must be, in units of the noise on it.
_FINE = 2.0**-20

#: Up to this relative error counts of weighted ballots sum to `n_votes`.
_ROUNDED = 1e-9

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
        How many ballots one row (or owner) can move: in how many teachers it is. Per privacy level
        where that differs.
    bound : {"exact", "papernot"}, default="exact"
        What a row is charged: the exact divergence of its outcome, or what published tables
        charge (Papernot et al., 2018). The latter is never less than the exact cost in the worst
        case; data dependent, it covers only one direction between neighbours, and is there to
        reproduce those tables.

    Raises
    ------
    ValueError
        If a parameter is out of range.

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

    def __post_init__(self) -> None:
        check_number("sigma", self.sigma, above=0)
        check_number("weight", self.weight, above=0, per_level=True)
        check_integer("ballots", self.ballots, most=MOST_BALLOTS, per_level=True)
        paired(self.weight, self.ballots)
        check_bound(self.bound)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one vote a row, for each privacy group's weight."""
        return {
            group: (
                Step(
                    "vote",
                    NoisyMax(
                        sigma=self.sigma,
                        weight=weight,
                        ballots=ballots,
                        n_classes=n_columns,
                        bound=self.bound,
                    ),
                ),
            )
            for group, (weight, ballots) in paired(self.weight, self.ballots).items()
        }

    def scaled(self, factor: float) -> Self:
        """Return the same mechanism for `factor` times as many votes."""
        return replace(self, sigma=float(self.sigma * factor))

    def noise_share(self, n_votes: float) -> float:
        """Return the noise on the votes of a class as a share of all ballots."""
        return float(self.sigma / n_votes)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes as floats that are fine enough for the noise, or raise `ValueError`."""
        return finer_than(self.sigma, super().check_counts(counts))

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the winning class of each row, shape (n_rows,)."""
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(noisy.argmax(axis=1))

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every row is voted on once."""
        return {"vote": np.ones(len(outcome))}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the votes, on which the cost depends."""
        return {"vote": counts}


@dataclass(frozen=True, kw_only=True)
class ConfidentGNMax(Mechanism):
    """Noisy plurality among the rows on which the teachers agree enough.

    A row is answered only if its largest count, plus noise of its own, reaches a threshold. Every
    row that is begun pays for that bit; only answered rows pay for the vote. Unless `n_votes` says
    how many votes there are: then a row of two classes is charged as a whole.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count of an answered row.
    sigma_threshold : float
        Standard deviation of the noise on the largest count.
    threshold : float
        Noisy number of votes from which on a row is answered.
    weight : float or dict of str to float, default=1.0
        Weight of one ballot in the counts; per privacy level where ballots differ.
    ballots : int or dict of str to int, default=1
        How many ballots one row (or owner) can move: in how many teachers it is. Per privacy level
        where that differs.
    bound : {"exact", "papernot"}, default="exact"
        What is charged, as in `GNMax`.
    n_votes : float, default=None
        What every row's counts sum to: the number of ballots, or their weights' sum. It is public,
        and rows that sum to something else are refused. Of two classes the larger then has half of
        the votes at least, and a tied row, of which the winner reveals most, passes as rarely as
        any: its outcome, answered or not, is charged as one of three. With three or more classes,
        and for `bound="papernot"`, costs are as without it.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    With two classes `n_votes` is worth giving wherever some rows don't pass. No row passes more
    rarely than a tied one, for which the charge as a whole allows; charged by outcome, all that do
    pass pay as if they had been tied.

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

    def __post_init__(self) -> None:
        check_number("sigma", self.sigma, above=0)
        check_number("sigma_threshold", self.sigma_threshold, above=0)
        check_number("threshold", self.threshold)
        check_number("weight", self.weight, above=0, per_level=True)
        check_integer("ballots", self.ballots, most=MOST_BALLOTS, per_level=True)
        groups = paired(self.weight, self.ballots)
        check_bound(self.bound)
        if self.n_votes is not None:
            heaviest = max(weight for weight, _ in groups.values())
            check_number("n_votes", self.n_votes, least=heaviest)
            self._check_ballots(np.array([[float(self.n_votes)]]), "n_votes is")

    @property
    def _vote(self) -> GNMax:
        return GNMax(sigma=self.sigma, weight=self.weight, ballots=self.ballots, bound=self.bound)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the threshold bit and, after it, GNMax's vote; or both as one."""
        vote = self._vote.laws(n_columns)
        laws: dict[str, Law] = {}
        for group, (weight, ballots) in paired(self.weight, self.ballots).items():
            if self.n_votes is not None and n_columns == 2 and self.bound == "exact":
                whole = ConfidentMax(
                    sigma=self.sigma,
                    sigma_threshold=self.sigma_threshold,
                    threshold=self.threshold,
                    n_votes=self.n_votes,
                    weight=weight,
                    ballots=ballots,
                    alike=not isinstance(self.weight, Mapping),
                )
                laws[group] = (Step("row", whole),)
                continue
            shift = weight * ballots  # the largest count moves by no more than its ballots
            bit = NoisyTop(scale=self.sigma_threshold, shift=shift, bound=self.bound)
            follow = [replace(step, after="threshold") for step in vote[group]]
            laws[group] = (Step("threshold", bit), *follow)
        return laws

    def scaled(self, factor: float) -> Self:
        """Return the same mechanism for `factor` times as many votes."""
        names = ("sigma", "sigma_threshold", "threshold", "n_votes")
        return replace(self, **scaled_fields(self, factor, *names))

    def noise_share(self, n_votes: float) -> float:
        """Return the noise on the votes of a class as a share of all ballots."""
        return float(self.sigma / n_votes)

    def with_public_votes(self, n_votes: float, n_columns: int) -> Self:
        """Return the same mechanism for a public number of votes: cheaper with two classes."""
        if self.n_votes is not None or n_columns != 2:
            return self
        return replace(self, n_votes=float(n_votes))

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return votes as floats that are fine enough for the noise, or raise `ValueError`."""
        votes = finer_than(min(self.sigma, self.sigma_threshold), super().check_counts(counts))
        if self.n_votes is not None:
            others = ~np.isclose(votes.sum(axis=1), self.n_votes, rtol=_ROUNDED, atol=0)
            if others.any():
                row = int(others.argmax())
                raise ValueError(
                    f"counts has {votes[row].sum():.6g} votes in row {row}, and n_votes="
                    f"{self.n_votes!r}: all rows must have as many. Pass their number (the sum of "
                    "weights, if there are any), or leave n_votes out. "
                    f"{NOT_FOR_PUBLICATION}"
                )
            self._check_ballots(votes, "counts holds")
        return votes

    def _check_ballots(self, votes: NDArray[np.float64], what: str) -> None:
        """Refuse votes that are not whole ballots, where all weigh the same."""
        if isinstance(self.weight, Mapping):
            return
        parts = ~np.isclose(votes, np.round(votes / self.weight) * self.weight, rtol=_ROUNDED)
        if parts.any():
            raise ValueError(
                f"{what} {votes[parts][0]:.6g}, which is no whole number of ballots of weight="
                f"{self.weight:g}; with n_votes all votes are. Give weights per level if ballots "
                f"differ, or leave n_votes out. {NOT_FOR_PUBLICATION}"
            )

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw each row's winner, -1 where the threshold was not reached; shape (n_rows,)."""
        top = counts.max(axis=1) + rng.normal(scale=self.sigma_threshold, size=len(counts))
        return np.where(top >= self.threshold, self._vote.sample(counts, rng), UNANSWERED)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every row has a threshold bit, and the answered ones a vote."""
        return {
            "row": np.ones(len(outcome)),
            "threshold": np.ones(len(outcome)),
            "vote": (outcome != UNANSWERED).astype(np.float64),
        }

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the largest count's distance from the threshold, and the votes."""
        top = counts.max(axis=1) - self.threshold
        return {"row": counts, "threshold": top, "vote": counts}


def vote_of(mechanism: Any, n_votes: float | None = None) -> GNMax | ConfidentGNMax:
    """Return the vote with a mechanism's own noise, weights and, if it has one, threshold."""
    shared: dict[str, Any] = {
        name: getattr(mechanism, name) for name in ("sigma", "weight", "ballots", "bound")
    }
    threshold, noise = mechanism.threshold, mechanism.sigma_threshold
    if (threshold is None) != (noise is None):
        raise ValueError(
            f"threshold={threshold!r} and sigma_threshold={noise!r} belong together: give both, "
            "or neither."
        )
    if threshold is None:
        return GNMax(**shared)
    return ConfidentGNMax(**shared, threshold=threshold, sigma_threshold=noise, n_votes=n_votes)


def scaled_fields(mechanism: Any, factor: float, *names: str) -> dict[str, Any]:
    """Return a mechanism's fields for `factor` times as many votes; those that are None are not."""
    values = {name: getattr(mechanism, name) for name in names}
    return {name: float(value * factor) for name, value in values.items() if value is not None}


def finer_than(
    noise: float, votes: NDArray[np.float64], name: str = "sigma"
) -> NDArray[np.float64]:
    """Refuse votes so large that floats beside them are too coarse for the noise's law to hold."""
    if votes.size and np.spacing(votes.max()) > noise * _FINE:
        raise ValueError(
            f"counts holds {votes.max():.6g} votes, beside which floats are too coarse for noise "
            f"of {name}={noise:g}: it would be rounded away. Use more noise, or count in parts. "
            f"{NOT_FOR_PUBLICATION}"
        )
    return votes
