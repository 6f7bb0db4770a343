"""Exact epsilon, delta and Renyi divergence of laws whose outcomes can be enumerated."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from secretballot.accounting import ORDERS, RenyiCost
from secretballot.divergences import Floats, renyi_divergence

#: Products of more outcomes than this are not enumerated.
MOST_OUTCOMES = 1_000_000


def hockey_stick(log_p: ArrayLike, log_q: ArrayLike, epsilon: float) -> float:
    """Compute the exact delta of two neighbouring laws at an epsilon, in the worse direction.

    Parameters
    ----------
    log_p, log_q : array-like of shape (n_outcomes,)
        Logarithms of the outcomes' probabilities on the data and on the neighbour.
    epsilon : float

    Returns
    -------
    float
        The largest P(E) - e^epsilon Q(E) over all events E.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.audit import hockey_stick
    >>> round(hockey_stick(np.log([0.75, 0.25]), np.log([0.25, 0.75]), epsilon=0.0), 12)
    0.5
    """
    p, q = _check_laws(log_p, log_q)
    return max(
        float(np.maximum(np.exp(a) - np.exp(epsilon + b), 0.0).sum()) for a, b in ((p, q), (q, p))
    )


def exact_epsilon(log_p: ArrayLike, log_q: ArrayLike, delta: float) -> float:
    """Compute the exact epsilon of two neighbouring laws at a delta, in the worse direction.

    Parameters
    ----------
    log_p, log_q : array-like of shape (n_outcomes,)
        As for `hockey_stick`.
    delta : float

    Returns
    -------
    float
        The smallest epsilon for which no event breaks (epsilon, delta)-DP; at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.audit import exact_epsilon
    >>> float(np.exp(exact_epsilon(np.log([0.75, 0.25]), np.log([0.25, 0.75]), delta=0.25)))
    2.0
    """
    p, q = _check_laws(log_p, log_q)
    return max(_epsilon_one_way(p, q, delta), _epsilon_one_way(q, p, delta))


def exact_divergence(log_p: ArrayLike, log_q: ArrayLike) -> RenyiCost:
    """Compute the exact Renyi curve of two neighbouring laws, the worse direction at each order.

    Parameters
    ----------
    log_p, log_q : array-like of shape (n_outcomes,)
        As for `hockey_stick`.

    Returns
    -------
    RenyiCost
        To compare with the claim of a mechanism, such as its ``max_cost()``.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.audit import exact_divergence
    >>> curve = exact_divergence(np.log([0.75, 0.25]), np.log([0.25, 0.75]))
    >>> float(np.exp(curve.at(np.inf)).round(12))
    3.0
    """
    p, q = _check_laws(log_p, log_q)
    p, q = (law[(p > -np.inf) | (q > -np.inf)] for law in (p, q))
    if not (np.isfinite(p) & np.isfinite(q)).all():
        return RenyiCost(np.full(len(ORDERS), np.inf))
    return RenyiCost(np.maximum(renyi_divergence(p, q, ORDERS), renyi_divergence(q, p, ORDERS)))


def compose_rows(log_p: ArrayLike) -> Floats | None:
    """Compute the law of independent rows, the last row varying fastest; None if too long."""
    rows = np.atleast_2d(np.asarray(log_p, dtype=np.float64))
    if rows.shape[1] ** len(rows) > MOST_OUTCOMES:
        return None
    return reduce(lambda law, row: np.add.outer(law, row).ravel(), rows, np.zeros(1))


def _epsilon_one_way(log_p: Floats, log_q: Floats, delta: float) -> float:
    """Maximise log((P(E) - delta)/Q(E)) over events "the likelihood ratio is >= t"."""
    possible = log_p > -np.inf
    p, q = np.exp(log_p[possible]), np.exp(log_q[possible])
    ranked = np.argsort(log_q[possible] - log_p[possible], kind="stable")
    gain, total_q = np.cumsum(p[ranked]) - delta, np.cumsum(q[ranked])
    useful = gain > 0
    with np.errstate(divide="ignore"):
        return float(np.log(gain[useful] / total_q[useful]).max(initial=0.0))


def _check_laws(log_p: ArrayLike, log_q: ArrayLike) -> tuple[Floats, Floats]:
    p, q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    for name, law in (("log_p", p), ("log_q", q)):
        total = np.exp(law).sum()
        if law.ndim != 1 or len(law) != len(p) or not abs(total - 1) < 1e-6:
            raise ValueError(
                f"{name} has shape {law.shape} and probabilities that add up to {total:.6g}; pass "
                "one logarithm per outcome, of the same outcomes in both, that add up to 1."
            )
    return p, q
