"""Noisy plurality of integer counts, with noise that several parties make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_integer
from secretballot.costs._integer_moves import IntegerBit, IntegerCounts, IntegerMax
from secretballot.costs._law import Law, Step
from secretballot.costs._noise import draw_skellam
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._fields import MAX_BALLOTS, by_group, check_choice

#: Values that the aggregator may reveal.
Opened = Literal["winner", "counts"]

#: Limit of the variance: tables of more noise would be too long.
_MAX_VARIANCE = 1e9


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
        make together. Up to 1e9.
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
