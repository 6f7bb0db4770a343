"""Sets of the items with the largest counts: their base class, and draws with Gumbel noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_integer
from secretballot.costs._law import Law, Step
from secretballot.costs._noise import draw_gumbel
from secretballot.costs._orders import Floats
from secretballot.costs._selection import BoundedRange, charged_draws, draw_noise_factor
from secretballot.mechanisms._base import Mechanism, Relation, difference_sensitivity, pair_by_group
from secretballot.mechanisms._counting import Counting, CountLabels


@dataclass(frozen=True, kw_only=True)
class TopK(Mechanism):
    """Base class: counts of items, shape (n_rows, n_items), become sets of items.

    Outcomes have the same shape: 1 for items of the set, 0 for the others, -1 throughout a row
    without a release. Sets are not ordered. Ties are broken by column.

    Parameters
    ----------
    k : int, default=None
        Number of items of a set.
    relation : {"replace", "add_remove"}, default="replace"
        Neighbouring data sets: one person is replaced by another, or added or removed.
    weight : float or dict of str to float, default=1.0
        Largest contribution of one person to an item's count; per privacy level where it differs.
    ballots : int or dict of str to int, default=1
        Number of such contributions of one person: the number of teachers trained on its data.
    max_items : int, default=None
        Largest number of items that a person contributes to. None: any number.
    unknown_domain : bool, default=False
        True if the items themselves come from the data. An item of a single person must not be
        named then.
    """

    k: int | None = field(default=None)
    relation: Relation = field(default="replace")
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    max_items: int | None = field(default=None)
    unknown_domain: bool = field(default=False)

    _hides_rare_items: ClassVar[bool] = False  # items may come from the data
    _chooses_k: ClassVar[bool] = False
    multilabel: ClassVar[bool] = True
    scalable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.unknown_domain, bool):
            raise ValueError(f"unknown_domain={self.unknown_domain!r} must be True or False.")
        if self.unknown_domain and not self._hides_rare_items:
            raise ValueError(
                "unknown_domain=True: noise on all counts names items that one person brought; use "
                "StableTopK or LimitedDomainTopK."
            )
        if self.k is None and not self._chooses_k:
            raise ValueError("k=None: give the number of items; StableTopK can choose it.")

    @property
    def _set_size(self) -> int:
        assert self.k is not None
        return self.k

    def _rho(self, rho_per_epsilon: float) -> float:
        """Compute rho from the field `rho` or `epsilon`: it grows with the square of epsilon."""
        rho, epsilon = getattr(self, "rho", None), getattr(self, "epsilon", None)
        if rho is not None and epsilon is None:
            return float(rho)
        if epsilon is not None and rho is None:
            return rho_per_epsilon * float(epsilon) ** 2
        raise ValueError(
            f"rho={rho!r} and epsilon={epsilon!r}: give one of them, which determines the noise."
        )

    @property
    def _contributions(self) -> dict[str, float]:
        """Largest contribution of a person to an item's count, per privacy group."""
        groups = pair_by_group(self.weight, self.ballots)
        return {group: weight * ballots for group, (weight, ballots) in groups.items()}

    @property
    def contribution(self) -> float:
        """Largest contribution to an item's count that is allowed at every level."""
        return min(self._contributions.values())

    @property
    def _unit_sensitivity(self) -> float:
        """Sensitivity of the difference of two counts to one ballot of weight 1."""
        return difference_sensitivity(self.relation)

    @property
    def _sensitivity(self) -> float:
        """Sensitivity of the difference of two counts to any person."""
        return self._unit_sensitivity * max(self._contributions.values())

    @property
    @abstractmethod
    def hidden_count(self) -> float:
        """Count that noise hides: items of no more people are named by chance, or not at all."""

    @property
    def has_fixed_size(self) -> bool:
        """True if a set has `k` items whatever the counts are."""
        return self.k is not None and not self.unknown_domain

    def counting(self, n_columns: int) -> Counting:
        return CountLabels()

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        contributions = self._contributions.items()
        return {group: self._law(contribution, n_columns) for group, contribution in contributions}

    @abstractmethod
    def _law(self, contribution: float, n_columns: int | None) -> Law:
        """Return the law of a row for people of a largest contribution to a count."""

    def check_n_labels(self, n_labels: int) -> None:
        """Refuse more labels than one person may contribute to."""
        super().check_n_labels(n_labels)
        if self.max_items is not None and self.max_items < n_labels:
            raise ValueError(
                f"mechanism={self!r} counts on ballots with max_items={self.max_items} labels, and "
                f"a teacher may name all {n_labels}; give it their number."
            )

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        votes = super().check_counts(counts)
        if not self.unknown_domain and self.k is not None and self.k > votes.shape[1]:
            raise ValueError(
                f"k={self.k} items are wanted and counts has {votes.shape[1]}; ask for fewer."
            )
        return votes


#: Standard deviation of Gumbel noise of scale 1.
GUMBEL_DEVIATION = math.pi / math.sqrt(6)
#: Rows are sorted completely if they are shorter, or if a larger part of them is needed.
_SHORT_ROW, _LARGE_PART = 512, 0.25


@dataclass(frozen=True)
class Draws:
    """Draws of a few items in each row; fewer draws have less noise: see `FewDraws`."""

    unit: float  # scale of the noise of a draw that had the whole width to itself
    max_draws: int

    def scale(self, number: NDArray[Any]) -> Floats:
        factors = [
            draw_noise_factor(charged_draws(n, self.max_draws)) for n in range(self.max_draws + 1)
        ]
        return np.asarray(self.unit * np.array(factors)[number])

    def shrink(
        self, values: Floats, chosen: NDArray[np.bool_], k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Shrink larger sets to `k` items, by draws of the items that stay or of those that go.

        Counts are in falling order; those of a set are the first ones of each row.
        """
        size = chosen.sum(axis=1)
        rows = np.flatnonzero(size > k)
        if not rows.size:
            return chosen
        surplus = size[rows] - k
        draws_stay = k <= surplus
        number = np.where(draws_stay, k, surplus)
        sign = np.where(draws_stay, 1, -1)[:, None]
        scores = np.where(chosen[rows], sign * values[rows], -np.inf)
        positions, drawn = draw_items(scores, number, self.scale(number), rng)
        picked = np.zeros_like(chosen[rows])
        np.put_along_axis(picked, positions, drawn, axis=1)
        shrunk = chosen.copy()
        shrunk[rows] = np.where(draws_stay[:, None], picked, chosen[rows] & ~picked)
        return shrunk


def draw_items(
    scores: Floats,
    number: NDArray[Any],
    scale: Floats,
    rng: np.random.Generator,
    floor: Floats | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Draw a number of items of each row one after the other by the exponential mechanism.

    The largest scores with Gumbel noise are such draws (Durfee and Rogers, 2019, Lemma 4.2). A
    `floor` stands for all items that must not be named: its draw ends the row. Returns positions,
    and a mask of those that were drawn.
    """
    noisy = scores + scale[:, None] * draw_gumbel(scores.shape, rng)
    max_draws = min(int(number.max(initial=0)), scores.shape[1])
    values, positions = largest(noisy, max_draws)
    drawn = (np.arange(max_draws) < number[:, None]) & np.isfinite(values)
    if floor is not None:
        drawn &= values > (floor + scale * draw_gumbel(floor.shape, rng))[:, None]
    return positions, drawn


def largest(counts: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Sort the `n` largest counts of each row, equal ones by position, in linear time.

    Beyond the existing items counts are 0, and positions are beyond the last.
    """
    n_items = counts.shape[1]
    size = min(n, n_items)
    if n_items <= _SHORT_ROW or size > _LARGE_PART * n_items:
        positions = np.argsort(-counts, axis=1, kind="stable")[:, :size]
    else:
        positions = np.array([_largest_positions(row, size) for row in counts], dtype=np.intp)
        positions = positions.reshape(-1, size)
    values = np.take_along_axis(counts, positions, axis=1)
    if size < n:
        beyond = np.tile(np.arange(n_items, n_items + n - size), (len(counts), 1))
        positions = np.hstack([positions, beyond])
        values = np.hstack([values, np.zeros(beyond.shape, dtype=values.dtype)])
    return values, positions


def _largest_positions(row: NDArray[Any], n: int) -> NDArray[np.intp]:
    last = np.partition(row, -n)[-n]
    above, equal = np.flatnonzero(row > last), np.flatnonzero(row == last)
    return np.append(above[np.argsort(-row[above], kind="stable")], equal[: n - len(above)])


def mark(n_items: int, positions: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return rows of zeros with ones at the chosen positions, without those beyond the last."""
    outcome = np.zeros((len(positions), n_items), dtype=np.int64)
    row, place = np.nonzero(chosen & (positions < n_items))
    outcome[row, positions[row, place]] = 1
    return outcome


@dataclass(frozen=True, kw_only=True)
class ExponentialTopK(TopK):
    """The k items with the largest counts after Gumbel noise: the exponential mechanism, k times.

    Parameters
    ----------
    k : int
        Number of released items.
    rho : float, default=None
        zCDP of all draws together, for ballots of weight 1, which determines the noise. The charge
        is exact, and a little less. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of each draw.
    relation, weight, ballots, max_items
        As for `TopK`. The number of items that a person has makes no difference here.

    References
    ----------
    Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
    Composition" (NeurIPS 2019), Section 4; Cesar and Rogers (ALT 2021), Lemma 17.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import ExponentialTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> accountant.release(ExponentialTopK(k=2, epsilon=1), [[3, 350, 7, 420, 1]])
    array([[0, 1, 0, 1, 0]])
    """

    rho: float | None = field(default=None)
    epsilon: float | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rho(1.0)  # which checks that one of both is given

    @property
    def _width(self) -> float:
        """Range of the log ratios of one draw, by a ballot of weight 1."""
        n = self._set_size
        return float(np.sqrt(8 * self._rho(n / 8) / n))

    @property
    def _scale(self) -> float:
        return self._unit_sensitivity / self._width

    @property
    def hidden_count(self) -> float:
        return GUMBEL_DEVIATION * self._scale

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        draw = BoundedRange(width=self._width * contribution)
        return (Step("draws", draw, times=self._set_size),)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        number, scale = (np.full(len(counts), value) for value in (self._set_size, self._scale))
        positions, drawn = draw_items(np.asarray(counts, float), number, scale, rng)
        return mark(counts.shape[1], positions, drawn)


@dataclass(frozen=True, kw_only=True)
class LimitedDomainTopK(ExponentialTopK):
    """Up to k items by Gumbel noise on the largest counts, where items come from the data.

    A row ends once a floor is drawn. The floor is so far above the counts that are not among the
    `k_max` largest that items which one person moves among these are rarely named.

    Parameters
    ----------
    k : int
        Largest number of released items.
    k_max : int
        Number of the largest counts to which noise is added. A public number, at least `k`.
    delta_t : float
        Probability that a draw names an item that one person moved among the `k_max` largest. A row
        has a delta of k times that.
    rho : float, default=None
        zCDP of k draws, for ballots of weight 1. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of each draw.
    relation, weight, ballots, max_items
        As for `TopK`.
    unknown_domain : bool, default=True
        Items may come from the data.

    Notes
    -----
    Rows that end early pay for fewer draws: see :doc:`/theory/divergences`.

    References
    ----------
    Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
    Composition" (NeurIPS 2019), Algorithm 1. The published delta has a factor e^epsilon + 1.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import LimitedDomainTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> mechanism = LimitedDomainTopK(k=3, k_max=4, epsilon=0.5, delta_t=1e-9)
    >>> accountant.release(mechanism, [[3, 350, 7, 420, 1, 0]])
    array([[0, 1, 0, 1, 0, 0]])
    """

    k_max: int
    delta_t: float
    unknown_domain: bool = field(default=True)

    _hides_rare_items: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("k_max", self.k_max, least=self._set_size)

    @property
    def hidden_count(self) -> float:
        return float(floor_height(self, 0.0, self._scale, self.k_max, self.delta_t))

    @property
    def has_fixed_size(self) -> bool:
        return False

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        return tuple(
            replace(draws, delta=self.delta_t) for draws in super()._law(contribution, n_columns)
        )

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        n_rows, n_items = counts.shape
        values, positions = largest(np.asarray(counts, float), self.k_max + 1)
        scale = np.full(n_rows, self._scale)
        floor = floor_height(self, values[:, -1], scale, self.k_max, self.delta_t)
        scores = np.where(positions[:, :-1] < n_items, values[:, :-1], -np.inf)
        places, drawn = draw_items(scores, np.full(n_rows, self._set_size), scale, rng, floor)
        named = np.take_along_axis(positions, np.minimum(places, self.k_max), axis=1)
        return mark(n_items, named, drawn)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count the draws: rows with fewer than k items have ended by one more draw."""
        return {"draws": np.minimum(outcome.sum(axis=1) + 1, self._set_size)}


def floor_height(
    mechanism: TopK,
    below: float | NDArray[Any],
    scale: float | NDArray[Any],
    k_max: int,
    delta: float,
) -> NDArray[np.float64]:
    """Compute the floor for items that come from the data, given the largest count left out.

    Items that one person can move among the `k_max` largest weigh together less than `delta` of the
    floor: see docs/theory/divergences.md, "Items that come from the data".
    """
    n_moved = k_max
    if mechanism.max_items is not None:
        groups = pair_by_group(mechanism.weight, mechanism.ballots).values()
        n_moved = min(n_moved, max(ballots for _, ballots in groups) * mechanism.max_items)
    return np.asarray(below + mechanism._sensitivity + scale * np.log(n_moved / delta))
