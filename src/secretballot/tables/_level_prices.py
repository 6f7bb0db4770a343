"""Values of each level of a budget, and the price of all that is left."""

from __future__ import annotations

from typing import TypeVar

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ledger._budget import ONLY_LEVEL, Scope
from secretballot.mechanisms._noisy_counts import NoisyCounts

V = TypeVar("V")


def price_of_all(accountant: PrivacyAccountant, scope: Scope | None) -> dict[str, float]:
    """Compute the price of a release that takes all that is left, as shares of the budget."""
    full_release = accountant.calibrate(NoisyCounts, 1, n_columns=1, scope=scope)
    return by_level(accountant.price(full_release, n_columns=1, scope=scope))


def by_level(value: V | dict[str, V]) -> dict[str, V]:
    """Return values by level; one value for all is that of the level "everyone"."""
    return value if isinstance(value, dict) else {ONLY_LEVEL: value}
