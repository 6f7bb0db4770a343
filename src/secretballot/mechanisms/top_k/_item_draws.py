"""Largest counts of rows, and items drawn by the exponential mechanism without replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._noise import draw_gumbel
from secretballot.costs._orders import Floats
from secretballot.costs._selection import charged_draws, draw_noise_factor

#: Rows are sorted completely if they are shorter, or if a larger part of them is needed.
_SHORT_ROW, _LARGE_PART = 512, 0.25


@dataclass(frozen=True)
class Draws:
    """Draws of a few items in each row; fewer draws have less noise: see `FewDraws`."""

    unit: float  # scale of the noise of a draw that had the whole width to itself
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
    """Sort the positions of the `n` largest counts of a row, without sorting the others."""
    last = np.partition(row, -n)[-n]
    above, equal = np.flatnonzero(row > last), np.flatnonzero(row == last)
    return np.append(above[np.argsort(-row[above], kind="stable")], equal[: n - len(above)])


def mark(n_items: int, positions: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return rows of zeros with ones at the chosen positions, without those beyond the last."""
    outcome = np.zeros((len(positions), n_items), dtype=np.int64)
    row, place = np.nonzero(chosen & (positions < n_items))
    outcome[row, positions[row, place]] = 1
    return outcome
