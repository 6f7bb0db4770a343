"""Noisy count that is released, at a small share of the budget, before a larger release."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

from secretballot._base._errors import BudgetExceededError
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._protocol import RandomState
from secretballot.ledger._budget import Scope
from secretballot.mechanisms._noisy_counts import NoisyCounts
from secretballot.tables._level_prices import by_level, price_of_all

#: Largest share of the budget of a fit, or another release, that a check before it costs.
MOST_BUDGET_SHARE = 0.01
#: Share of the budget that is kept for rounding.
_ROUNDING_SHARE = 1e-6


def share_of(accountant: PrivacyAccountant, mechanism: NoisyCounts, scope: Scope | None) -> float:
    """Compute a check's share of what a scope may spend; infinity if it exceeds it."""
    try:
        price = by_level(accountant.price(mechanism, n_columns=1, scope=scope))
        budget = price_of_all(accountant, scope)
    except BudgetExceededError:
        return math.inf
    return max(price[level] / budget[level] for level in price if budget[level] > 0)


def share_after(share: float) -> float:
    return (1 - share) * (1 - _ROUNDING_SHARE) if share else 1.0


def largest_count(counts: Mapping[Hashable, float]) -> tuple[Hashable, float]:
    """Return the column with the largest count, and the count; 0 without columns."""
    column = max(counts, key=lambda name: counts[name], default=None)
    return column, counts.get(column, 0.0)


def release_largest_count(
    accountant: PrivacyAccountant,
    counts: Mapping[Hashable, float],
    sigma: float,
    *,
    scope: Scope | None,
    random_state: RandomState,
    note: Mapping[str, object],
) -> tuple[float, Hashable]:
    """Release the largest count of all columns with noise; its column is not released.

    One person moves the largest count by 1 at most if that holds for the count of each column.
    """
    column, count = largest_count(counts)
    released = accountant.release(
        NoisyCounts(sigma=sigma),
        [[count]],
        random_state=random_state,
        scope=scope,
        note=note,
    )
    return float(released[0, 0]), column
