"""How much one ballot can change the total cost of votes on two classes, now and further away.

With a public number of votes on a row its cost is a function of one number, how many ballots the
first class has. One ballot moves that by one place at most, t ballots by t places: what the cost
can change by within distance t is a maximum over an interval.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import maximum_filter1d

from secretballot.divergences import ConfidentMax, Floats, NoisyMax, order_index

_WHOLE = 1e-6  # by how much a number of ballots may miss a whole number


def line_sensitivities(costs: ArrayLike, places: ArrayLike, reach: int = 1) -> Floats:
    """Bound how much a sum of costs changes by one ballot, within each distance.

    Parameters
    ----------
    costs : array-like of shape (n_places,)
        Cost of a row at each place that it can be at.
    places : array-like of shape (n_rows,) of int
        Where the rows are.
    reach : int, default=1
        How many places one replaced ballot moves a row at most.

    Returns
    -------
    ndarray of shape (n_distances,)
        A_t at t = 0, 1, ... replaced ballots: the sum over rows of the largest rise of the cost
        from any place within t times `reach`, or of the largest fall if that is more. The last
        value holds at all larger distances.

    Notes
    -----
    A ballot may move every row its own way, but the total either rises or falls. What a data set
    reaches within t ballots its neighbours reach within t + 1: so A_t is at most their A_{t+1}.
    """
    table = np.asarray(costs, dtype=np.float64)
    rows = np.bincount(np.asarray(places, dtype=np.intp), minlength=len(table)).astype(np.float64)
    if len(rows) > len(table):
        raise ValueError(f"places reach {len(rows) - 1}; costs has {len(table)} places only.")
    changes = np.stack([_highest(table, reach) - table, table + _highest(-table, reach)])
    n_distances = 1 + -(-(len(table) - 1) // reach)
    out = np.empty(n_distances)
    for distance in range(n_distances):
        out[distance] = (changes @ rows).max()
        changes = _highest(changes, reach)
    return out


def two_class_costs(move: NoisyMax | ConfidentMax, n_ballots: int, order: float) -> Floats:
    """Return the exact cost where the first class has 0, 1, ... `n_ballots` ballots, at an order.

    Ballots all weigh `move.weight`.
    """
    first = np.arange(n_ballots + 1.0)
    counts = move.weight * np.stack([first, first[::-1]], axis=1)
    return np.asarray(move.exact(counts)[:, order_index(order)])


def two_class_sensitivities(
    move: NoisyMax | ConfidentMax, counts: ArrayLike, order: float
) -> Floats:
    """Bound how much the total exact cost of votes on two classes changes by one ballot.

    Parameters
    ----------
    move : NoisyMax or ConfidentMax
        A neighbour replaces one teacher, who casts `move.ballots` ballots of `move.weight`.
    counts : array-like of shape (n_rows, 2)
        Votes. How many there are on a row is public.
    order : float

    Returns
    -------
    ndarray of shape (n_distances,)
        A_t within t = 0, 1, ... replaced teachers; see `line_sensitivities`.

    Raises
    ------
    ValueError
        If there are not two classes, a count is no whole number of ballots, or rows don't have
        the number of votes that `move` knows of.
    """
    votes = np.asarray(counts, dtype=np.float64)
    if votes.ndim != 2 or votes.shape[1] != 2:
        raise ValueError(f"counts has shape {votes.shape}; it must have two columns, a class each.")
    if isinstance(move, NoisyMax) and move.n_classes not in (None, 2):
        raise ValueError(f"move has {move.n_classes} classes; a gap tells all of two only.")
    places = _whole(votes / move.weight, move.weight)
    totals = places.sum(axis=1)
    if isinstance(move, ConfidentMax) and not np.allclose(totals * move.weight, move.n_votes):
        raise ValueError(f"counts must sum to move.n_votes={move.n_votes:g} on every row.")
    out = np.zeros(1 + int(totals.max(initial=0)))
    for n_ballots in np.unique(totals):
        costs = two_class_costs(move, int(n_ballots), order)
        alike = line_sensitivities(costs, places[totals == n_ballots, 0], move.ballots)
        out[: len(alike)] += alike
        out[len(alike) :] += alike[-1]
    return out


def _highest(values: Floats, reach: int) -> Floats:
    """Largest value within `reach` places."""
    return np.asarray(maximum_filter1d(values, 2 * reach + 1, axis=-1, mode="nearest"))


def _whole(ballots: Floats, weight: float) -> NDArray[np.intp]:
    whole = np.rint(ballots)
    if ballots.size and (np.abs(ballots - whole).max() > _WHOLE or whole.min() < 0):
        raise ValueError(f"counts must be whole numbers of ballots of weight {weight:g}.")
    return whole.astype(np.intp)
