"""The items above a large gap: adaptive private top-k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._numbers import check_integer, check_number
from secretballot.costs._law import Law, Step
from secretballot.costs._noise import draw_gumbel, draw_laplace
from secretballot.costs._selection import (
    BoundedRange,
    FewDraws,
    NoisyGaps,
    PureRelease,
    StableTest,
    draw_noise_factor,
)
from secretballot.mechanisms._base import (
    ROUNDING,
    BallotThreshold,
    ballot_thresholds,
    check_choice,
)
from secretballot.mechanisms._counting import Counting, CountLabels
from secretballot.mechanisms._noisy_max import UNANSWERED
from secretballot.mechanisms._top_k import (
    GUMBEL_DEVIATION,
    Draws,
    TopK,
    draw_items,
    floor_height,
    largest,
    mark,
)

Selector = Literal["exponential", "gaussian"]
TestNoise = Literal["gaussian", "laplace"]
#: Regularizer per item of difference to `k`, or for each size; it is stored as a tuple then.
Regularizer = float | Sequence[float] | None


@dataclass(frozen=True)
class SizeChoice:
    """Choice of a size by its gap and a regularizer, with noise."""

    selector: Selector
    rho: float  # for ballots of weight 1; determines the noise
    unit_sensitivity: float  # of a gap to one ballot of weight 1
    gap_range: float  # of the changes of all gaps by one ballot
    min_size: int
    k: int | None  # the wanted size
    regularizer: Regularizer
    max_gap: float  # with `k`, gaps count alike from this one on

    @property
    def noise(self) -> float:
        """Scale of the Gumbel noise, or of the Gaussian noise for twice the sensitivity."""
        if self.selector == "exponential":
            return self.gap_range / math.sqrt(8 * self.rho)
        return math.sqrt(2) * self.unit_sensitivity / math.sqrt(self.rho)

    def step(self, contribution: float, n_sizes: int) -> Step:
        """Return the step of a law, for a largest contribution of a person to a count."""
        if self.selector == "exponential":
            return Step("choice", BoundedRange(width=math.sqrt(8 * self.rho) * contribution))
        shift = self.unit_sensitivity * contribution
        return Step("choice", NoisyGaps(sigma=self.noise, shift=shift, n_scores=n_sizes))

    def scores(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the scores of sizes; they are no more sensitive than their gaps."""
        clipped = gaps if self.k is None else np.minimum(gaps, self.max_gap)
        return clipped + self.preferences(gaps.shape[1])

    def preferences(self, n_sizes: int) -> NDArray[np.float64]:
        if isinstance(self.regularizer, Sequence):
            return np.asarray(self.regularizer)[:n_sizes]
        if self.k is None:
            return np.zeros(n_sizes)
        penalty = math.inf if self.regularizer is None else self.regularizer
        distance = np.abs(np.arange(self.min_size, self.min_size + n_sizes) - self.k).astype(float)
        return np.where(distance > 0, -penalty * np.maximum(distance, 1.0), 0.0)

    def draw(self, gaps: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the position of a size for each row."""
        possible = np.isfinite(self.preferences(gaps.shape[1]))
        if possible.sum() == 1:
            return np.full(len(gaps), int(possible.argmax()))
        exponential = self.selector == "exponential"
        noise = draw_gumbel(gaps.shape, rng) if exponential else rng.normal(size=gaps.shape)
        return np.asarray(np.argmax(self.scores(gaps) + self.noise * noise, axis=1))


def as_regularizer(
    regularizer: Regularizer, k: int | None, k_max: int | None, min_size: int
) -> Regularizer:
    """Convert the parameter `regularizer` as it is stored, or raise `ValueError`."""
    if regularizer is None:
        return None
    try:
        values = np.asarray(regularizer)
    except ValueError:
        values = np.empty(0, dtype=object)  # rows of different lengths
    if values.dtype.kind not in "iuf" or values.ndim > 1 or np.isnan(values).any():
        raise ValueError(
            f"regularizer={regularizer!r} must be a number, or a list of one for each size: finite "
            "numbers, or minus infinity."
        )
    if values.ndim == 0:
        if k is None:
            raise ValueError(
                f"regularizer={regularizer!r} is per item more or fewer than k; without k, give "
                "one number for each size."
            )
        if values < 0:
            raise ValueError(f"regularizer={regularizer!r} must be at least 0.")
        return float(values)
    if k_max is None or len(values) != k_max + 1 - min_size:
        raise ValueError(
            f"regularizer has {len(values)} numbers; give k_max={k_max!r}, and one for each size "
            f"from {min_size} to k_max."
        )
    if not np.isfinite(values).any() or (values == np.inf).any():
        raise ValueError(
            f"regularizer={regularizer!r} leaves no size: give finite numbers, or minus infinity."
        )
    return tuple(values.astype(np.float64).tolist())


def describe_regularizer(regularizer: Regularizer) -> float | str | list[float | str] | None:
    """Return a regularizer for a ledger, with infinite numbers as text."""
    if isinstance(regularizer, Sequence):
        return [value if math.isfinite(value) else str(value) for value in regularizer]
    return str(regularizer) if regularizer == math.inf else regularizer


@dataclass(frozen=True)
class GapTest:
    """Propose-test-release: a gap's excess over the sensitivity, with noise, is above `height`."""

    noise: TestNoise
    unit_sensitivity: float  # of a gap to one ballot of weight 1
    rho: float  # for ballots of weight 1; determines the noise
    delta: float  # probability that a gap without any excess passes

    @property
    def scale(self) -> float:
        """Standard deviation of the Gaussian noise, or scale of the Laplace noise."""
        return self.unit_sensitivity / math.sqrt(2 * self.rho)

    @property
    def height(self) -> float:
        """Height that noise alone exceeds with probability `delta`."""
        if self.noise == "gaussian":
            return -self.scale * float(ndtri(self.delta))
        return -self.scale * math.log(2 * self.delta)

    def step(self, contribution: float) -> Step:
        shift = self.unit_sensitivity * contribution
        if self.noise == "gaussian":
            return Step("test", StableTest(scale=self.scale, shift=shift), delta=self.delta)
        return Step("test", PureRelease(epsilon=shift / self.scale), delta=self.delta)

    def passes(self, excess: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
        gaussian, shape = self.noise == "gaussian", excess.shape
        noise = rng.normal(size=shape) if gaussian else draw_laplace(shape, rng)
        return np.asarray(np.maximum(excess, 0.0) + self.scale * noise > self.height)

    def probabilities(self, excess: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the probabilities that gaps pass and fail."""
        distance = (np.maximum(excess, 0.0) - self.height) / self.scale
        if self.noise == "gaussian":
            return ndtr(distance), ndtr(-distance)
        tail = np.exp(-np.abs(distance)) / 2
        return np.where(distance > 0, 1 - tail, tail), np.where(distance > 0, tail, 1 - tail)


#: Share of rho for draws where only sets of `k` items are considered: they rarely have the gap that
#: the test asks for, and then a large one (`benchmarks/topk`).
_FIXED_SIZE_DRAW_SHARE = 0.85

#: With `k` gaps count alike from this many standard deviations on, above the gap that passes the
#: test with probability one half.
_MAX_GAP_DEVIATIONS = 2.0

#: Default limit of the sizes that are considered.
_DEFAULT_MAX_SIZE = 1_000


class RhoParts(NamedTuple):
    """Parts of rho for the choice of the size, the test and the draws."""

    choice: float
    test: float
    draws: float


@dataclass(frozen=True, kw_only=True)
class StableTopK(TopK):
    """The items above the largest gap, if that gap is large: the data determine their number.

    The size is chosen privately, by the gap between the k-th count and the next. If the gap, with
    noise, is more than one person can close, then all neighbours have the same set above it, which
    is released as it is, at a cost that does not depend on its size; otherwise nothing is.

    Parameters
    ----------
    delta_t : float
        Probability that a set is released that one person changes: a part of delta for each row.
    rho : float, default=None
        zCDP of a row, for ballots of weight 1, which determines the noise. The charge is exact, and
        less. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of the choice if it has half: rho is a quarter of its square.
    k : int, default=None
        Number of items. A stable set of another size is filled up or shrunk by draws with Gumbel
        noise; without a stable set all items are drawn. None: the items above the chosen gap, or
        nothing.
    k_max : int, default=None
        The largest set that is considered, a public number. None: all items but one (all with
        `n_votes`), and no more than 1,000 (or, where that is less, ten times `k`).
    regularizer : float or sequence of float, default=None
        Votes that are added to gaps, for each size from the least to `k_max`: minus infinity
        excludes a size. With `k`, a number of votes that is subtracted for each item of difference
        to `k` (and gaps count no more than the test asks for). None: 0; with `k`, infinity, so that
        only sets of `k` items are considered.
    selector : {"exponential", "gaussian"}, default="exponential"
        Noise on the gaps for the choice: Gumbel, or Gaussian, which costs more.
    test : {"gaussian", "laplace"}, default="gaussian"
        Noise on the gap that is tested. Laplace noise of the same `rho` needs wider gaps.
    choice_share : float, default=0.35
        Part of `rho` for the choice of the size. The rest, for the test, determines the gaps that
        pass.
    draw_share : float, default=None
        Part of `rho` for draws, with `k` only; the rest is divided as above. None: 0.85 where only
        sets of `k` items are considered, else 0.5.
    n_votes : float, default=None
        Number of people, a public number: then the empty set is considered too, with `n_votes` as
        the count above its gap. With ``relation="replace"`` only.
    relation, weight, ballots, max_items
        As for `TopK`. A `max_items` of 1 allows a little less noise.
    unknown_domain : bool, default=False
        True if the items themselves come from the data. Then draws are among the `k_max` largest
        and end at a floor, as in `LimitedDomainTopK`, and k times `delta_t` is charged for it.
    ballot_threshold
        As for `BinaryVoting`.

    See Also
    --------
    ExponentialTopK : A fixed number of items, whatever the gaps.

    Notes
    -----
    Counts have shape (n_rows, n_items), and so do outcomes: 1 for items of the set, 0 for others,
    -1 throughout a row without a release. The test is propose-test-release, charged as a noisy bit
    that moves by the sensitivity of its gap. The choice is charged by the range of a person's
    changes of all gaps: see :doc:`/theory/divergences`.

    References
    ----------
    Zhu and Wang, "Adaptive Private-K-Selection with Adaptive K and Application to Multi-label PATE"
    (AISTATS 2022), Algorithms 1 to 3 and Theorem 11. The charges here are those of the
    outcomes: of the noisy bit, and the exact one of the choice.

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
    regularizer: Regularizer = field(default=None)
    selector: Selector = field(default="exponential")
    test: TestNoise = field(default="gaussian")
    choice_share: float = field(default=0.35)
    draw_share: float | None = field(default=None)
    n_votes: float | None = field(default=None)
    ballot_threshold: BallotThreshold = field(default=None)

    _hides_rare_items: ClassVar[bool] = True
    _chooses_k: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rho(0.25)  # which checks that one of both is given
        if self.k_max is not None:
            check_integer("k_max", self.k_max, least=self.k or 1)
        check_number("choice_share", self.choice_share, above=0, below=1)
        if self.draw_share is not None:
            check_number("draw_share", self.draw_share, above=0, below=1)
        check_choice("selector", self.selector, get_args(Selector))
        check_choice("test", self.test, get_args(TestNoise))
        if self.n_votes is not None:
            if self.relation != "replace":
                raise ValueError(
                    f"n_votes={self.n_votes!r} with relation={self.relation!r}: the number of "
                    "people is private then; leave it out."
                )
            if self.k is not None:
                raise ValueError(f"n_votes={self.n_votes!r} is of no use with k={self.k}.")
            check_number("n_votes", self.n_votes, least=max(self._contributions.values()))
        regularizer = as_regularizer(self.regularizer, self.k, self.k_max, self._min_size)
        object.__setattr__(self, "regularizer", regularizer)

    @property
    def _min_size(self) -> int:
        """Smallest set that is considered; the empty set needs a public number of votes."""
        return 1 if self.n_votes is None else 0

    @property
    def hidden_count(self) -> float:
        """Count that noise hides: a stable set needs such a gap, and draws have such noise."""
        if self.k is None:
            return self._sensitivity + self._gap_test.height
        scale = self._draws.unit * draw_noise_factor(self.k)
        if self.unknown_domain:
            k_max = self._max_size(None)
            return float(floor_height(self, 0.0, scale, k_max, self.delta_t))
        return GUMBEL_DEVIATION * scale

    @property
    def _has_one_size(self) -> bool:
        if isinstance(self.regularizer, Sequence):
            return int(np.isfinite(self.regularizer).sum()) == 1
        if self.k is not None and self.regularizer in (None, math.inf):
            return True
        return self.k_max == 1 and self._min_size == 1

    @property
    def _rho_parts(self) -> RhoParts:
        rho, fixed = self._rho(0.25), self._has_one_size
        share = self.draw_share or (_FIXED_SIZE_DRAW_SHARE if fixed else 0.5)
        draws = 0.0 if self.k is None else share * rho
        choice = 0.0 if fixed else self.choice_share * (rho - draws)
        return RhoParts(choice, rho - draws - choice, draws)

    @property
    def _gap_range(self) -> float:
        """Range of the changes of all gaps by one ballot of weight 1."""
        if self.relation == "add_remove":
            return 2.0
        return 3.0 if self.max_items == 1 else 4.0

    @property
    def _gap_test(self) -> GapTest:
        return GapTest(self.test, self._unit_sensitivity, self._rho_parts.test, self.delta_t)

    @property
    def _size_choice(self) -> SizeChoice:
        test = self._gap_test
        return SizeChoice(
            selector=self.selector,
            rho=self._rho_parts.choice,
            unit_sensitivity=self._unit_sensitivity,
            gap_range=self._gap_range,
            min_size=self._min_size,
            k=self.k,
            regularizer=self.regularizer,
            max_gap=self._sensitivity + test.height + _MAX_GAP_DEVIATIONS * test.scale,
        )

    @property
    def _draws(self) -> Draws:
        unit = self._unit_sensitivity / math.sqrt(8 * self._rho_parts.draws)
        return Draws(unit, self._set_size)

    def _draw_step(self, contribution: float) -> Step:
        k = self._set_size
        width = math.sqrt(8 * self._rho_parts.draws) * contribution
        delta = self.delta_t if self.unknown_domain else 0.0
        sizes = self.regularizer
        excluded = isinstance(sizes, Sequence) and math.isinf(sizes[k - 1])
        if self._has_one_size and not excluded:
            # The only size is k: none are drawn, or all are.
            draw = BoundedRange(width=width / draw_noise_factor(k))
            return Step("draws", draw, times=k, delta=delta)
        return Step("draws", FewDraws(width=width, most=k), delta=k * delta)

    def _max_size(self, n_columns: int | None) -> int:
        """Return the largest set that is considered: it does not depend on private items."""
        default = _DEFAULT_MAX_SIZE if self.k is None else min(_DEFAULT_MAX_SIZE, 10 * self.k)
        limit = default if self.k_max is None else self.k_max
        if n_columns is None or self.unknown_domain:
            return limit
        # The set of all items is no answer, unless the empty one is.
        if self.k is None and self.k_max is None and self.n_votes is None:
            n_columns -= 1
        return max(min(limit, n_columns), 1)

    def _n_sizes(self, n_columns: int | None) -> int:
        return self._max_size(n_columns) + 1 - self._min_size

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        law: Law = (self._gap_test.step(contribution),)
        if not self._has_one_size:
            law = (self._size_choice.step(contribution, self._n_sizes(n_columns)), *law)
        if self.k is not None:
            law = (*law, self._draw_step(contribution))
        return law

    def counting(self, n_columns: int) -> Counting:
        return CountLabels(ballot_thresholds(self.ballot_threshold, n_columns))

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        votes = super().check_counts(counts)
        if self.n_votes is not None and (votes > self.n_votes * (1 + ROUNDING)).any():
            raise ValueError(
                f"counts has {votes.max():.6g} for an item, and n_votes={self.n_votes!r}; pass the "
                "number of all people (the sum of weights, if there are any). "
                f"{NOT_FOR_PUBLICATION}"
            )
        preferences = self._size_choice.preferences(self._n_sizes(votes.shape[1]))
        if not np.isfinite(preferences).any():
            raise ValueError(
                f"regularizer={self.regularizer!r} leaves no size for counts of {votes.shape[1]} "
                "items."
            )
        return votes

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items); -1 in rows without a release."""
        votes = np.asarray(counts, dtype=np.float64)
        n_rows, n_items = votes.shape
        max_size = self._max_size(n_items)
        values, positions = largest(votes, max_size + 1)
        above = values
        if self.n_votes is not None:
            above = np.hstack([np.full((n_rows, 1), self.n_votes), values])
        gaps = -np.diff(above, axis=1)  # below sets of the smallest size and more
        place = self._size_choice.draw(gaps, rng)
        gap = np.take_along_axis(gaps, place[:, None], axis=1)[:, 0]
        passed = self._gap_test.passes(gap - self._sensitivity, rng)
        size = np.where(passed, place + self._min_size, 0)
        chosen = np.arange(max_size + 1) < size[:, None]
        if self.k is None:
            outcome = mark(n_items, positions, chosen)
            outcome[~passed] = UNANSWERED
            return outcome
        outcome = mark(n_items, positions, self._draws.shrink(values, chosen, self.k, rng))
        rows = np.flatnonzero(outcome.sum(axis=1) < self.k)
        if rows.size:
            top = values[rows], positions[rows], chosen[rows]
            outcome[rows] |= self._draw_missing(outcome[rows], votes[rows], *top, rng)
        return outcome

    def _draw_missing(
        self,
        outcome: NDArray[np.int64],
        votes: NDArray[np.float64],
        values: NDArray[np.float64],
        positions: NDArray[np.intp],
        chosen: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Draw the items that sets lack, given the largest counts with their positions."""
        n_items, max_size = votes.shape[1], values.shape[1] - 1
        number = self._set_size - outcome.sum(axis=1)
        scale = self._draws.scale(number)
        if not self.unknown_domain:
            scores = np.where(outcome == 1, -np.inf, votes)
            return mark(n_items, *draw_items(scores, number, scale, rng))
        floor = floor_height(self, values[:, -1], scale, max_size, self.delta_t)
        available = (positions < n_items) & ~chosen
        scores = np.where(available, values, -np.inf)[:, :max_size]
        places, drawn = draw_items(scores, number, scale, rng, floor)
        return mark(n_items, np.take_along_axis(positions, places, axis=1), drawn)

    def describe(self) -> dict[str, Any]:
        """Return the public parameters; infinite numbers as text, for the ledger."""
        return {**super().describe(), "regularizer": describe_regularizer(self.regularizer)}
