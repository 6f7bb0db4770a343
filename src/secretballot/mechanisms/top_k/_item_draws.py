"""Largest counts of rows, and items drawn by the exponential mechanism without replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import Floats, charged_draws, draw_gumbel, draw_noise_factor

#: Rows are sorted completely if they are shorter, or if a larger part of them is needed.
_SHORT_ROW, _LARGE_PART = 512, 0.25


@dataclass(frozen=True)
class Draws:
    """Draws of a few items in each row; fewer draws have less noise: see `FewDraws`.

    Attributes
    ----------
    unit : float
        Scale of the noise of a draw that had the whole width to itself.
    max_draws : int
        Largest number of draws of a row.
    """

    unit: float
    max_draws: int

    def scale(self, number: NDArray[Any]) -> Floats:
        """Compute the scale of the noise for a number of draws in each row."""
        factors = [
            draw_noise_factor(charged_draws(n, self.max_draws)) for n in range(self.max_draws + 1)
        ]
        return np.asarray(self.unit * np.array(factors)[number])

    def shrink(
        self, values: Floats, chosen: NDArray[np.bool_], k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Shrink larger sets to `k` items, by draws of the items that stay or of those that go.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n)
            Counts in falling order.
        chosen : ndarray of shape (n_rows, n) of bool
            The items of the set: the first ones of each row.
        k : int
        rng : Generator
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
    """Draw items of each row one after the other by the exponential mechanism.

    The largest scores with Gumbel noise are such draws (Durfee and Rogers, 2019, Lemma 4.2).

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_items)
        Minus infinity for items that can't be drawn.
    number : ndarray of shape (n_rows,)
        Number of draws.
    scale : ndarray of shape (n_rows,)
        Scale of the noise.
    rng : Generator
    floor : ndarray of shape (n_rows,), default=None
        Score that stands for all items that must not be named: its draw ends the row.

    Returns
    -------
    positions : ndarray of shape (n_rows, n)
    drawn : ndarray of shape (n_rows, n) of bool
        Mask of the positions that were drawn.
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

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_items)
    n : int
        Beyond the existing items counts are 0, and positions are beyond the last.

    Returns
    -------
    values, positions : ndarray of shape (n_rows, n)
    """
    n_items = counts.shape[1]
    size = min(n, n_items)
    if n_items <= _SHORT_ROW or size > _LARGE_PART * n_items:
        positions = np.argsort(-counts, axis=1, kind="stable")[:, :size]
    else:
        unsorted = _largest_positions(counts, size)
        order = np.argsort(-np.take_along_axis(counts, unsorted, axis=1), axis=1, kind="stable")
        positions = np.take_along_axis(unsorted, order, axis=1)
    values = np.take_along_axis(counts, positions, axis=1)
    if size < n:
        beyond = np.tile(np.arange(n_items, n_items + n - size), (len(counts), 1))
        positions = np.hstack([positions, beyond])
        values = np.hstack([values, np.zeros(beyond.shape, dtype=values.dtype)])
    return values, positions


def _largest_positions(counts: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the positions of the `n` largest counts of each row, in rising order."""
    n_items = counts.shape[1]
    last = np.partition(counts, n_items - n, axis=1)[:, n_items - n]
    row, place = np.nonzero(counts >= last[:, None])
    if len(row) > n * len(counts):
        # Of the counts equal to the last one, the first ones are taken.
        equal = counts[row, place] == last[row]
        room = n - np.bincount(row[~equal], minlength=len(counts))
        n_equal = np.cumsum(equal)
        n_before = np.concatenate([[0], n_equal])[np.searchsorted(row, np.arange(len(counts)))]
        place = place[~equal | (n_equal - n_before[row] <= room[row])]
    return place.reshape(len(counts), n)


def mark(n_items: int, positions: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return rows of zeros with ones at the chosen positions, without those beyond the last."""
    outcome = np.zeros((len(positions), n_items), dtype=np.int64)
    row, place = np.nonzero(chosen & (positions < n_items))
    outcome[row, positions[row, place]] = 1
    return outcome
