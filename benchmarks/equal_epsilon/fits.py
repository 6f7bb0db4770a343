"""Fits of ours, and summaries of scores, that several scripts share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sets import Split, categorical
from sklearn.metrics import accuracy_score, roc_auc_score

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData

DELTA, N_BINS = 1e-5, 15


def logistic(
    X: Any, y: NDArray[np.int_], pool: Any, epsilon: float, seed: int, **settings: Any
) -> PrivateLogisticRegression:
    """Fit `PrivateLogisticRegression`; public rows that equal private ones are no leak here."""
    model = PrivateLogisticRegression(
        classes=list(range(int(y.max()) + 1)),
        accountant=PrivacyAccountant(epsilon, DELTA),
        random_state=seed,
        **settings,
    )
    public = None if pool is None else PublicData(pool, may_be_private=True)
    return model.fit(X, y, X_public=public)


def schema(X: Any) -> dict[str, Any]:
    """Return bounds and categories, as parameters of an estimator."""
    categories = {name: list(X[name].cat.categories) for name in categorical(X)}
    return {"bounds": X.attrs["bounds"], "categories": categories}


def quality(rows: Split, chances: NDArray[np.float64]) -> tuple[float, float]:
    """Return accuracy and AUC of probabilities of class 1 on the test rows."""
    right = accuracy_score(rows.y_test, chances > 0.5)
    return float(right), float(roc_auc_score(rows.y_test, chances))


def calibration_error(chances: NDArray[np.float64], outcomes: NDArray[Any]) -> float:
    """Return the mean distance between probabilities and shares, over bins of as many rows."""
    bins = np.array_split(np.argsort(chances, kind="stable"), N_BINS)
    gaps = [abs(chances[rows].mean() - outcomes[rows].mean()) * len(rows) for rows in bins]
    return float(np.sum(gaps) / len(outcomes))


def standard_error(values: NDArray[np.float64]) -> Any:
    """Return the standard error of the mean over the first axis; NaN for a single run."""
    if len(values) < 2:
        return np.full(np.shape(values)[1:], np.nan)[()]
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


def gain(values: NDArray[np.float64]) -> str:
    """Return the text of a mean difference, and its standard error."""
    return f"{np.mean(values):+.4f} +- {standard_error(values):.4f}"
