"""Noisy plurality: GNMax, Confident GNMax with a threshold before it, and SkellamMax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, NoReturn, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._numbers import check_integer
from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._integer_moves import IntegerBit, IntegerCounts, IntegerMax
from secretballot.costs._law import Law, NoisyBit, NoisyMax, Step
from secretballot.costs._noise import draw_skellam
from secretballot.mechanisms._base import (
    MAX_BALLOTS,
    ROUNDING,
    Mechanism,
    by_group,
    check_choice,
    check_count_spacing,
    check_whole_votes,
    pair_by_group,
)

#: Outcome of a row that was not answered.
UNANSWERED = -1

#: Noise that no row has, in its standard deviations.
_OUT_OF_REACH = 6.0


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

    scalable: ClassVar[bool] = True

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one vote a row, for each privacy group's weight."""
        vote = partial(NoisyMax, sigma=self.sigma, n_classes=n_columns)
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
    weight, ballots
        As for `GNMax`.
    n_votes : float, default=None
        Sum of every row's counts (ballots, or their weights), a public number; rows with another
        sum are refused. A row of two classes is then charged as a whole: winner or no answer. With
        three or more classes costs are as without it.

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
        if self.n_votes is not None and n_columns == 2:
            return self._laws_of_whole_rows(self.n_votes)
        laws: dict[str, Law] = {}
        for group, (vote,) in super().laws(n_columns).items():
            weight, ballots = pair_by_group(self.weight, self.ballots)[group]
            # The largest count moves by no more than its ballots.
            bit = NoisyBit(scale=self.sigma_threshold, shift=weight * ballots)
            laws[group] = (Step("threshold", bit), replace(vote, after="threshold"))
        return laws

    def _laws_of_whole_rows(self, n_votes: float) -> dict[str, Law]:
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
            self._warn_out_of_reach(self.n_votes)
        return votes

    def _warn_out_of_reach(self, n_votes: float) -> None:
        """Warn of a threshold that no row passes, by public numbers."""
        if self.threshold > n_votes + _OUT_OF_REACH * self.sigma_threshold:
            warn(
                f"threshold={self.threshold:g} is out of reach of n_votes={n_votes:g} and the "
                f"noise, sigma_threshold={self.sigma_threshold:g}: no row will be answered, and "
                "each pays for its threshold. Use a lower threshold."
            )

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


#: Values that the aggregator may reveal.
Opened = Literal["winner", "counts"]

#: Limit of the variance: tables of more noise would be too long.
_MAX_VARIANCE = 1e9
#: Less variance is no noise.
_MIN_VARIANCE = 1e-60


@dataclass(frozen=True, kw_only=True)
class SkellamMax(Mechanism):
    """Noisy plurality of integer counts, with Skellam noise that parties can make together.

    The class with the most votes after noise on every count; of equal counts the first. Each of
    `n_parties` adds to each count a `share` of its own. Any `n_colluders` of them may tell each
    other theirs, so the charge is for the noise of the others. Shares are integers, so that counts
    may be added up by secure summation.

    Parameters
    ----------
    variance : float
        Variance, in votes squared, of the noise on each count that the parties which don't collude
        make together. From 1e-60 to 1e9.
    n_parties : int, default=1
        Number of parties that make noise. One is an aggregator that all trust.
    n_colluders : int, default=0
        Number of parties that may know each other's shares. Each party knows its own: at least 1,
        and less than all, if there is more than one party.
    opens : {"winner", "counts"}, default="winner"
        Released value: the winning class, of shape (n_rows,), and nothing else, or all noisy
        counts, of the shape of the counts. These cost more.
    weight : int or dict of str to int, default=1
        Weight of one ballot in the counts; per privacy level where ballots differ.

    See Also
    --------
    GNMax : The same with Gaussian noise of one aggregator; it can be charged by known votes.

    Notes
    -----
    Noise is the difference of two Poisson numbers. Shares of `share_variance`, which is
    ``variance / (n_parties - n_colluders)``, add up to noise of `total_variance` on each count.

    A Renyi order charges the winner of two classes its exact worst case over all integer gaps, and
    the winner of more classes a bound 1 to 4 per cent above it. Gaussian budgets price votes
    on two classes as noisy bits that reveal at least as much, and charge three or more classes as
    noisy counts. Only the worst case is charged: parties know their own noise, so
    data-dependent costs would depend on more than the votes.

    Noise is integer from the start: nothing is rounded, and no floating-point number is released.
    It is drawn from tables, with 128 random bits a number. The relative error of each probability
    is about 1e-13 (1e-11 at the largest variance).

    Several labels are rows of their own, of two counts each, against and for a label. So a party
    that publicly knows nothing of some labels is not in their counts and pays for the others. The
    number of votes may differ between rows.

    References
    ----------
    Valovich and Alda, "Computational Differential Privacy from Lattice-Based Cryptography" (NuTMiC
    2017) and Agarwal, Kairouz and Liu, "The Skellam Mechanism for Differentially Private Federated
    Learning" (NeurIPS 2021), for the noise. They charge sums, not winners.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant, SkellamMax
    >>> mechanism = SkellamMax(variance=21, n_parties=10, n_colluders=3)
    >>> mechanism.share_variance, mechanism.total_variance
    (3.0, 30.0)
    >>> accountant = PrivacyAccountant(epsilon=10, delta=1e-5)
    >>> accountant.release(mechanism, [[48, 1, 1], [2, 3, 45]])
    array([0, 2])

    Two labels of one row are two rows of votes against and for them:

    >>> accountant.release(mechanism, [[47, 3], [2, 48]]).reshape(1, 2)
    array([[0, 1]])
    """

    variance: float
    n_parties: int = field(default=1)
    n_colluders: int = field(default=0)
    opens: Opened = field(default="winner")
    weight: int | Mapping[str, int] = field(default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variance < _MIN_VARIANCE:
            raise ValueError(
                f"variance={self.variance!r} must be at least {_MIN_VARIANCE:g}: with less, "
                "no number is ever changed. Use a larger variance."
            )
        if self.variance > _MAX_VARIANCE:
            raise ValueError(
                f"variance={self.variance!r} must be at most {_MAX_VARIANCE:g}; count in larger "
                "units, or use GNMax."
            )
        check_integer("n_parties", self.n_parties)
        check_integer("n_colluders", self.n_colluders, least=0)
        if self.n_colluders >= self.n_parties:
            raise ValueError(
                f"n_colluders={self.n_colluders} of n_parties={self.n_parties} leaves nobody whose "
                "noise is unknown; there must be fewer."
            )
        if self.n_parties > 1 and self.n_colluders == 0:
            raise ValueError(
                f"n_colluders=0 of n_parties={self.n_parties}: each party knows its own share, so "
                "at least 1 must be allowed for."
            )
        check_choice("opens", self.opens, get_args(Opened))
        check_integer("weight", self.weight, most=MAX_BALLOTS, per_level=True)

    @property
    def share_variance(self) -> float:
        """Variance of one party's share of the noise on each count."""
        return self.variance / (self.n_parties - self.n_colluders)

    @property
    def total_variance(self) -> float:
        """Variance of the noise on each count: the shares of all parties together."""
        return self.n_parties * self.share_variance

    def without(self, n_missing: int) -> Self:
        """Return the mechanism with the remaining noise if some parties' shares did not arrive.

        Shares keep their variance. It costs more, since colluding parties may all remain. Charge it
        instead, before anything is opened, or let the vote be void.

        Raises
        ------
        ValueError
            If all remaining parties may collude.
        """
        check_integer("n_missing", n_missing, least=0)
        honest = self.n_parties - self.n_colluders
        if n_missing >= honest:
            raise ValueError(
                f"n_missing={n_missing} of n_parties={self.n_parties} leaves none but the "
                f"n_colluders={self.n_colluders}: no noise is left. The vote is void."
            )
        variance = self.variance * (honest - n_missing) / honest
        return replace(self, variance=variance, n_parties=self.n_parties - n_missing)

    def share(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one party's share of the noise, of the shape of the counts, as integers.

        The generator is the party's own: noise protects only as long as nobody else knows it.
        """
        return draw_skellam(self.share_variance, shape, rng)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one vote a row, or its counts, for each privacy group's weight."""
        return {
            group: (self._step(n_columns, int(weight)),)
            for group, weight in by_group(self.weight).items()
        }

    def _step(self, n_columns: int | None, weight: int) -> Step:
        if n_columns == 1:
            weight = 0  # every ballot is for the only class
        if self.opens == "counts":
            return Step("counts", IntegerCounts.from_variance(self.variance, weight))
        if n_columns in (1, 2):
            return Step("vote", IntegerBit.from_variance(2 * self.variance, 2 * weight))
        return Step("vote", IntegerMax.from_variance(self.variance, weight))

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return whole numbers of votes, shape (n_rows, n_classes), or raise `ValueError`."""
        votes = super().check_counts(counts)
        parts = votes != np.rint(votes)
        if parts.any():
            raise ValueError(
                f"counts holds {votes[parts][0]:.6g}; noise is integer, and all counts must be. "
                "Use ballots of integer weight."
            )
        return votes

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the winning class of each row, shape (n_rows,), or its noisy counts."""
        # One draw has the law of the sum of all parties' shares.
        noise = draw_skellam(self.total_variance, counts.shape, rng)
        noisy = counts.astype(np.int64) + noise
        return noisy if self.opens == "counts" else np.asarray(noisy.argmax(axis=1))

    def state(self, counts: NDArray[Any]) -> NoReturn:
        """Refuse to charge by known votes: the cost also depends on the noise that parties know."""
        raise ValueError(
            "SkellamMax is charged its worst case only: parties know their own shares of the "
            "noise, so votes do not determine their cost. Use accounting='worst_case' and "
            "leave counts out of prices, or use GNMax."
        )
