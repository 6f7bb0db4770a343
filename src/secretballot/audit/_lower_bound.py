"""A lower bound on epsilon from outcomes on two neighbouring data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta


def epsilon_lower_bound(
    outcomes: ArrayLike, neighbour_outcomes: ArrayLike, delta: float, *, confidence: float = 0.999
) -> float:
    """Smallest epsilon that outcomes on two neighbouring data sets leave possible.

    An event is searched on one half of the draws and measured on the other, in both directions.
    A claim below the bound is refuted; a bound far below the claim proves nothing.

    Parameters
    ----------
    outcomes, neighbour_outcomes : array-like of shape (n_draws, ...)
        Independent draws of discrete outcomes on the data and on a neighbour.
    delta : float
        The delta of the claim.
    confidence : float, default=0.999
        Probability with which the bound is not above the true epsilon.

    Returns
    -------
    float
        The lower bound, at least 0.

    Raises
    ------
    ValueError
        If `delta` or `confidence` is not a probability, or there are fewer than 4 draws.

    Notes
    -----
    (epsilon, delta)-DP means P(E) <= e^epsilon Q(E) + delta for every event E. With Clopper-Pearson
    bounds p and q on the two probabilities, epsilon is at least log((p - delta)/q).

    Examples
    --------
    >>> from secretballot.audit import epsilon_lower_bound
    >>> always, never = [1] * 4000, [0] * 4000
    >>> epsilon_lower_bound(always, never, delta=1e-5) > 5
    True
    >>> epsilon_lower_bound(always, always, delta=1e-5)
    0.0
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r} must be at least 0 and below 1.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    one, two = _codes(np.asarray(outcomes), np.asarray(neighbour_outcomes))
    if min(len(one), len(two)) < 4:
        raise ValueError(
            f"outcomes has {len(one)} draws and neighbour_outcomes {len(two)}; pass at least 4."
        )
    error = (1 - confidence) / 4  # two directions, two probabilities each
    return max(_one_way(one, two, delta, error), _one_way(two, one, delta, error), 0.0)


def _codes(one: NDArray[np.generic], two: NDArray[np.generic]) -> tuple[NDArray[np.int64], ...]:
    """Number the distinct outcomes of both samples."""
    rows = np.concatenate([one.reshape(len(one), -1), two.reshape(len(two), -1)])
    codes = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return codes[: len(one)], codes[len(one) :]


def _one_way(one: NDArray[np.int64], two: NDArray[np.int64], delta: float, error: float) -> float:
    n_codes = int(max(one.max(), two.max())) + 1
    search, measure = slice(None, None, 2), slice(1, None, 2)
    seen = np.bincount(one[search], minlength=n_codes) + 0.5
    other = np.bincount(two[search], minlength=n_codes) + 0.5
    ranked = np.argsort(-seen / other, kind="stable")
    # The most telling outcomes first; of all events "one of the first k", the best in this half.
    p, q = np.cumsum(seen[ranked]) / seen.sum(), np.cumsum(other[ranked]) / other.sum()
    gain = np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -np.inf)
    event = np.isin(np.arange(n_codes), ranked[: int(gain.argmax()) + 1])
    hits, false_hits = int(event[one[measure]].sum()), int(event[two[measure]].sum())
    n, m = len(one[measure]), len(two[measure])
    low = beta.ppf(error, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(1 - error, false_hits + 1, m - false_hits) if false_hits < m else 1.0
    return float(np.log((low - delta) / high)) if low > delta else 0.0
