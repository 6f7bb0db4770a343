"""From a Renyi divergence to (epsilon, delta), and back to the Renyi budget it allows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences._orders import ORDERS, Floats


def _overhead(orders: Floats, delta: ArrayLike, conversion: str) -> Floats:
    """What converting at ``orders`` adds to the divergence; infinite if it is impossible."""
    if conversion not in ("cks", "mironov"):
        raise ValueError(f"conversion={conversion!r} is unknown; use 'cks' or 'mironov'.")
    spare = np.asarray(delta, dtype=np.float64)
    finite = np.where(np.isinf(orders), 2.0, orders)
    log_delta = np.log(np.where(spare > 0, spare, 1.0))
    if conversion == "mironov":
        added = -log_delta / (finite - 1)
    else:
        added = np.log1p(-1 / finite) - (log_delta + np.log(finite)) / (finite - 1)
    added = np.where(spare > 0, added, np.inf)
    # Order infinity is pure DP: it needs no delta, but a deficit can't be repaired.
    return np.where(np.isinf(orders), np.where(spare >= 0, 0.0, np.inf), added)


def epsilon_at_orders(
    curve: ArrayLike, orders: ArrayLike, delta: ArrayLike, conversion: str = "cks"
) -> Floats:
    """Epsilon that each order certifies at ``delta``, at least 0.

    ``"cks"`` is Proposition 12 of Canonne, Kamath and Steinke (2020): with divergence r at order
    a, eps = r + log((a - 1)/a) - (log delta + log a)/(a - 1). ``"mironov"`` is Proposition 3 of
    Mironov (2017): eps = r + log(1/delta)/(a - 1).
    """
    at = np.asarray(orders, dtype=np.float64)
    return np.maximum(np.asarray(curve) + _overhead(at, delta, conversion), 0.0)


def renyi_budget(epsilon: ArrayLike, delta: ArrayLike, orders: ArrayLike) -> Floats:
    """Largest divergence at each order that still converts to ``epsilon`` at ``delta``.

    The inverse of `epsilon_at_orders` with ``"cks"``, rounded down; negative where an order
    can't certify ``epsilon`` even for a release that costs nothing.
    """
    at = np.asarray(orders, dtype=np.float64)
    allowed = np.asarray(epsilon, dtype=np.float64) - _overhead(at, delta, "cks")
    return allowed - 1e-12 * np.abs(allowed)


def best_order(epsilon: float, delta: float) -> float:
    """Return the order at which a Gaussian-like total that uses the budget up converts best.

    Such a total is a curve ``rate * order``; the best order allows the largest rate.
    """
    finite = ORDERS[:-1]
    allowed = renyi_budget(epsilon, delta, finite)
    if not allowed.max() > 0:
        raise ValueError(
            f"epsilon={epsilon:g} can't be certified at delta={delta:g}: converting at the best "
            f"of the Renyi orders alone takes {epsilon - float(allowed.max()):.3g}; use a larger "
            "epsilon, a larger delta, or order=inf (basic composition)."
        )
    return float(finite[np.argmax(allowed / finite)])


def gate_budget(epsilon: float, delta: float, order: float) -> float:
    """Return the most that may be spent at `order`; not positive if the order can't be used."""
    if math.isinf(order):
        return epsilon  # Nothing is converted, so nothing has to be rounded.
    return float(renyi_budget(epsilon, delta, order))
