"""Data, budgets and votes for the checks of ensembles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import PrivacyAccountant
from secretballot.checks._contract import quietly
from secretballot.ensemble import collect_votes

#: Takes an accountant, or None, and returns an unfitted ensemble of six teachers.
Make = Callable[[PrivacyAccountant | None], Any]


def some_budget() -> PrivacyAccountant:
    """Return a budget for a few fits."""
    return PrivacyAccountant(epsilon=50.0, delta=1e-5, order="renyi")


def some_data() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return private rows, their labels, and public rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int)
    return X, y, rng.normal(size=(20, 3))


def fit(ensemble: Any, X: Any, y: Any, pool: Any) -> Any:
    """Fit with a public pool, without warnings of seeded noise."""
    # What a check of the pool costs is not what is counted here.
    ensemble.set_params(check_public_rows=False)
    return quietly(ensemble.fit, X, y, X_public=pool)


def votes_of(ensemble: Any, X: Any) -> NDArray[Any]:
    """Return the votes of a fitted ensemble's teachers."""
    return collect_votes(ensemble._teachers, X, ensemble.classes_, None)["*"]


def votes_after(make: Make, X: Any, y: Any, pool: Any, **data: Any) -> NDArray[Any]:
    """Return the votes on `pool` of teachers trained on some data."""
    return votes_of(quietly(make(None).fit, X, y, **data), pool)
