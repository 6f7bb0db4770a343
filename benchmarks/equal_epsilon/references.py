"""What is not private: ceilings, and what the pool would be worth if its rows had true labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
from encoding import binned, scaled
from numpy.typing import NDArray
from sets import Labels
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

Scores = NDArray[np.float64]


def logistic(X: pd.DataFrame, y: Labels, X_test: pd.DataFrame, *, bins: int = 0) -> Scores:
    """Logistic regression on scaled numbers, or on their bins, and on categories."""
    encode = binned(X, bins) if bins else scaled(X)
    model = LogisticRegression(max_iter=1_000).fit(encode(X), y)
    return np.asarray(model.predict_proba(encode(X_test)))[:, 1]


def boosting(X: pd.DataFrame, y: Labels, X_test: pd.DataFrame) -> Scores:
    """Gradient boosting of trees, scikit-learn's defaults."""
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return np.asarray(model.fit(X, y).predict_proba(X_test))[:, 1]


def majority(X: pd.DataFrame, y: Labels, X_test: pd.DataFrame) -> Scores:
    """The share of class 1, for every row."""
    return np.full(len(X_test), y.mean())
