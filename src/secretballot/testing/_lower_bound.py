"""A lower bound on epsilon from outcomes on two neighbouring data sets, and the event behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from secretballot._base._numbers import check_number

Outcomes: TypeAlias = NDArray[Any]
Statistics: TypeAlias = Callable[[Outcomes], ArrayLike]
Bools: TypeAlias = NDArray[np.bool_]

_MOST_CANDIDATES = 512
SEARCH, MEASURE = slice(0, None, 2), slice(1, None, 2)


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
    directions = (first, second), (second, first)
    return max(_bound_one_way(*pair, delta, error, events) for pair in directions)


def check_probabilities(delta: float, confidence: float) -> None:
    """Refuse a delta or a confidence that is not a probability."""
    check_number("delta", delta, least=0, below=1)
    check_number("confidence", confidence, above=0, below=1)


def _bound_one_way(
    first: Outcomes, second: Outcomes, delta: float, error: float, events: Statistics | None
) -> float:
    in_event, in_other = find_event(first, second, events, delta, error)
    hits, other_hits = in_event[MEASURE], in_other[MEASURE]
    counts, n_draws = (hits.sum(), other_hits.sum()), (len(hits), len(other_hits))
    return float(log_odds_bound(counts, n_draws, delta, error))


def log_odds_bound(
    counts: tuple[ArrayLike, ArrayLike], n_draws: tuple[int, int], delta: float, error: float
) -> NDArray[np.float64]:
    """Bound epsilon from below: log of (p - delta)/q, with Clopper-Pearson bounds on p and q.

    `counts` are the draws in an event, on the data and on the neighbour. Each of the two bounds is
    wrong with probability at most `error`. At least 0.
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
    """Number the distinct outcomes of both samples."""
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
    """Build statistics of numbers: coordinates, and the direction between the two means."""
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
