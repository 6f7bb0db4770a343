"""A number released with noise as large as its smooth sensitivity, and a bound made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from secretballot.divergences import ORDERS, Floats, Move, gaussian_bound

_ROUNDING = 1e-12


def smooth_sensitivity(local: ArrayLike, beta: float) -> float:
    """Return the largest of exp(-beta t) A_t over all distances t.

    Parameters
    ----------
    local : array-like of shape (n_distances,)
        A_t, at least every local sensitivity within distance t = 0, 1, ...; the last value holds at
        all larger distances. Where A_t of a data set is never above A_{t+1} of a neighbour, as for
        all that this folder makes, the result is exp(beta)-smooth.
    beta : float
    """
    values = np.asarray(local, dtype=np.float64)
    return float((np.exp(-beta * np.arange(len(values))) * values).max())


def smooth_release_cost(beta: float, sigma: float, orders: Floats = ORDERS) -> Floats:
    """Return what f + S sigma N(0, 1) costs, S an exp(beta)-smooth sensitivity of f.

    Parameters
    ----------
    beta : float
        How much log S differs between neighbours, at most.
    sigma : float
        Standard deviation of the noise, in units of S.
    orders : ndarray of shape (n_orders,)

    Returns
    -------
    ndarray of shape (n_orders,)
        Renyi divergences, rounded up; infinite at orders a where a <= (a - 1) exp(2 beta).

    Notes
    -----
    Between neighbours f moves by at most the smaller S, and the noise by a factor of at most
    exp(beta) up or down. With w = a - (a - 1) exp(2 b) the divergence of the wider normal from
    the narrower is a/(2 sigma^2 w) - b - log(w)/(2 (a - 1)) at a factor exp(b); its derivative by b
    is positive, and no less than that of the narrower from the wider, so b = beta decides.

    Theorem 23 of Papernot et al. (2018) is below that where 2 a beta is above about 1/2.
    """
    with np.errstate(all="ignore"):  # what comes of order infinity is replaced
        lost = (orders - 1) * np.expm1(2 * beta) * (1 + _ROUNDING)
        left = 1 - lost  # w, rounded down
        amount = orders / (2 * sigma**2 * left) - beta - np.log1p(-lost) / (2 * (orders - 1))
        # The last two terms nearly cancel at low orders.
        amount += _ROUNDING * (amount + beta)
    usable = np.isfinite(orders) & (left > 0)
    return np.where(usable, amount, np.inf)


@dataclass(frozen=True, kw_only=True)
class SmoothRelease(Move):
    """Two numbers: f + S `sigma` N(0, 1), and log S + `sigma_log` N(0, 1).

    S is an exp(`beta`)-smooth sensitivity of f. The second number makes an upper bound of the
    first: without it nobody knows how large the noise was.
    """

    beta: float
    sigma: float
    sigma_log: float

    def cost(self, orders: Floats = ORDERS) -> Floats:
        """Return what both cost together; infinite at orders that are too high for `beta`."""
        scale = gaussian_bound(self.beta / self.sigma_log, orders)
        return smooth_release_cost(self.beta, self.sigma, orders) + scale * (1 + _ROUNDING)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return what both cost, as a step of a law."""
        return self.cost(ORDERS if orders is None else np.asarray(orders, dtype=np.float64))

    def exact(self, state: Any) -> Floats:
        """Return what both cost, for each row."""
        curve = self.cost()
        return np.broadcast_to(curve, (len(state), len(curve)))

    def upper_bound(self, noisy: ArrayLike, noisy_log: ArrayLike, failure: float) -> Floats:
        """Return a bound of f that is too low with a probability of at most `failure`.

        Half of the failure goes to each of the two noises.

        Parameters
        ----------
        noisy, noisy_log : array-like of shape (...)
            The two numbers.
        failure : float
            In (0, 1).

        Raises
        ------
        ValueError
            If `failure` is not in (0, 1).
        """
        if not 0 < failure < 1:
            raise ValueError(f"failure={failure!r} must be between 0 and 1, such as 1e-3.")
        tail = -ndtri(failure / 2)
        largest = np.exp(np.asarray(noisy_log, dtype=np.float64) + self.sigma_log * tail)
        return np.asarray(noisy + self.sigma * tail * largest)
