"""The largest counts with a gap below them: adaptive private top-k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot._numbers import check_integer, check_number
from secretballot.divergences import (
    BoundedRange,
    FewDraws,
    Law,
    Step,
    draw_noise_factor,
)
from secretballot.mechanisms._counting import Counting, CountLabels, checked_cut, cut_of_each
from secretballot.mechanisms._noisy_max import UNANSWERED
from secretballot.mechanisms.top_k._draws import Draws, draw
from secretballot.mechanisms.top_k._gap_test import GapTest, TestNoise
from secretballot.mechanisms.top_k._largest import largest, mark
from secretballot.mechanisms.top_k._limited_domain_top_k import floor_height
from secretballot.mechanisms.top_k._size_choice import (
    Regularizer,
    Selector,
    SizeChoice,
    checked_regularizer,
    described,
)
from secretballot.mechanisms.top_k._top_k import TopK, rho_of

#: Where only sets of the wanted size are looked at, most is for draws: what tests ask for is seldom
#: there, and where it is, it is by far (`benchmarks/topk`).
_MOSTLY_DRAWS = 0.85

#: How many standard deviations above what passes the test half of the times a gap counts as enough.
_SURE = 2.0

#: Of more items no larger sets are considered unless asked for.
_MOST = 1_000


@dataclass(frozen=True, kw_only=True)
class StableTopK(TopK):
    """The items above the largest gap, if that gap is large: as many as the data suggest.

    How many is chosen privately, by the gap between the k-th count and the next. If the gap, with
    noise, is more than one person can close, then the set above it is the same whoever is missing,
    and is released as it is; otherwise nothing is. So a set costs two small releases, however large
    it is, where there is a gap.

    Parameters
    ----------
    delta_t : float
        With what probability a set is released that one person changes: each row's own part of
        delta.
    rho : float, default=None
        Zero-concentrated privacy of a row, of ballots of weight 1, which the noise is made for;
        what is charged is exact, and less. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of the choice if it has half: rho is a quarter of its square.
    k : int, default=None
        How many items are wanted. A stable set of another size is filled up or shrunk by draws with
        Gumbel noise, and where no set is stable all are drawn. None: as many as the gap says, or
        nothing.
    k_max : int, default=None
        The largest set that is considered, a public number. None: all items but one (all with
        `n_votes`), and no more than 1,000 (or, where that is less, ten times `k`).
    regularizer : float or sequence of float, default=None
        How much more a gap counts, in votes: of each size from the least to `k_max`, such as minus
        infinity for sizes that are out of the question; with `k`, a number that is taken away for
        each item more or fewer (and gaps count no more than the test asks for). None: 0; with `k`,
        infinity, so that only sets of `k` are looked at.
    selector : {"exponential", "gaussian"}, default="exponential"
        Noise on the gaps for the choice: Gumbel, or Gaussian, which costs more.
    test : {"gaussian", "laplace"}, default="gaussian"
        Noise on the gap that is tested. Laplace noise of the same `rho` needs wider gaps.
    choice_share : float, default=0.35
        Part of `rho` for the choice of the size; the rest, for the test, decides how large gaps
        have to be.
    draw_share : float, default=None
        Part of `rho` for draws, with `k` only; what is left is divided as above. None: 0.85 where
        only sets of `k` are looked at, else 0.5.
    n_votes : float, default=None
        How many people there are, a public number: then the empty set is considered too, above
        which everybody's vote would be. With `relation="replace"` only.
    relation : {"replace", "add_remove"}, default="replace"
        Whether one person is another in a neighbouring data set, who changes gaps by 2, or is not
        there, which changes them by 1.
    weight : float or dict of str to float, default=1.0
        The most that one person adds to an item's count; per privacy level where that differs.
    ballots : int or dict of str to int, default=1
        How many such contributions a person can have: in how many teachers it is.
    max_items : int, default=None
        How many items a person contributes to at most; 1 allows a little less noise.
    unknown_domain : bool, default=False
        Whether the items themselves come from the data. Then draws are among the `k_max` largest
        and end at a floor, as in `LimitedDomainTopK`, and k times `delta_t` is charged for it.
    ballot_threshold : float or sequence of float, default=None
        From which probability on a voter calls a label present, as in `BinaryVoting`.

    Raises
    ------
    ValueError
        If a parameter is out of range, or contradicts another.

    See Also
    --------
    ExponentialTopK : The same number of items whatever the gaps are.
    GaussianTopK : For people with a few items each.

    Notes
    -----
    Counts have shape (n_rows, n_items), and so do outcomes: 1 for items of the set, 0 for others,
    -1 throughout a row of which nothing is released.

    Sets that are the same for two neighbours are tested by a noisy bit that moves by what one
    person can change. Where the sets differ, no gap is larger than that, and both pass with
    probability `delta_t`, whatever else is so: then nothing but that delta is paid. The choice is
    charged by how far apart the changes of gaps can be: 2 for who joins, 4 for who is replaced, 3
    for that with one item each.

    References
    ----------
    Zhu and Wang, "Adaptive Private-K-Selection with Adaptive K and Application to Multi-label PATE"
    (AISTATS 2022), Algorithms 1 to 3 and Theorem 11. Costs here are those of the outcomes: the
    bit's own, and the exact one of the choice.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import StableTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> mechanism = StableTopK(rho=0.2, delta_t=4e-9)
    >>> accountant.release(mechanism, [[3, 350, 307, 420, 1]])
    array([[0, 1, 1, 1, 0]])
    """

    delta_t: float
    rho: float | None = field(default=None)
    epsilon: float | None = field(default=None)
    k_max: int | None = field(default=None)
    regularizer: float | Sequence[float] | None = field(default=None)
    selector: Selector = field(default="exponential")
    test: TestNoise = field(default="gaussian")
    choice_share: float = field(default=0.35)
    draw_share: float | None = field(default=None)
    n_votes: float | None = field(default=None)
    ballot_threshold: float | tuple[float, ...] | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "ballot_threshold", checked_cut(self.ballot_threshold))
        check_number("delta_t", self.delta_t, above=0, below=0.5)
        rho_of(self.rho, self.epsilon, 0.25)
        if self.k_max is not None:
            check_integer("k_max", self.k_max, least=self.k or 1)
        check_number("choice_share", self.choice_share, above=0, below=1)
        if self.draw_share is not None:
            check_number("draw_share", self.draw_share, above=0, below=1)
        if self.selector not in get_args(Selector):
            raise ValueError(
                f"selector={self.selector!r} is unknown; use 'exponential' or 'gaussian'."
            )
        if self.test not in get_args(TestNoise):
            raise ValueError(f"test={self.test!r} is unknown; use 'gaussian' or 'laplace'.")
        if self.n_votes is not None:
            if self.relation != "replace":
                raise ValueError(
                    f"n_votes={self.n_votes!r} with relation={self.relation!r}: how many people "
                    "there are is private then; leave it out."
                )
            if self.k is not None:
                raise ValueError(f"n_votes={self.n_votes!r} is of no use with k={self.k}.")
            check_number("n_votes", self.n_votes, least=max(self._units.values()))
        kept = checked_regularizer(self.regularizer, self.k, self.k_max, self._least)
        object.__setattr__(self, "regularizer", kept)

    # ----- what the noise is made for

    @property
    def _least(self) -> int:
        """The smallest set that is considered."""
        return 1 if self.n_votes is None else 0

    @property
    def _single(self) -> bool:
        """Whether there is one size only, and nothing to choose."""
        if isinstance(self.regularizer, tuple):
            return int(np.isfinite(self.regularizer).sum()) == 1
        only_k = self.k is not None and self.regularizer in (None, math.inf)
        return only_k or (self.k_max == 1 and self._least == 1)

    @property
    def _parts(self) -> tuple[float, float, float]:
        """Rho of the choice, of the test, and of draws."""
        rho = rho_of(self.rho, self.epsilon, 0.25)
        share = self.draw_share or (_MOSTLY_DRAWS if self._single else 0.5)
        draws = 0.0 if self.k is None else share * rho
        choice = 0.0 if self._single else self.choice_share * (rho - draws)
        return choice, rho - draws - choice, draws

    @property
    def _gap_range(self) -> float:
        """How far apart a ballot of weight 1 can change gaps."""
        if self.relation == "add_remove":
            return 2.0
        return 3.0 if self.max_items == 1 else 4.0

    @property
    def _gap_test(self) -> GapTest:
        return GapTest(self.test, self._moves, self._parts[1], self.delta_t)

    @property
    def _size_choice(self) -> SizeChoice:
        return SizeChoice(
            self.selector,
            self._parts[0],
            self._moves,
            self._gap_range,
            self._least,
            self.k,
            cast("Regularizer", self.regularizer),
            self._change + self._gap_test.height + _SURE * self._gap_test.scale,
        )

    def _draw_step(self, unit: float) -> Step:
        assert self.k is not None
        width = math.sqrt(8 * self._parts[2]) * unit
        delta = self.delta_t if self.unknown_domain else 0.0
        given = self.regularizer
        if self._single and not (isinstance(given, tuple) and math.isinf(given[self.k - 1])):
            # Only sets of k are looked at: none are drawn, or all are.
            each = BoundedRange(width=width / draw_noise_factor(self.k))
            return Step("draws", each, times=self.k, delta=delta)
        return Step("draws", FewDraws(width=width, most=self.k), delta=self.k * delta)

    def _largest_set(self, n_columns: int | None) -> int:
        """The largest set that is considered: never by what items there happen to be."""
        if self.k_max is not None:
            most = self.k_max
        else:
            most = _MOST if self.k is None else min(_MOST, 10 * self.k)
        if n_columns is None or self.unknown_domain:
            return most
        # Of all items nobody asks, but where none of them is an answer too.
        some = n_columns - 1 if self.k is None and self.k_max is None else n_columns
        return max(min(most, n_columns if self.n_votes is not None else some), 1)

    def _law(self, unit: float, n_columns: int | None) -> Law:
        sizes = self._largest_set(n_columns) + 1 - self._least
        law: Law = (self._gap_test.step(unit),)
        if not self._single:
            law = (self._size_choice.step(unit, sizes), *law)
        if self.k is not None:
            law = (*law, self._draw_step(unit))
        return law

    @property
    def expected_votes(self) -> float | None:
        """Number of ballots that the counts of each label are out of; None if not public."""
        return self.n_votes

    def counting(self, n_columns: int) -> Counting:
        """Return how ballots become counts: they are added up."""
        return CountLabels(cut_of_each(self.ballot_threshold, n_columns))

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the counts as floats, or raise `ValueError`."""
        votes = super().check_counts(counts)
        if self.n_votes is not None and (votes > self.n_votes * (1 + 1e-9)).any():
            raise ValueError(
                f"counts has {votes.max():.6g} for an item, and n_votes={self.n_votes!r}; pass the "
                "number of all people (the sum of weights, if there are any). "
                f"{NOT_FOR_PUBLICATION}"
            )
        n_sizes = self._largest_set(votes.shape[1]) + 1 - self._least
        if not np.isfinite(self._size_choice.preferred(n_sizes)).any():
            raise ValueError(
                f"regularizer={self.regularizer!r} leaves no size for counts of {votes.shape[1]} "
                "items."
            )
        return votes

    # ----- the draw

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items); -1 in rows of which nothing is released."""
        votes = np.asarray(counts, dtype=np.float64)
        n_rows, n_items = votes.shape
        most = self._largest_set(n_items)
        values, positions = largest(votes, most + 1)
        above = values
        if self.n_votes is not None:
            above = np.hstack([np.full((n_rows, 1), self.n_votes), values])
        gaps = -np.diff(above, axis=1)  # below sets of `_least` items and more
        place = self._size_choice.draw(gaps, rng)
        gap = np.take_along_axis(gaps, place[:, None], axis=1)[:, 0]
        passed = self._gap_test.passes(gap - self._change, rng)
        size = np.where(passed, place + self._least, 0)
        chosen = np.arange(most + 1) < size[:, None]
        if self.k is None:
            outcome = mark(n_items, positions, chosen)
            outcome[~passed] = UNANSWERED
            return outcome
        draws = Draws(self._moves / math.sqrt(8 * self._parts[2]), self.k)
        outcome = mark(n_items, positions, draws.shrink(values, chosen, self.k, rng))
        self._fill(outcome, votes, values, positions, chosen, draws, rng)
        return outcome

    def _fill(
        self,
        outcome: NDArray[np.int64],
        votes: NDArray[np.float64],
        values: NDArray[np.float64],
        positions: NDArray[np.intp],
        chosen: NDArray[np.bool_],
        draws: Draws,
        rng: np.random.Generator,
    ) -> None:
        """Draw what is missing to `k` items, in place."""
        assert self.k is not None
        number = self.k - outcome.sum(axis=1)
        rows = np.flatnonzero(number > 0)
        if not rows.size:
            return
        scale = draws.scale(number[rows])
        if not self.unknown_domain:
            pool = np.where(outcome[rows] == 1, -np.inf, votes[rows])
            found, drawn = draw(pool, number[rows], scale, rng)
        else:
            most, last = values.shape[1] - 1, values[rows, -1]
            floor = floor_height(self, last, scale, most, self.delta_t)
            there = (positions[rows] < votes.shape[1]) & ~chosen[rows]
            pool = np.where(there, values[rows], -np.inf)[:, :most]
            places, drawn = draw(pool, number[rows], scale, rng, floor)
            found = np.take_along_axis(positions[rows], places, axis=1)
        outcome[rows] |= mark(votes.shape[1], found, drawn)

    def describe(self) -> dict[str, Any]:
        """Return the public parameters; infinite numbers as text, which a ledger can hold."""
        return {
            **super().describe(),
            "regularizer": described(cast("Regularizer", self.regularizer)),
        }
