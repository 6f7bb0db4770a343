"""Labels until a level has spent its budget, on votes that are known; for `tables.py`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from settings import DELTA, Setting

from secretballot import ConfidentGNMax
from secretballot.accounting import ORDERS, RenyiCost
from secretballot.mechanisms import UNANSWERED

Floats = NDArray[np.float64]
_ROWS = 500  # priced at a time


@dataclass(frozen=True)
class Accounting:
    """What a row is charged, and how the total becomes epsilon."""

    bound: str
    data_dependent: bool
    conversion: Mapping[str, Any]


#: Papernot's bound of the vote and the Gaussian one of the threshold, Mironov, orders 2 to 50; and
#: the exact divergences, on these votes or on the worst ones, Canonne-Kamath-Steinke, fine orders.
ACCOUNTINGS = {
    "published": Accounting(
        "papernot", True, {"conversion": "mironov", "orders": tuple(range(2, 51))}
    ),
    "exact": Accounting("exact", True, {}),
    "worst case": Accounting("exact", False, {}),
}


@dataclass(frozen=True)
class Voting:
    """One labelling of the public rows: their order, and what would be drawn for each.

    The pool is asked again, in another order, once it is used up.

    Attributes
    ----------
    order : ndarray of shape (n_passes * n_public,)
        Position of each row asked.
    winner : ndarray of shape (n_passes * n_public,)
        The noisy winner, or -1 where the threshold is not reached.
    """

    order: NDArray[np.intp]
    winner: NDArray[np.int64]

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which rows are answered."""
        return self.winner != UNANSWERED


def draw(votes: Floats, mechanism: ConfidentGNMax, key: list[int], passes: int = 3) -> Voting:
    """Draw a labelling. Seeded, as nothing is that anybody's privacy rests on."""
    rng = np.random.default_rng(key)
    order = np.concatenate([rng.permutation(len(votes)) for _ in range(passes)])
    return Voting(order, mechanism.sample(votes[order], rng))


@dataclass(frozen=True)
class Stop:
    """Where labelling stops, and what it has spent by then.

    Attributes
    ----------
    n_rows, n_labels : int
        Rows asked, and answered.
    shares : dict of str to float
        Epsilon of each level over its budget.
    """

    n_rows: int
    n_labels: int
    shares: dict[str, float]


class Prices:
    """What each public row costs each level, were it answered or not.

    Parameters
    ----------
    votes : ndarray of shape (n_public, n_classes)
    mechanism : ConfidentGNMax
        With each level's weight or ballots.
    accounting : Accounting
    """

    def __init__(self, votes: Floats, mechanism: Any, accounting: Accounting) -> None:
        self._conversion = accounting.conversion
        charged = replace(mechanism, bound=accounting.bound)
        known = votes if accounting.data_dependent else None
        self._cost = [
            charged.cost(np.full(len(votes), outcome), known, n_columns=votes.shape[1])
            for outcome in (UNANSWERED, 0)
        ]

    def epsilons(self, voting: Voting) -> Iterator[dict[str, Floats]]:
        """Yield epsilon of each level after each row asked, some rows at a time."""
        bit, vote = self._cost
        total = {name: np.zeros(len(ORDERS)) for name in bit}
        for start in range(0, len(voting.order), _ROWS):
            rows = voting.order[start : start + _ROWS]
            answered = voting.answered[start : start + _ROWS, None]
            epsilons = {}
            for name, spent in total.items():
                each = np.where(answered, vote[name].curve[rows], bit[name].curve[rows])
                curve = spent + np.cumsum(each, axis=0)
                total[name] = curve[-1]
                epsilons[name] = RenyiCost(curve).epsilon(DELTA, **self._conversion)
            yield epsilons

    def stop(self, voting: Voting, budgets: Mapping[str, float]) -> Stop:
        """Return how far the budgets last: no level's epsilon exceeds its own."""
        n_rows, last = 0, dict.fromkeys(budgets, 0.0)
        for epsilons in self.epsilons(voting):
            shares = {name: epsilons[name] / budgets[name] for name in budgets}
            within = np.max(list(shares.values()), axis=0) <= 1
            fits = len(within) if within.all() else int(within.argmin())
            if fits:
                last = {name: float(share[fits - 1]) for name, share in shares.items()}
            n_rows += fits
            if fits < len(within):
                return Stop(n_rows, int(voting.answered[:n_rows].sum()), last)
        raise ValueError(f"{n_rows} rows don't use up the budgets; ask for more passes.")


def released(setting: Setting, accounting: str, votes: Floats, mechanism: Any, seed: int) -> Stop:
    """Label the rows through the accountant, until it refuses; shares are those of its gate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeded, data dependent: it is an experiment
        accountant = setting.accountant(accounting)
        order = np.random.default_rng([seed, 2]).permutation(len(votes))
        outcome = accountant.release(mechanism, votes[order], random_state=seed)
    return Stop(
        len(outcome),
        int((outcome != UNANSWERED).sum()),
        {name: accountant.spent()[name].share for name in setting.names},
    )
