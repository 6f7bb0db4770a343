"""An upper bound of the data-dependent epsilon, which may be published."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._numbers import check_number
from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.divergences import GAUSSIAN, epsilon_at_orders
from secretballot.publication._by_margin import NOISES, ByMargin
from secretballot.publication._kept import Kept
from secretballot.publication._published_epsilon import PublishedEpsilon

#: What has to be left of a budget, as a part of it.
_ROOM = 1e-3

#: Ballots: more noise says nothing of any votes.
_MOST_NOISE = 1e9


def publish_epsilon(
    accountant: PrivacyAccountant,
    *,
    delta: float | None = None,
    failure: float = 1e-3,
    sigma: float | None = None,
    random_state: Any = None,
) -> PublishedEpsilon:
    """Publish an upper bound of what the actual votes did cost, in a budget that kept them.

    What is released is how many ballots the votes are away from their worst case, with noise; it is
    charged to the budget like everything else.

    Parameters
    ----------
    accountant : PrivacyAccountant
        With ``accounting="sanitized"``.
    delta : float, default=None
        The delta of the bound; None: the budget's.
    failure : float, default=1e-3
        With what probability the bound may be too low.
    sigma : float, default=None
        Standard deviation of the noise on the margin, in ballots. None: the one that gives the best
        bound for votes as they usually are, as far as the budget allows it.
    random_state : int, Generator or None, default=None
        None: a cryptographic generator. Anything else is for tests, and protects nobody.

    Returns
    -------
    PublishedEpsilon

    Raises
    ------
    ValueError
        If the budget kept no votes, has levels or reservations, or a parameter is out of range.
    BudgetExceededError
        If nothing is left to publish with: leave some of a budget for that.

    Notes
    -----
    The order and the noise follow from the number of releases, their mechanisms and numbers of
    ballots, and a guess of how far votes usually agree: nothing that the votes themselves decide.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import GNMax, PrivacyAccountant
    >>> from secretballot.publication import publish_epsilon
    >>> accountant = PrivacyAccountant(4.0, 1e-5, accounting="sanitized")
    >>> for_and_against = np.tile([[240, 10]], (500, 1))
    >>> labels = accountant.release(GNMax(sigma=40), for_and_against)
    >>> published = publish_epsilon(accountant)
    >>> published.epsilon < accountant.spent().epsilon
    True
    """
    check_number("failure", failure, above=0, below=1)
    delta = accountant.delta if delta is None else delta
    check_number("delta", delta, above=0, below=1)
    kept = Kept.of(accountant)
    if delta <= kept.delta:
        raise ValueError(
            f"delta={delta!r}: other releases take {kept.delta:.3g} of it; ask for more than that. "
            "Nothing was released."
        )
    margin = ByMargin.chosen(kept, _noises(accountant, sigma), delta, failure)
    cap, others = accountant.epsilon, kept.others(margin.order) + margin.own
    assert not isinstance(cap, dict)

    def bound_of(outcome: NDArray[Any]) -> float:
        total = others + margin.bound(outcome, failure)
        found = float(epsilon_at_orders(total, margin.order, delta - kept.delta))
        return min(found, cap) if delta >= accountant.delta else found

    def told(outcome: NDArray[Any]) -> dict[str, Any]:
        bound = {"epsilon": bound_of(outcome), "delta": delta, "failure": failure}
        return {"published": {**bound, "order": margin.order}}

    outcome = accountant.release(
        margin.mechanism, margin.statistic, random_state=random_state, note=told
    )
    return PublishedEpsilon(
        epsilon=bound_of(outcome),
        delta=delta,
        failure=failure,
        cap=cap,
        cap_delta=accountant.delta,
        order=margin.order,
        sigma=margin.sigma,
        n_rows=kept.n_rows,
    )


def _noises(accountant: PrivacyAccountant, sigma: float | None) -> NDArray[np.float64]:
    """Return the amounts of noise on the margin to choose from."""
    if sigma is not None:
        check_number("sigma", sigma, above=0, below=_MOST_NOISE)
        return np.array([float(sigma)])
    least = _least_noise(accountant)
    return np.maximum(NOISES, least) if least > NOISES[0] else NOISES


def _least_noise(accountant: PrivacyAccountant) -> float:
    """Return the least noise that what is left allows, where that can be told."""
    left = accountant.remaining()
    assert not isinstance(left, dict)
    if left.share < _ROOM:
        raise BudgetExceededError(
            f"{left.share:.2%} of the budget is left, and a number that says anything takes more: "
            "leave some of the budget (a twentieth, say) for publishing. Nothing was released."
        )
    if left.order == np.inf:
        return 0.0
    rate = 1.0 if left.order == GAUSSIAN else float(left.order) / 2
    return float(np.sqrt(rate / left.amount)) * (1 + 1e-6)
