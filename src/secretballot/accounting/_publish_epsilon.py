"""Release of an upper bound of the data-dependent epsilon, by a noisy margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from secretballot._base._errors import BudgetExceededError
from secretballot._base._numbers import check_number
from secretballot._base._view import Prose, Shown, View
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.costs._cost import Cost, GaussianCost, epsilon_at_orders
from secretballot.costs._law import Move
from secretballot.costs._margin import GapCosts, Margin, load_gap_records
from secretballot.costs._orders import GAUSSIAN, ORDERS, Floats
from secretballot.mechanisms._noisy_counts import NoisyMargin


@dataclass(frozen=True)
class RecordedVotes:
    """Gaps of recorded votes by move, and the charges of releases without a record."""

    moves: tuple[tuple[Move, int], ...]  # kinds of release, with the number of votes
    gap_counts: tuple[NDArray[np.int64], ...]  # releases of each kind by gap, from 0 to n_votes
    charges: tuple[Cost, ...]  # of all other releases
    n_rows: int  # with recorded votes

    @classmethod
    def from_ledger(cls, accountant: PrivacyAccountant) -> RecordedVotes:
        """Read a ledger; raise ValueError if nothing can be published from it."""
        if accountant.accounting != "sanitized":
            raise ValueError(
                f"accounting={accountant.accounting!r}: only a budget that was opened with "
                "accounting='sanitized' records votes for publication."
            )
        if len(accountant.levels) > 1:
            raise ValueError("the budget has levels: their epsilons can't be published yet.")
        entries = accountant.entries()
        if any(entry.reservation is not None for entry in entries):
            raise ValueError("the budget has reservations: their rows can't be told apart yet.")
        if not entries:
            raise ValueError("nothing was released yet, so there is nothing to publish.")
        texts = accountant.private_records()
        counts: dict[tuple[Move, int], NDArray[np.int64]] = {}
        for text in texts.values():
            for record in load_gap_records(text):
                kind = record.move, len(record.gap_counts) - 1
                counts[kind] = record.gap_counts + counts.get(kind, 0)
        unrecorded = [entry for entry in entries if entry.sequence not in texts]
        return cls(
            tuple(counts),
            tuple(counts.values()),
            tuple(charge for entry in unrecorded for charge in entry.charges.values()),
            sum(entry.n_rows for entry in entries if entry.sequence in texts),
        )

    @property
    def delta(self) -> float:
        """Approximation delta of the other releases."""
        return sum(float(charge.delta) for charge in self.charges)

    def other_cost(self, order: float) -> float:
        return sum(
            order * float(charge.mu2) / 2
            if isinstance(charge, GaussianCost)
            else float(charge.at(order))
            for charge in self.charges
        )

    def margin(self, order: float) -> Margin:
        """Make the link between costs and margins at a Renyi order."""
        return Margin(
            tuple(GapCosts.from_move(move, n_votes, order) for move, n_votes in self.moves),
            tuple(int(counts.sum()) for counts in self.gap_counts),
        )


#: Orders and noise scales to choose from.
_ORDERS = tuple(float(order) for order in ORDERS[(ORDERS >= 2) & (ORDERS <= 100)][::2])
_NOISES = np.geomspace(0.5, 50, 33)

#: Least share of a budget that is worth publishing with.
_LEAST_SHARE = 1e-3

#: Largest noise, in ballots.
_MOST_NOISE = 1e9


@dataclass(frozen=True, kw_only=True)
class PublishedEpsilon(Shown):
    """Upper bound of the privacy loss on the actual data, made by `publish_epsilon`.

    Attributes
    ----------
    epsilon, delta : float
        The bound, the publication itself included.
    failure : float
        Probability that the noise of the publication makes the bound too low.
    cap, cap_delta : float
        The budget: the guarantee over all data sets.
    order : float
        Renyi order at which the bound was converted.
    sigma : float
        Noise on the margin, in ballots.
    n_rows : int
        Rows whose data-dependent cost is bounded; other releases count as they were charged.
    """

    epsilon: float
    delta: float
    failure: float
    cap: float
    cap_delta: float
    order: float
    sigma: float
    n_rows: int

    def _view(self) -> View:
        meaning = (
            "The epsilon bounds the privacy loss between this data set and any that differs from "
            "it in one unit, from all releases, this number included. It is an upper bound with "
            f"probability {1 - self.failure:g}: {self.n_rows} rows count at the cost of their "
            "votes, other releases as they were charged. The guarantee over all data sets is the "
            f"budget: epsilon {self.cap:g} at delta {self.cap_delta:g}."
        )
        figure = f"Epsilon {self.epsilon:.4g} at delta {self.delta:g}, for this data set."
        return View("PublishedEpsilon", (Prose.of(figure), Prose.of(meaning)))


def publish_epsilon(
    accountant: PrivacyAccountant,
    *,
    delta: float | None = None,
    failure: float = 1e-3,
    sigma: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> PublishedEpsilon:
    """Publish an upper bound of the epsilon that the actual votes cost.

    The release is the number of ballots between the votes and their worst case, with noise. It is
    charged to the budget like any other.

    Parameters
    ----------
    accountant : PrivacyAccountant
        With ``accounting="sanitized"``.
    delta : float, default=None
        Delta of the bound; None: the budget's.
    failure : float, default=1e-3
        Probability that the bound is too low.
    sigma : float, default=None
        Standard deviation of the noise on the margin, in ballots. None: the one with the best bound
        for typical votes, as far as the budget allows it.
    random_state : int, Generator or None, default=None
        None: a cryptographic generator. A seed is for tests, and protects nobody.

    Returns
    -------
    PublishedEpsilon

    Raises
    ------
    ValueError
        If the budget recorded no votes, has levels or reservations, or a parameter is out of range.
    BudgetExceededError
        If too little of the budget remains: plan a twentieth of it for publishing.

    Notes
    -----
    The order and the noise depend on public facts: the number of releases, their mechanisms and
    numbers of ballots, and a guess of the agreement of typical votes.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import GNMax, PrivacyAccountant
    >>> from secretballot.accounting import publish_epsilon
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
    votes = RecordedVotes.from_ledger(accountant)
    if delta <= votes.delta:
        raise ValueError(
            f"delta={delta!r}: other releases take {votes.delta:.3g} of it; ask for more than "
            "that. Nothing was released."
        )
    order, sigma = _best_noise(votes, _offered_noises(accountant, sigma), delta, failure)
    margin = votes.margin(order)
    # The releases without recorded votes, and the noisy margin itself.
    unmargined_cost = votes.other_cost(order) + order / (2 * sigma**2)
    budget_epsilon = accountant.levels[0].epsilon

    def bound_epsilon(outcome: Floats) -> float:
        total = unmargined_cost + margin.bound(float(outcome[0, 0]), sigma, failure)
        epsilon = float(epsilon_at_orders(total, order, delta - votes.delta))
        # The budget is a bound too, at its own delta or a larger one.
        return min(epsilon, budget_epsilon) if delta >= accountant.delta else epsilon

    def note(outcome: Floats) -> dict[str, dict[str, float]]:
        bound = {"epsilon": bound_epsilon(outcome), "delta": delta, "failure": failure}
        return {"published": {**bound, "order": order}}

    statistic = [[margin.margin_of(votes.gap_counts)]]
    mechanism = NoisyMargin(sigma=sigma)
    outcome = accountant.release(mechanism, statistic, random_state=random_state, note=note)
    return PublishedEpsilon(
        epsilon=bound_epsilon(outcome),
        delta=delta,
        failure=failure,
        cap=budget_epsilon,
        cap_delta=accountant.delta,
        order=order,
        sigma=sigma,
        n_rows=votes.n_rows,
    )


def _best_noise(
    votes: RecordedVotes, noises: NDArray[np.float64], delta: float, failure: float
) -> tuple[float, float]:
    """Choose the order and the noise with the best bound for typical votes."""
    choices = []
    for order in _ORDERS:
        margin = votes.margin(order)
        lower = np.maximum(margin.typical + noises * float(ndtri(failure)), 0.0)
        total = margin.cost_at(lower) + votes.other_cost(order) + order / (2 * noises**2)
        epsilon = epsilon_at_orders(total, order, delta - votes.delta)
        place = int(np.argmin(epsilon))
        choices.append((float(epsilon[place]), order, float(noises[place])))
    _, order, sigma = min(choices)
    return order, sigma


def _offered_noises(accountant: PrivacyAccountant, sigma: float | None) -> NDArray[np.float64]:
    """List the noise scales to choose from: `sigma`, or those that the budget can pay for."""
    if sigma is not None:
        check_number("sigma", sigma, above=0, below=_MOST_NOISE)
        return np.array([float(sigma)])
    remaining = accountant.remaining()
    assert not isinstance(remaining, dict)
    if remaining.share < _LEAST_SHARE:
        raise BudgetExceededError(
            f"{remaining.share:.2%} of the budget is left, too little for a useful number: leave "
            "some of the budget (a twentieth, say) for publishing. Nothing was released."
        )
    rate = 1.0 if remaining.order == GAUSSIAN else float(remaining.order) / 2
    return np.maximum(_NOISES, float(np.sqrt(rate / remaining.amount)) * (1 + 1e-6))
