"""How much one ballot can change Papernot et al.'s bound, now and further away.

Their bound is a function of q, and so is theirs on how much one ballot changes it: where q is below
some q1 it grows with q, from q1 to the q0 where the data-independent bound takes over it is flat
(the plateau), above it falls. So the worst that t ballots can do is to move q towards the plateau,
as far as they can.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri_exp

from secretballot.divergences import Floats
from secretballot.divergences._papernot import bound_of_loss, log_losses

_POINTS = 8192  # at which the conditions are checked
_SMALLEST = -600.0  # log q down to which the conditions are checked: the bound is 1e-260 there
_NOISE = 1e-12  # relative, of what is checked


@dataclass(frozen=True, kw_only=True)
class PapernotCurve:
    """Papernot et al.'s bound at one `order` as a function of log q, and what a ballot changes.

    Without a threshold, for whole ballots; `sigma` is the noise on each count.

    A ballot changes q to B_L(q) or B_U(q) at the extremes. With x such that
    q = (`n_classes` - 1) Phi(-x), these are q at x + sqrt(2)/sigma and at x - sqrt(2)/sigma.
    """

    sigma: float
    n_classes: int
    order: float

    @property
    def plain(self) -> float:
        """What a row costs at most, whatever its votes are."""
        return self.order / self.sigma**2

    def bound(self, log_q: ArrayLike) -> Floats:
        """Return the bound."""
        return bound_of_loss(np.asarray(log_q), self.sigma, np.asarray(self.order))

    def log_q(self, x: ArrayLike) -> Floats:
        """Return log q at x, at most 0."""
        many = np.log(self.n_classes - 1)
        return np.asarray(np.minimum(log_ndtr(-np.asarray(x, dtype=np.float64)) + many, 0.0))

    def moved(self, log_q: ArrayLike, ballots: int) -> Floats:
        """Return the largest log q after a ballot was replaced (1), or the smallest (-1)."""
        each = np.minimum(np.asarray(log_q) - np.log(self.n_classes - 1), 0.0)
        return self.log_q(-ndtri_exp(each) - ballots * np.sqrt(2) / self.sigma)

    @property
    def log_q0(self) -> float:
        """Log of the smallest q that costs `plain`; meaningful where C5 holds."""
        return _smallest_plain(self)

    @property
    def log_q1(self) -> float:
        """Log of B_L(q0): one ballot is enough to lose the bound above it."""
        return float(self.moved(self.log_q0, -1))

    def conditions(self) -> tuple[bool, bool]:
        """Whether C5 and C6 hold, at many points down to where the bound underflows.

        C5: the bound grows with q. C6: so does, below q1, what B_U(q) costs more than q. C6 holds
        for orders up to some 0.8 `sigma`.
        """
        return _conditions(self)

    def changes(self, log_q: Floats) -> Floats:
        """Return the most that a ballot changes the bound by, an upper bound."""
        log_q = np.where(self._inside(log_q), self.log_q1, log_q)
        here = self.bound(log_q)
        higher, lower = (self.bound(self.moved(log_q, ballots)) for ballots in (1, -1))
        return np.maximum(higher - here, here - lower)

    def _inside(self, log_q: Floats) -> NDArray[np.bool_]:
        return np.asarray(self.log_q1 <= log_q) & (log_q <= self.log_q0)


def papernot_sensitivities(
    counts: ArrayLike, sigma: float, order: float, n_classes: int | None = None
) -> Floats:
    """Bound how much the total of Papernot et al.'s bounds changes by one ballot.

    Parameters
    ----------
    counts : array-like of shape (n_rows, n_columns)
        Whole numbers of ballots. How many there are on a row is public.
    sigma : float
        Standard deviation of the noise on each count.
    order : float
    n_classes : int, default=None
        How many classes there are, if more than columns.

    Returns
    -------
    ndarray of shape (n_distances,)
        A_t within t = 0, 1, ... replaced teachers, each with a ballot on every row; the last value
        holds at all larger distances.

    Raises
    ------
    ValueError
        If a count is no whole number, or condition C5 or C6 fails.

    References
    ----------
    Papernot et al., "Scalable Private Learning with PATE" (ICLR 2018), Appendix B.
    """
    votes = np.asarray(counts, dtype=np.float64)
    if votes.ndim != 2 or np.any(votes < 0) or np.any(votes != np.rint(votes)):
        raise ValueError("counts must be rows of whole numbers of ballots, one column a class.")
    classes = votes.shape[1] if n_classes is None else n_classes
    if classes < max(votes.shape[1], 2):
        raise ValueError(f"n_classes={classes} must be 2 or more, and no less than the columns.")
    curve = PapernotCurve(sigma=float(sigma), n_classes=classes, order=float(order))
    if not all(curve.conditions()):
        failing = " and ".join(
            name for name, holds in zip(("C5", "C6"), curve.conditions(), strict=True) if not holds
        )
        raise ValueError(
            f"sigma={sigma:g} with {classes} classes fails condition {failing} at order={order:g}: "
            "the smooth sensitivity of Papernot's bound is not known there; use more noise, a "
            "lower order, or the margin."
        )
    full = np.hstack([votes, np.zeros((len(votes), classes - votes.shape[1]))])
    rows, times = np.unique(-np.sort(-full, axis=1), axis=0, return_counts=True)
    walks = _Walks(curve, rows)
    total = [float(times @ walks.changes)]
    while walks.step():
        total.append(float(times @ walks.changes))
    return np.array(total)


class _Walks:
    """Rows of counts in descending order, each on its way to the plateau."""

    def __init__(self, curve: PapernotCurve, rows: Floats) -> None:
        self.curve, self.rows = curve, rows.copy()
        self.log_q = log_losses(self.rows, curve.sigma)
        self.changes = curve.changes(self.log_q)
        self._rising = self.log_q < curve.log_q1  # q must rise to get there

    def step(self) -> bool:
        """Replace a ballot in each row that is not there yet; whether there was any."""
        falls = (self.log_q > self.curve.log_q0) & (self.rows[:, 1] > 0) & ~self._rising
        rises = self._rising & (self.log_q < self.curve.log_q1)
        going = np.flatnonzero(falls | rises)
        rows, gains = self.rows[going], falls[going]
        # The last of the classes that are second: the order stays as it is.
        second = (rows[:, 1:] == rows[:, 1:2]).sum(axis=1)
        there = np.arange(len(going))
        rows[:, 0] += np.where(gains, 1, -1)
        rows[there, np.where(gains, second, 1)] += np.where(gains, -1, 1)
        self.rows[going] = rows
        self.log_q[going] = log_losses(rows, self.curve.sigma)
        self.changes[going] = self.curve.changes(self.log_q[going])
        return len(going) > 0


@lru_cache(maxsize=1024)
def _smallest_plain(curve: PapernotCurve) -> float:
    below, above = _SMALLEST, 0.0  # log q that costs less than `plain`, and that does not
    if not curve.bound(below) < curve.plain:
        return below
    while True:
        middle = (below + above) / 2
        if not below < middle < above:
            return above
        if curve.bound(middle) < curve.plain:
            below = middle
        else:
            above = middle


@lru_cache(maxsize=1024)
def _conditions(curve: PapernotCurve) -> tuple[bool, bool]:
    first, last = (-ndtri_exp(q - np.log(curve.n_classes - 1)) for q in (-1e-9, _SMALLEST))
    x = np.linspace(first, last, _POINTS)
    if not _falling(curve.bound(curve.log_q(x))):
        return False, False
    if curve.log_q1 <= _SMALLEST:  # so high an order that C6 can't be checked
        return True, False
    low = -ndtri_exp(curve.log_q1 - np.log(curve.n_classes - 1))
    log_q = curve.log_q(np.linspace(low, last, _POINTS))[1:]
    return True, _falling(curve.bound(curve.moved(log_q, 1)) - curve.bound(log_q))


def _falling(values: Floats) -> bool:
    return bool(np.all(values[1:] <= values[:-1] * (1 + _NOISE)))
