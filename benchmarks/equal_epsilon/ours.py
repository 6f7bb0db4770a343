"""What this library offers, as it is shipped: no setting of it was chosen for these sets."""

from __future__ import annotations

import pandas as pd
from numpy.typing import NDArray
from sets import Labels

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData


def logistic(
    X_private: pd.DataFrame,
    y_private: Labels,
    X_public: pd.DataFrame,
    X_test: pd.DataFrame,
    epsilon: float,
    delta: float,
    seed: int,
    **settings: object,
) -> NDArray:
    """Return the probability of class 1 by `PrivateLogisticRegression`."""
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(epsilon, delta), random_state=seed, **settings
    )
    model.fit(X_private, y_private, X_public=PublicData(X_public))
    return model.predict_proba(X_test)[:, 1]


def unseen(
    X_private: pd.DataFrame,
    y_private: Labels,
    X_public: pd.DataFrame,
    X_test: pd.DataFrame,
    epsilon: float,
    delta: float,
    seed: int,
) -> NDArray:
    """Return the probability of class 1 without public rows, by declared bounds and categories."""
    bounds = X_private.attrs["bounds"]
    model = PrivateLogisticRegression(
        classes=[0, 1],
        bounds=bounds,
        categories={
            name: list(X_private[name].cat.categories)
            for name in X_private.columns
            if name not in bounds
        },
        accountant=PrivacyAccountant(epsilon, delta),
        random_state=seed,
    )
    return model.fit(X_private, y_private).predict_proba(X_test)[:, 1]
