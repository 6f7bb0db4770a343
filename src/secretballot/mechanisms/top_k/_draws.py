"""Draws without replacement by Gumbel noise, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import charged_draws, draw_gumbel, draw_noise_factor
from secretballot.mechanisms.top_k._largest import largest


@dataclass(frozen=True)
class Draws:
    """Draws of a few items each row, with the less noise the fewer they are: see `FewDraws`.

    Attributes
    ----------
    unit : float
        Scale of the noise for a draw that had the whole width to itself.
    most : int
        The most draws of a row.
    """

    unit: float
    most: int

    def scale(self, number: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scale of the noise for so many draws in each row."""
        noise = [draw_noise_factor(charged_draws(n, self.most)) for n in range(self.most + 1)]
        return np.asarray(self.unit * np.array(noise)[number])

    def shrink(
        self,
        values: NDArray[np.float64],
        chosen: NDArray[np.bool_],
        k: int,
        rng: np.random.Generator,
    ) -> NDArray[np.bool_]:
        """Return sets of at most `k` items: larger ones are drawn from, by what stays or goes.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n)
            Counts in falling order.
        chosen : ndarray of shape (n_rows, n) of bool
            Which of them are in the set: the first ones.
        k : int
        rng : Generator
        """
        size = chosen.sum(axis=1)
        rows = np.flatnonzero(size > k)
        if not rows.size:
            return chosen
        surplus = size[rows] - k
        keeps = k <= surplus
        number = np.where(keeps, k, surplus)
        scores = np.where(chosen[rows], np.where(keeps[:, None], 1, -1) * values[rows], -np.inf)
        positions, drawn = draw(scores, number, self.scale(number), rng)
        picked = np.zeros_like(chosen[rows])
        np.put_along_axis(picked, positions, drawn, axis=1)
        kept = chosen.copy()
        kept[rows] = np.where(keeps[:, None], picked, chosen[rows] & ~picked)
        return kept


def draw(
    scores: NDArray[np.float64],
    number: NDArray[Any],
    scale: NDArray[np.float64],
    rng: np.random.Generator,
    floor: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Draw so many items of each row, those of large scores more likely.

    To take the largest at once with Gumbel noise on all is to draw them one after the other by the
    exponential mechanism (Durfee and Rogers, 2019, Lemma 4.2).

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_items)
        Minus infinity for items that can't be drawn.
    number : ndarray of shape (n_rows,)
    scale : ndarray of shape (n_rows,)
        Of the noise.
    rng : Generator
    floor : ndarray of shape (n_rows,), default=None
        A score that stands for all items that are not to be named: once it is drawn, the row ends.

    Returns
    -------
    positions : ndarray of shape (n_rows, n)
    drawn : ndarray of shape (n_rows, n) of bool
        Which of them were drawn.
    """
    noisy = scores + scale[:, None] * draw_gumbel(scores.shape, rng)
    most = min(int(number.max(initial=0)), scores.shape[1])
    values, positions = largest(noisy, most)
    drawn = (np.arange(most) < number[:, None]) & np.isfinite(values)
    if floor is not None:
        drawn &= values > (floor + scale * draw_gumbel(floor.shape, rng))[:, None]
    return positions, drawn
