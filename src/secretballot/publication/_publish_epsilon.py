"""An upper bound of the data-dependent epsilon, by the margin of the votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from secretballot._numbers import check_number
from secretballot.accounting import ORDERS, BudgetExceededError, PrivacyAccountant
from secretballot.divergences import GAUSSIAN, Margin, epsilon_at_orders, from_text, gap_costs
from secretballot.ledger import LedgerEntry
from secretballot.mechanisms import NoisyMargin
from secretballot.publication._published_epsilon import PublishedEpsilon

#: Orders and amounts of noise that are looked at, by public numbers alone.
_ORDERS = tuple(float(each) for each in ORDERS[(ORDERS >= 2) & (ORDERS <= 100)][::2])
_NOISES = np.geomspace(0.5, 50, 33)

#: What has to be left of a budget, as a part of it.
_ROOM = 1e-3


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
        Standard deviation of the noise, in ballots. None: the one that gives the best bound for
        votes as they usually are, as far as the budget allows it.
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
    kept = _Kept.of(accountant)
    if sigma is None:
        noises = _NOISES[_NOISES >= _least_noise(accountant)]
        if not len(noises):
            noises = np.array([_least_noise(accountant)])
    else:
        check_number("sigma", sigma, above=0)
        noises = np.array([float(sigma)])
    guesses = [_guess(kept, order, noises, delta, failure) for order in _ORDERS]
    best = min(guesses, key=lambda each: each.epsilon)
    margin = kept.margin(best.order)
    known = margin.of_votes(kept.how_often)
    cap, others = accountant.epsilon, kept.others(best.order) + _own(best.order, best.sigma)
    assert not isinstance(cap, dict)

    def bound_of(noisy: NDArray[Any]) -> float:
        total = others + margin.bound(float(noisy[0, 0]), best.sigma, failure)
        found = float(epsilon_at_orders(total, best.order, delta - kept.delta))
        return min(found, cap) if delta >= accountant.delta else found

    outcome = accountant.release(
        NoisyMargin(sigma=best.sigma),
        [[known]],
        random_state=random_state,
        note=lambda noisy: {
            "published": {
                "epsilon": bound_of(noisy),
                "delta": delta,
                "failure": failure,
                "order": best.order,
            }
        },
    )
    return PublishedEpsilon(
        epsilon=bound_of(outcome),
        delta=delta,
        failure=failure,
        cap=cap,
        cap_delta=accountant.delta,
        order=best.order,
        sigma=best.sigma,
        n_rows=kept.n_rows,
    )


class _Guess(NamedTuple):
    epsilon: float
    order: float
    sigma: float


def _guess(
    kept: _Kept, order: float, noises: NDArray[np.float64], delta: float, failure: float
) -> _Guess:
    """Return the noise with the best bound at an order, for votes as they usually are."""
    margin = kept.margin(order)
    lower = np.maximum(margin.usual + noises * float(ndtri(failure)), 0.0)
    total = margin.cost(lower) + kept.others(order) + _own(order, noises)
    epsilon = epsilon_at_orders(total, order, delta - kept.delta)
    place = int(np.argmin(epsilon))
    return _Guess(float(epsilon[place]), order, float(noises[place]))


def _own(order: float, sigma: Any) -> Any:
    """Return what the publication costs itself."""
    return order / (2 * sigma**2)


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


@dataclass(frozen=True)
class _Kept:
    """What a ledger holds: the gaps of votes, by move, and all else at its worst case."""

    moves: tuple[tuple[Any, int], ...]  # with the number of votes
    how_often: tuple[NDArray[np.int64], ...]
    entries: tuple[LedgerEntry, ...]  # of which no votes were kept
    n_rows: int

    @classmethod
    def of(cls, accountant: PrivacyAccountant) -> _Kept:
        if accountant.accounting != "sanitized":
            raise ValueError(
                f"accounting={accountant.accounting!r}: only a budget that was opened with "
                "accounting='sanitized' keeps what can be published later."
            )
        if len(accountant.levels) > 1:
            raise ValueError("the budget has levels: what each did lose can't be published yet.")
        entries = accountant.entries()
        if any(entry.reservation is not None for entry in entries):
            raise ValueError("the budget has reservations: their rows can't be told apart yet.")
        if not entries:
            raise ValueError("nothing was released yet, so there is nothing to publish.")
        texts = accountant.private_records()
        found: dict[tuple[Any, int], NDArray[np.int64]] = {}
        for text in texts.values():
            for record in from_text(text):
                key = record.move, len(record.how_often) - 1
                found[key] = record.how_often + found.get(key, 0)
        return cls(
            tuple(found),
            tuple(found.values()),
            tuple(entry for entry in entries if entry.sequence not in texts),
            sum(entry.n_rows for entry in entries if entry.sequence in texts),
        )

    @property
    def delta(self) -> float:
        """What other releases take of delta."""
        return sum(_delta_of(each) for entry in self.entries for each in entry.charges.values())

    def others(self, order: float) -> float:
        """Return what other releases cost at most."""
        return sum(_renyi(each, order) for entry in self.entries for each in entry.charges.values())

    def margin(self, order: float) -> Margin:
        """Return the margin of what was kept."""
        return Margin(
            tuple(gap_costs(move, n_votes, order) for move, n_votes in self.moves),
            tuple(int(each.sum()) for each in self.how_often),
        )


def _renyi(cost: Any, order: float) -> float:
    """Return a charge at a Renyi order: mu^2 is that of a normal law."""
    return float(order * cost.mu2 / 2 if hasattr(cost, "mu2") else cost.at(order))


def _delta_of(cost: Any) -> float:
    return float(cost.delta)
