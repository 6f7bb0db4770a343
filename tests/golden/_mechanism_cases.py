"""Costs, draws and ledgers of every registered mechanism, in every kind of budget."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
from tests.golden._plain import ledger_entries, plain

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import Mechanism, SkellamMax
from secretballot.testing import MechanismExample

ORDERS = ("gaussian", 8.0, np.inf)


def mechanism_case(example: MechanismExample) -> dict[str, Any]:
    """Return costs and seeded draws of one mechanism."""
    mechanism, counts = example.mechanism, example.counts
    outcome = mechanism.sample(counts, np.random.default_rng(0))
    n_columns = counts.shape[1]
    results = {
        "describe": plain(mechanism.describe()),
        "max_cost": plain(mechanism.max_cost(n_columns)),
        "outcome": plain(outcome),
        "cost": plain(mechanism.cost(outcome, n_columns=n_columns)),
    }
    if not isinstance(mechanism, SkellamMax):  # charged its worst case alone
        results["known cost"] = plain(mechanism.cost(outcome, counts))
    return results


# These budgets were recorded with a delta that is refused since then.
@patch("secretballot.ledger._budget._MOST_DELTA", 0.3)
def _budget_of(mechanism: Mechanism, order: float | str) -> PrivacyAccountant:
    return PrivacyAccountant(
        epsilon=dict.fromkeys(_levels(mechanism), 60.0) or 60.0,
        delta=0.3,
        relation=sorted(mechanism.relations)[-1],
        order=order,
        allow_seeded=True,
    )


def release_case(example: MechanismExample, order: float | str) -> Any:
    """Return the outcome of a release and what the ledger then holds, or the refusal."""
    mechanism = example.mechanism
    accountant = _budget_of(mechanism, order)
    return _answered(
        accountant, lambda: accountant.release(mechanism, example.counts, random_state=0)
    )


def reservation_case(example: MechanismExample, order: float | str) -> Any:
    """Return what a reservation, a draw on it and its settlement leave in the ledger."""
    mechanism, counts = example.mechanism, example.counts
    accountant = _budget_of(mechanism, order)

    def draw() -> Any:
        reservation = accountant.reserve(mechanism, len(counts) + 2, n_columns=counts.shape[1])
        outcome = accountant.release(mechanism, counts, reservation=reservation, random_state=0)
        accountant.settle(reservation)
        return outcome

    return _answered(accountant, draw)


def _levels(mechanism: Any) -> tuple[str, ...]:
    return tuple(sorted({group.split("/")[0] for group in mechanism.laws()} - {"*"}))


def _answered(accountant: PrivacyAccountant, ask: Any) -> Any:
    try:
        outcome = ask()
    except (ValueError, RuntimeError) as error:
        return {"refused": type(error).__name__}
    return {"outcome": plain(outcome), "entries": ledger_entries(accountant)}
