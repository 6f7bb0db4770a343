"""Events: searched on one half of the draws, measured on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Outcomes = NDArray[Any]
Statistics = Callable[[Outcomes], Any]
Bools = NDArray[np.bool_]

_MOST_CANDIDATES = 512
SEARCH, MEASURE = slice(0, None, 2), slice(1, None, 2)


class Trials(NamedTuple):
    """How often an event occurred on the data and on the neighbour, in how many draws."""

    hits: Any
    n: int
    other_hits: Any
    other_n: int


def log_odds_bound(trials: Trials, delta: float, error: float) -> NDArray[np.float64]:
    """Bound epsilon from below: log of (p - delta)/q, with Clopper-Pearson bounds on p and q.

    Each of the two bounds is wrong with probability at most `error`. At least 0.
    """
    hits, other = np.asarray(trials.hits, float), np.asarray(trials.other_hits, float)
    misses, room = trials.n - hits, trials.other_n - other
    low = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), misses + 1), 0.0)
    high = np.where(room > 0, beta.isf(error, other + 1, np.maximum(room, 1)), 1.0)
    return np.log(np.maximum((low - delta) / high, 1.0))


def telling_event(
    one: Outcomes, two: Outcomes, statistics: Statistics | None, delta: float, error: float
) -> tuple[Bools, Bools]:
    """Return an event under which `one` is likelier, as its occurrence in every draw of both.

    The event is chosen by the first half (`SEARCH`) alone; whether a draw of the other half is in
    it depends on that draw only.
    """
    if statistics is None:
        if one.dtype.kind not in "fc" or _few(one[SEARCH], two[SEARCH]):
            return _set_of_outcomes(one, two, delta, error)
        statistics = _coordinates(one[SEARCH], two[SEARCH])
    return _level_set(_values(statistics, one), _values(statistics, two), delta, error)


def _set_of_outcomes(
    one: Outcomes, two: Outcomes, delta: float, error: float
) -> tuple[Bools, Bools]:
    """The most telling outcomes first; of all events "one of the first k", the best."""
    codes, other_codes = _codes(one, two)
    n_codes = int(max(codes.max(), other_codes.max())) + 1
    hits = np.bincount(codes[SEARCH], minlength=n_codes)
    other_hits = np.bincount(other_codes[SEARCH], minlength=n_codes)
    seen = np.flatnonzero(hits + other_hits)  # the rest is in no event
    ranked = seen[np.argsort(-(hits[seen] + 0.5) / (other_hits[seen] + 0.5), kind="stable")]
    ends = _candidates(len(ranked))
    found = log_odds_bound(
        Trials(
            np.cumsum(hits[ranked])[ends],
            len(codes[SEARCH]),
            np.cumsum(other_hits[ranked])[ends],
            len(other_codes[SEARCH]),
        ),
        delta,
        error,
    )
    event = np.zeros(n_codes, dtype=bool)
    event[ranked[: ends[int(found.argmax())] + 1]] = True
    return event[codes], event[other_codes]


def _few(one: Outcomes, two: Outcomes) -> bool:
    """Whether numbers repeat so often that they can be counted one by one."""
    first, second = _codes(one, two)
    return max(int(first.max()), int(second.max())) < _MOST_CANDIDATES


def _codes(one: Outcomes, two: Outcomes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct outcomes of both samples."""
    rows = np.concatenate([one.reshape(len(one), -1), two.reshape(len(two), -1)])
    if rows.dtype.kind == "O":
        rows = rows.astype(str)  # None among them has no order
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # numbers are sorted faster than rows
        values, place = np.unique(column, return_inverse=True)
        codes = np.unique(codes * len(values) + place.ravel(), return_inverse=True)[1].ravel()
    return codes[: len(one)], codes[len(one) :]


def _level_set(
    values: NDArray[np.float64], other: NDArray[np.float64], delta: float, error: float
) -> tuple[Bools, Bools]:
    """Of all events "a statistic is at least t" and "at most t", the best."""
    best, event = -1.0, (np.zeros(len(values), bool), np.zeros(len(other), bool))
    for x, y in _signed(values, other):
        ordered, other_ordered = np.sort(x[SEARCH]), np.sort(y[SEARCH])
        pooled = np.unique(np.concatenate([ordered, other_ordered]))
        levels = pooled[_candidates(len(pooled))]
        trials = Trials(
            len(ordered) - np.searchsorted(ordered, levels),
            len(ordered),
            len(other_ordered) - np.searchsorted(other_ordered, levels),
            len(other_ordered),
        )
        found = log_odds_bound(trials, delta, error)
        if found.max() > best:
            best, level = float(found.max()), levels[int(found.argmax())]
            event = x >= level, y >= level
    return event


def _signed(values: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    for x, y in zip(values.T, other.T, strict=True):
        yield x, y
        yield -x, -y


def _candidates(n: int) -> NDArray[np.int64]:
    """Positions that are tried: all, or some if there are very many."""
    return np.unique(np.linspace(0, n - 1, min(n, _MOST_CANDIDATES)).round().astype(np.int64))


def _coordinates(one: Outcomes, two: Outcomes) -> Statistics:
    """Coordinates of numbers, and the direction in which the two means lie apart."""
    x, y = one.reshape(len(one), -1), two.reshape(len(two), -1)
    scale = np.std(np.concatenate([x, y]), axis=0)
    direction = (x.mean(axis=0) - y.mean(axis=0)) / np.where(scale > 0, scale, 1.0) ** 2

    def statistics(outcomes: Outcomes) -> Any:
        rows = outcomes.reshape(len(outcomes), -1)
        return np.column_stack([rows, rows @ direction])

    return statistics


def _values(statistics: Statistics, outcomes: Outcomes) -> NDArray[np.float64]:
    values = np.asarray(statistics(outcomes), dtype=np.float64)
    if len(values) != len(outcomes) or values.ndim > 2 or np.isnan(values).any():
        raise ValueError(
            f"events gave an array of shape {values.shape} for {len(outcomes)} outcomes; return "
            "one number, or one row of numbers, for each of them, without NaN."
        )
    return values.reshape(len(outcomes), -1)
