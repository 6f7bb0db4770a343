"""Audit of a claimed epsilon: lower bounds from outcomes drawn on a family of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from secretballot._base._numbers import check_number
from secretballot._base._progress import ProgressTask, tracked
from secretballot._base._view import Bar, Cell, Items, Prose, Shown, Table, View
from secretballot.costs._cost import RenyiCost
from secretballot.costs._groups import EVERYONE, split_group
from secretballot.testing._outcome_laws import (
    OutcomeLaw,
    compose_rows,
    exact_divergence,
    exact_epsilon,
)
from secretballot.testing._outcome_laws import outcome_law as law_of_mechanism

if TYPE_CHECKING:
    from secretballot.mechanisms._base import Mechanism

Outcomes: TypeAlias = NDArray[Any]
Statistics: TypeAlias = Callable[[Outcomes], ArrayLike]
Bools: TypeAlias = NDArray[np.bool_]

_MOST_CANDIDATES = 512
SEARCH, MEASURE = slice(0, None, 2), slice(1, None, 2)
#: ``draw(data, n_draws, rng)``: independent outcomes on the same data, shape (n_draws, ...).
Draw: TypeAlias = Callable[[Any, int, np.random.Generator], ArrayLike]
#: ``outcome_law(data)``: the law of the rows' outcomes, None if it is unknown.
OutcomeLaws: TypeAlias = Callable[[Any], OutcomeLaw | None]

_BLOCK_ROWS = 50_000
#: Exact figures are floating-point sums.
_ROUNDING = 1 + 1e-9
_HEADINGS = ("group", "claim", "lower bound", "exact", "bound / claim", "")
_VERDICTS = {True: "the claim holds", False: "the claim is refuted"}


class Neighbours(NamedTuple):
    """Two data sets that differ in one unit.

    Attributes
    ----------
    data, neighbour : object
        As the mechanism, or the function that draws, takes them. For a mechanism: counts of shape
        (n_rows, ...); several rows are audited together, as one release.
    group : str, default="*"
        Level, or ``"level/division/part"``, to which the mechanism charges the replaced unit; by
        default everyone.
    """

    data: Any
    neighbour: Any
    group: str = EVERYONE


@dataclass(frozen=True, kw_only=True)
class PairAudit(Shown):
    """Result of an audit on one pair of neighbours.

    Attributes
    ----------
    neighbours : Neighbours
    claim, lower_bound : float
        Claimed epsilon at the audit's delta, and a lower bound of the true one.
    exact, renyi_share : float or None
        Where outcomes can be enumerated, the exact epsilon, and the largest share, over all Renyi
        orders, of the exact divergence in the claimed one.
    """

    neighbours: Neighbours
    claim: float
    lower_bound: float
    exact: float | None = None
    renyi_share: float | None = None

    @property
    def share(self) -> float:
        """The share of the claim that is proven to be spent."""
        if self.claim > 0:
            return self.lower_bound / self.claim
        return math.inf if self.lower_bound > 0 else 0.0

    @property
    def faults(self) -> list[str]:
        """Contradictions of the claim; empty if there are none."""
        faults = []  # "not below" rather than "above": NaN proves nothing
        if not self.lower_bound <= self.claim:
            faults.append(f"outcomes prove epsilon >= {self.lower_bound:.4g}")
        if self.exact is not None and not self.exact <= self.claim * _ROUNDING:
            faults.append(f"the exact epsilon is {self.exact:.4g}")
        if self.renyi_share is not None and not self.renyi_share <= _ROUNDING:
            faults.append(f"a Renyi divergence is {self.renyi_share:.4g} times what is claimed")
        return faults

    def _view(self) -> View:
        faults = [Items(tuple(self.faults))] if self.faults else []
        summary = Prose.of(f"{_VERDICTS[not self.faults]}: {self._summary()}")
        table = Table(_HEADINGS, [self._cells()], "as a table")
        return View("PairAudit", (summary, *faults, table), between="\n")

    def _summary(self) -> str:
        exact = "" if self.exact is None else f", exactly {self.exact:.4g}"
        return f"epsilon >= {self.lower_bound:.4g}{exact}, of {self.claim:.4g} claimed"

    def _cells(self) -> tuple[Cell, ...]:
        epsilons = (self.claim, self.lower_bound, self.exact)
        cells = ("-" if epsilon is None else f"{epsilon:.4g}" for epsilon in epsilons)
        return (self.neighbours.group, *cells, f"{self.share:.3f}", Bar.of(self.share))


@dataclass(frozen=True, kw_only=True)
class Audit(Shown):
    """Result of an audit on a family of neighbours.

    Attributes
    ----------
    pairs : tuple of PairAudit
        One for each pair of neighbours.
    delta, confidence : float
        The delta of claims and bounds, and the probability that no lower bound is too high.
    n_draws : int
        Draws on each data set.
    """

    pairs: tuple[PairAudit, ...]
    delta: float
    confidence: float
    n_draws: int

    @property
    def holds(self) -> bool:
        """True if nothing contradicts the claim."""
        return not any(pair.faults for pair in self.pairs)

    @property
    def tightest(self) -> PairAudit:
        """The pair whose lower bound is the largest share of its claim."""
        return max(self.pairs, key=lambda pair: pair.share)

    @property
    def share(self) -> float:
        """The largest share of a claim that is proven to be spent: 1 is a tight claim."""
        return self.tightest.share

    def check(self) -> None:
        """Raise `AssertionError`, with the contradictions, unless the claim holds."""
        for pair in self.pairs:
            if pair.faults:
                data, neighbour, group = pair.neighbours
                whose = "" if group == EVERYONE else f" for group {group!r}"
                raise AssertionError(
                    f"epsilon = {pair.claim:.4g} is claimed at delta={self.delta:g}{whose}, but "
                    f"{'; '.join(pair.faults)} (confidence {self.confidence:.10g}, "
                    f"{self.n_draws:,} draws), on the data\n{data}\nand the neighbour\n{neighbour}"
                )

    def _view(self) -> View:
        summary = (
            f"{_VERDICTS[self.holds]}: {self.tightest._summary()} at "
            f"delta={self.delta:g} ({len(self.pairs)} pairs, {self.n_draws} draws each)"
        )
        pairs = Table(_HEADINGS, [pair._cells() for pair in self.pairs], "all pairs")
        return View("Audit", (Prose.of(summary), pairs))


def audit_epsilon(
    mechanism: Mechanism | None,
    neighbours: Iterable[Neighbours | tuple[Any, Any]],
    delta: float,
    *,
    claim: float | Mapping[str, float] | None = None,
    draw: Draw | None = None,
    outcome_law: OutcomeLaws | None = None,
    n_draws: int = 100_000,
    confidence: float = 0.999,
    events: Statistics | None = None,
    random_state: int | np.random.SeedSequence | None = None,
) -> Audit:
    """Compare a claimed epsilon with outcomes drawn on neighbouring data sets.

    An event that separates two neighbours is searched on one half of their draws and measured on
    the other. Where all outcomes of a mechanism can be enumerated, its exact epsilon and its exact
    Renyi curve are compared with the claim too.

    Parameters
    ----------
    mechanism : mechanism or None
        The mechanism that claims an epsilon. None if `draw` and `claim` are given.
    neighbours : iterable of Neighbours or of pairs (data, neighbour)
        Neighbouring data sets on which the outcomes differ most. Use made-up data: an audit draws
        from the mechanism without paying, and its report would reveal private data.
    delta : float
        The delta of the claim.
    claim : float or dict of str to float, default=None
        Claimed epsilon, for all or by group. None: the most that the mechanism charges, converted
        at `delta`.
    draw : callable, default=None
        ``draw(data, n_draws, rng)`` returns independent outcomes on `data`, shape (n_draws, ...).
        None: the mechanism's own `sample`.
    outcome_law : callable, default=None
        ``outcome_law(data)`` returns the `OutcomeLaw` of the data's rows, or None. By default
        that of the mechanism, unless `draw` is given.
    n_draws : int, default=100_000
        Draws on each data set.
    confidence : float, default=0.999
        Probability with which none of the bounds is above the true epsilon.
    events : callable, default=None
        Statistics of outcomes whose level sets are the events, as in `epsilon_lower_bound`.
    random_state : int, SeedSequence or None, default=None

    Returns
    -------
    Audit
        Its `check` raises if the claim is refuted.

    Raises
    ------
    ValueError
        If there is nothing to draw from, no claim for some pair or no neighbours.

    Notes
    -----
    Each of k pairs is audited at confidence 1 - (1 - confidence)/k. An audit can refute a claim; it
    can't prove one: it knows only the neighbours and the events that it was given.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.testing import audit_epsilon
    >>> from secretballot.mechanisms import GNMax
    >>> one_ballot_moved = [
    ...     (np.array([[3.0, 7.0]]), np.array([[2.0, 8.0]])),
    ...     (np.array([[5.0, 5.0]]), np.array([[4.0, 6.0]])),
    ... ]
    >>> audit = audit_epsilon(GNMax(sigma=1.5), one_ballot_moved, delta=1e-2, random_state=0)
    >>> audit.holds, audit.share > 0.7
    (True, True)

    The same claim for a mechanism with half the noise:

    >>> def half_the_noise(data, n_draws, rng):
    ...     noise = rng.normal(scale=0.75, size=(n_draws, 2))
    ...     return (data + noise).argmax(axis=1)
    >>> audit_epsilon(
    ...     None, one_ballot_moved, delta=1e-2, claim=2.16, draw=half_the_noise, random_state=0
    ... ).holds
    False
    """
    check_probabilities(delta, confidence)
    if mechanism is not None and draw is None:
        draw = mechanism_draws(mechanism)
        outcome_law = partial(law_of_mechanism, mechanism) if outcome_law is None else outcome_law
    if draw is None or (mechanism is None and claim is None):
        raise ValueError("mechanism=None leaves nothing to audit; give draw= and claim=.")
    pairs = [as_neighbours(pair) for pair in neighbours]
    if not pairs:
        raise ValueError("neighbours is empty; give at least one pair of neighbouring data sets.")
    audits = []
    seeds = _seed_sequence(random_state).spawn(len(pairs))
    for pair, seed in tracked(zip(pairs, seeds, strict=True), "pairs of neighbours", len(pairs)):
        curve, epsilon = _claim(mechanism, pair, delta, claim)
        rngs = map(np.random.default_rng, seed.spawn(2))
        outcomes, neighbour_outcomes = (
            np.asarray(draw(data, n_draws, rng)) for data, rng in zip(pair[:2], rngs, strict=True)
        )
        bound = epsilon_lower_bound(
            outcomes,
            neighbour_outcomes,
            delta,
            confidence=1 - (1 - confidence) / len(pairs),
            events=events,
        )
        exact, share = _exact(outcome_law, pair, delta, curve)
        audits.append(
            PairAudit(
                neighbours=pair, claim=epsilon, lower_bound=bound, exact=exact, renyi_share=share
            )
        )
    return Audit(pairs=tuple(audits), delta=delta, confidence=confidence, n_draws=n_draws)


def _seed_sequence(random_state: int | np.random.SeedSequence | None) -> np.random.SeedSequence:
    """Build a seed sequence that spawns the same seeds at every call."""
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.SeedSequence(random_state.generate_state(4).tolist())
    return np.random.SeedSequence(random_state)


def _claim(
    mechanism: Mechanism | None,
    pair: Neighbours,
    delta: float,
    claim: float | Mapping[str, float] | None,
) -> tuple[RenyiCost | None, float]:
    if claim is not None:
        by_group = isinstance(claim, Mapping)
        epsilon = claim.get(pair.group) if isinstance(claim, Mapping) else claim
        check_number(f"claim[{pair.group!r}]" if by_group else "claim", epsilon, least=0)
        return None, float(epsilon)  # type: ignore[arg-type]
    assert mechanism is not None
    counts = np.asarray(pair.data)
    n_columns = counts.shape[1] if counts.ndim > 1 else None
    curve = claimed_cost(mechanism, n_rows=len(counts), n_columns=n_columns, group=pair.group)
    return curve, float(curve.epsilon(delta))


def _exact(
    outcome_law: OutcomeLaws | None, pair: Neighbours, delta: float, curve: RenyiCost | None
) -> tuple[float | None, float | None]:
    laws = [outcome_law(data) if outcome_law else None for data in pair[:2]]
    log_p, log_q = (None if law is None else compose_rows(law.log_probabilities) for law in laws)
    if log_p is None or log_q is None:
        return None, None
    share = None
    if curve is not None and not curve.delta.any():
        exact, claimed = exact_divergence(log_p, log_q).curve, curve.curve
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(exact == 0, 0.0, exact / claimed)
        share = float(shares[np.isfinite(claimed)].max(initial=0))
    return exact_epsilon(log_p, log_q, delta), share


def claimed_cost(
    mechanism: Mechanism, *, n_rows: int = 1, n_columns: int | None = None, group: str = EVERYONE
) -> RenyiCost:
    """Compute the most that a mechanism charges one group for a release fixed in advance."""
    costs = mechanism.max_cost(n_columns)
    times = 1 if mechanism.rows == "parallel" else n_rows
    participation = mechanism.participation(times)
    total = RenyiCost.zero()
    for name in groups_paid(group, costs):
        n_times = participation[name].sum() if name in participation else times
        total = total + n_times * costs[name]
    return total


def groups_paid(group: str, charged: Collection[str]) -> list[str]:
    """Select the charged groups that one group belongs to, and pays for."""
    paid = [name for name in charged if name in {EVERYONE, split_group(group)[0], group}]
    if not paid:
        raise ValueError(
            f"group={group!r} is charged nothing by the mechanism, which names "
            f"{', '.join(map(repr, charged))}; name the group of the replaced unit: "
            "Neighbours(data, neighbour, group=...)."
        )
    return paid


def as_neighbours(pair: Iterable[Any]) -> Neighbours:
    if isinstance(pair, Neighbours):
        return pair
    try:
        data, neighbour = pair
    except (TypeError, ValueError):
        raise ValueError(
            f"neighbours holds {pair!r}; give pairs (data, neighbour), or "
            "Neighbours(data, neighbour, group)."
        ) from None
    if isinstance(data, np.ndarray) and data.shape != getattr(neighbour, "shape", None):
        raise ValueError(
            f"neighbours holds a pair of shapes {data.shape} and {np.shape(neighbour)}; "
            "neighbouring data sets have the same shape."
        )
    return Neighbours(data, neighbour)


def mechanism_draws(mechanism: Mechanism) -> Draw:
    def draw(counts: ArrayLike, n_draws: int, rng: np.random.Generator) -> NDArray[Any]:
        votes = mechanism.check_counts(counts)
        return draw_in_blocks(lambda rows: mechanism.sample(rows, rng), votes, n_draws)

    return draw


def draw_in_blocks(
    sample: Callable[[NDArray[Any]], ArrayLike], rows: NDArray[Any], n_draws: int
) -> NDArray[Any]:
    """Draw the outcome of `rows` many times over, in blocks; shape (n_draws, n_rows, ...)."""
    blocks, block_size = [], max(1, _BLOCK_ROWS // len(rows))
    with ProgressTask("draws", n_draws) as task:
        for start in range(0, n_draws, block_size):
            n = min(block_size, n_draws - start)
            # An index, because concatenating rows with fields checks the type of each part.
            outcome = np.asarray(sample(rows[np.tile(np.arange(len(rows)), n)]))
            blocks.append(outcome.reshape(n, len(rows), *outcome.shape[1:]))
            task.advance(n)
    return np.concatenate(blocks)


def epsilon_lower_bound(
    outcomes: ArrayLike,
    neighbour_outcomes: ArrayLike,
    delta: float,
    *,
    confidence: float = 0.999,
    events: Statistics | None = None,
) -> float:
    """Compute the smallest epsilon that is consistent with outcomes on two neighbouring data sets.

    An event is searched on one half of the draws and measured on the other, in both directions.

    Parameters
    ----------
    outcomes, neighbour_outcomes : array-like of shape (n_draws, ...)
        Independent draws on the data and on a neighbour.
    delta : float
        The delta of the claim.
    confidence : float, default=0.999
        Probability with which the bound is not above the true epsilon.
    events : callable, default=None
        Takes outcomes and returns a statistic of each, shape (n_draws,), or several, shape
        (n_draws, n_statistics); the events are "a statistic is at least, or at most, t". None:
        sets of outcomes, by their likelihood ratio; for floating-point outcomes, the level sets of
        their coordinates and of the direction in which their means differ.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    ValueError
        If `delta` or `confidence` is not a probability, or there are fewer than 4 draws.

    See Also
    --------
    audit_epsilon : Draws for a family of neighbours, and compares with the claim.

    Notes
    -----
    (epsilon, delta)-DP means P(E) <= e^epsilon Q(E) + delta for every event E. With Clopper-Pearson
    bounds p and q on the two probabilities, epsilon is at least log((p - delta)/q).

    Examples
    --------
    >>> from secretballot.testing import epsilon_lower_bound
    >>> always, never = [1] * 4000, [0] * 4000
    >>> epsilon_lower_bound(always, never, delta=1e-5) > 5
    True
    >>> epsilon_lower_bound(always, always, delta=1e-5)
    0.0
    """
    check_probabilities(delta, confidence)
    first, second = np.asarray(outcomes), np.asarray(neighbour_outcomes)
    if min(len(first), len(second)) < 4:
        raise ValueError(
            f"outcomes has {len(first)} draws and neighbour_outcomes {len(second)}; "
            "pass at least 4."
        )
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(
            f"outcomes has shape {first.shape} and neighbour_outcomes {second.shape}; they may "
            "differ in the number of draws only."
        )
    error = (1 - confidence) / 4  # two directions, two probabilities each
    bounds = []
    for one, other in ((first, second), (second, first)):
        in_event, in_other = (
            part[MEASURE] for part in find_event(one, other, events, delta, error)
        )
        counts, n_draws = (in_event.sum(), in_other.sum()), (len(in_event), len(in_other))
        bounds.append(float(log_odds_bound(counts, n_draws, delta, error)))
    return max(bounds)


def check_probabilities(delta: float, confidence: float) -> None:
    check_number("delta", delta, least=0, below=1)
    check_number("confidence", confidence, above=0, below=1)


def log_odds_bound(
    counts: tuple[ArrayLike, ArrayLike], n_draws: tuple[int, int], delta: float, error: float
) -> NDArray[np.float64]:
    """Compute the log of (p - delta)/q, at least 0, with Clopper-Pearson bounds on p and q.

    `counts` are the draws in an event, on the data and on the neighbour. Each of the two bounds is
    wrong with probability at most `error`.
    """
    hits, other_hits = (np.asarray(count, float) for count in counts)
    misses, other_misses = n_draws[0] - hits, n_draws[1] - other_hits
    low = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), misses + 1), 0.0)
    high = beta.isf(error, other_hits + 1, np.maximum(other_misses, 1))
    high = np.where(other_misses > 0, high, 1.0)
    return np.log(np.maximum((low - delta) / high, 1.0))


def find_event(
    first: Outcomes, second: Outcomes, statistics: Statistics | None, delta: float, error: float
) -> tuple[Bools, Bools]:
    """Find an event that is likelier in `first`, as its occurrence in every draw of both.

    The event is chosen by the first half (`SEARCH`) alone; the occurrence in a draw of the other
    half depends on that draw only.
    """
    if statistics is None and not _are_mostly_distinct(first, second):
        codes, other_codes = _number_outcomes(first, second)
        searched = np.concatenate([codes[SEARCH], other_codes[SEARCH]])
        if first.dtype.kind not in "fc" or len(np.unique(searched)) <= _MOST_CANDIDATES:
            ratios = _likelihood_ratios(codes, other_codes)
            return _best_level_set([(ratios[codes], ratios[other_codes])], delta, error)
    if statistics is None:
        statistics = _coordinates(first[SEARCH], second[SEARCH])
    columns = zip(_evaluate(statistics, first), _evaluate(statistics, second), strict=True)
    both_ways = [pair for x, y in columns for pair in ((x, y), (-x, -y))]
    return _best_level_set(both_ways, delta, error)


def _likelihood_ratios(
    codes: NDArray[np.int64], other_codes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Estimate the likelihood ratio of each outcome from the first half; -1 if it is not there."""
    n_codes = int(max(codes.max(), other_codes.max())) + 1
    hits = np.bincount(codes[SEARCH], minlength=n_codes)
    other_hits = np.bincount(other_codes[SEARCH], minlength=n_codes)
    return np.where(hits + other_hits > 0, (hits + 0.5) / (other_hits + 0.5), -1.0)


def _are_mostly_distinct(first: Outcomes, second: Outcomes) -> bool:
    """Check if a coordinate of the first half is a float with more values than candidates."""
    if first.dtype.kind not in "fc":
        return False
    searched = np.concatenate([outcomes[SEARCH] for outcomes in (first, second)])
    columns = searched.reshape(len(searched), -1).T
    return any(len(np.unique(column)) > _MOST_CANDIDATES for column in columns)


def _number_values(values: Outcomes) -> tuple[NDArray[np.int64], int]:
    """Number distinct values in their order; return the numbers, and how many there are."""
    if values.dtype.kind in "iu":
        lowest, highest = int(values.min()), int(values.max())
        if highest - lowest < len(values):  # a table is faster than sorting
            places = (values - lowest).astype(np.int64)
            numbers = np.cumsum(np.bincount(places) > 0) - 1
            return numbers[places], int(numbers[-1]) + 1
    distinct, numbers = np.unique(values, return_inverse=True)
    return numbers.ravel(), len(distinct)


def _number_outcomes(
    first: Outcomes, second: Outcomes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = np.concatenate([first.reshape(len(first), -1), second.reshape(len(second), -1)])
    if rows.dtype.kind == "O":
        rows = rows.astype(str)  # None among them has no order
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # numbers are sorted faster than rows
        numbers, n_values = _number_values(column)
        codes, _ = _number_values(codes * n_values + numbers)
    return codes[: len(first)], codes[len(first) :]


def _best_level_set(
    statistics: list[tuple[NDArray[np.float64], NDArray[np.float64]]], delta: float, error: float
) -> tuple[Bools, Bools]:
    """Find the best event "a statistic is at least t", given its values on both samples."""
    best: float = -1.0
    event: tuple[Bools, Bools] | None = None
    for values, other in statistics:
        ordered, other_ordered = np.sort(values[SEARCH]), np.sort(other[SEARCH])
        pooled = np.unique(np.concatenate([ordered, other_ordered]))
        candidates = np.linspace(0, len(pooled) - 1, min(len(pooled), _MOST_CANDIDATES))
        levels = pooled[np.unique(candidates.round().astype(np.int64))]
        hits = len(ordered) - np.searchsorted(ordered, levels)
        other_hits = len(other_ordered) - np.searchsorted(other_ordered, levels)
        n_draws = len(ordered), len(other_ordered)
        bounds = log_odds_bound((hits, other_hits), n_draws, delta, error)
        if event is None or bounds.max() > best:
            best, level = float(bounds.max()), levels[int(bounds.argmax())]
            event = values >= level, other >= level
    assert event is not None, "there is at least one statistic"
    return event


def _coordinates(first: Outcomes, second: Outcomes) -> Statistics:
    x, y = first.reshape(len(first), -1), second.reshape(len(second), -1)
    scale = np.std(np.concatenate([x, y]), axis=0)
    direction = (x.mean(axis=0) - y.mean(axis=0)) / np.where(scale > 0, scale, 1.0) ** 2

    def statistics(outcomes: Outcomes) -> NDArray[Any]:
        rows = outcomes.reshape(len(outcomes), -1)
        return np.column_stack([rows, rows @ direction])

    return statistics


def _evaluate(statistics: Statistics, outcomes: Outcomes) -> NDArray[np.float64]:
    """Compute statistics of outcomes, shape (n_statistics, n_draws), or raise `ValueError`."""
    values = np.asarray(statistics(outcomes), dtype=np.float64)
    if len(values) != len(outcomes) or values.ndim > 2 or np.isnan(values).any():
        raise ValueError(
            f"events gave an array of shape {values.shape} for {len(outcomes)} outcomes; return "
            "one number, or one row of numbers, for each of them, without NaN."
        )
    return values.reshape(len(outcomes), -1).T
