"""Events that separate two data sets: searched on one half of the draws, measured on the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

Outcomes: TypeAlias = NDArray[Any]
Statistics: TypeAlias = Callable[[Outcomes], ArrayLike]
Bools: TypeAlias = NDArray[np.bool_]

_MOST_CANDIDATES = 512
SEARCH, MEASURE = slice(0, None, 2), slice(1, None, 2)


class Trials(NamedTuple):
    """Numbers of draws, and of those in an event, on the data and on the neighbour."""

    hits: ArrayLike
    n: int
    other_hits: ArrayLike
    other_n: int


def log_odds_bound(trials: Trials, delta: float, error: float) -> NDArray[np.float64]:
    """Bound epsilon from below: log of (p - delta)/q, with Clopper-Pearson bounds on p and q.

    Each of the two bounds is wrong with probability at most `error`. At least 0.
    """
    hits, other = np.asarray(trials.hits, float), np.asarray(trials.other_hits, float)
    misses, other_misses = trials.n - hits, trials.other_n - other
    low = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), misses + 1), 0.0)
    high = beta.isf(error, other + 1, np.maximum(other_misses, 1))
    high = np.where(other_misses > 0, high, 1.0)
    return np.log(np.maximum((low - delta) / high, 1.0))


def find_event(
    first: Outcomes, second: Outcomes, statistics: Statistics | None, delta: float, error: float
) -> tuple[Bools, Bools]:
    """Find an event that is likelier in `first`, as its occurrence in every draw of both.

    The event is chosen by the first half (`SEARCH`) alone; the occurrence in a draw of the other
    half depends on that draw only.
    """
    if statistics is None:
        codes, other_codes = _number_outcomes(first, second)
        searched = np.concatenate([codes[SEARCH], other_codes[SEARCH]])
        if first.dtype.kind not in "fc" or len(np.unique(searched)) <= _MOST_CANDIDATES:
            return _best_outcomes(codes, other_codes, delta, error)
        statistics = _coordinates(first[SEARCH], second[SEARCH])
    values, other = _evaluate(statistics, first), _evaluate(statistics, second)
    return _best_level_set(values, other, delta, error)


def _best_outcomes(
    codes: NDArray[np.int64], other_codes: NDArray[np.int64], delta: float, error: float
) -> tuple[Bools, Bools]:
    """Find the best event "one of the first k outcomes", ranked by likelihood ratio."""
    n_codes = int(max(codes.max(), other_codes.max())) + 1
    hits = np.bincount(codes[SEARCH], minlength=n_codes)
    other_hits = np.bincount(other_codes[SEARCH], minlength=n_codes)
    seen = np.flatnonzero(hits + other_hits)  # the others are in no event
    ranked = seen[np.argsort(-(hits[seen] + 0.5) / (other_hits[seen] + 0.5), kind="stable")]
    ends = _candidates(len(ranked))
    totals, other_totals = np.cumsum(hits[ranked])[ends], np.cumsum(other_hits[ranked])[ends]
    trials = Trials(totals, len(codes[SEARCH]), other_totals, len(other_codes[SEARCH]))
    best = int(log_odds_bound(trials, delta, error).argmax())
    event = np.zeros(n_codes, dtype=bool)
    event[ranked[: ends[best] + 1]] = True
    return event[codes], event[other_codes]


def _number_outcomes(
    first: Outcomes, second: Outcomes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct outcomes of both samples."""
    rows = np.concatenate([first.reshape(len(first), -1), second.reshape(len(second), -1)])
    if rows.dtype.kind == "O":
        rows = rows.astype(str)  # None among them has no order
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # numbers are sorted faster than rows
        values, place = np.unique(column, return_inverse=True)
        codes = np.unique(codes * len(values) + place.ravel(), return_inverse=True)[1].ravel()
    return codes[: len(first)], codes[len(first) :]


def _best_level_set(
    values: NDArray[np.float64], other: NDArray[np.float64], delta: float, error: float
) -> tuple[Bools, Bools]:
    """Find the best event "a statistic is at least t" or "at most t"."""
    best, event = -1.0, (np.zeros(len(values), bool), np.zeros(len(other), bool))
    for column, other_column in zip(values.T, other.T, strict=True):
        for x, y in ((column, other_column), (-column, -other_column)):
            ordered, other_ordered = np.sort(x[SEARCH]), np.sort(y[SEARCH])
            pooled = np.unique(np.concatenate([ordered, other_ordered]))
            levels = pooled[_candidates(len(pooled))]
            trials = Trials(
                len(ordered) - np.searchsorted(ordered, levels),
                len(ordered),
                len(other_ordered) - np.searchsorted(other_ordered, levels),
                len(other_ordered),
            )
            bounds = log_odds_bound(trials, delta, error)
            if bounds.max() > best:
                best, level = float(bounds.max()), levels[int(bounds.argmax())]
                event = x >= level, y >= level
    return event


def _candidates(n: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(n, _MOST_CANDIDATES)).round().astype(np.int64))


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
    values = np.asarray(statistics(outcomes), dtype=np.float64)
    if len(values) != len(outcomes) or values.ndim > 2 or np.isnan(values).any():
        raise ValueError(
            f"events gave an array of shape {values.shape} for {len(outcomes)} outcomes; return "
            "one number, or one row of numbers, for each of them, without NaN."
        )
    return values.reshape(len(outcomes), -1)
