"""Fits models of diffprivlib in an environment that has it; diffprivlib_models.py runs this.

Reads pickled dictionaries from standard input, answers with an array, or a string: what failed.
"""

import contextlib
import pickle
import sys
import warnings

import numpy as np
from diffprivlib import models

warnings.simplefilter("ignore")


def build(model, value, epsilon, n_columns, seed):
    """Return an unfitted model with everything declared."""
    common = {"epsilon": epsilon, "random_state": seed}
    bounds = (np.zeros(n_columns), np.ones(n_columns))
    if model == "LogisticRegression":
        return models.LogisticRegression(
            data_norm=1.0, C=value, fit_intercept=False, max_iter=1_000, **common
        )
    if model == "GaussianNB":
        return models.GaussianNB(bounds=bounds, var_smoothing=value, **common)
    if model == "LinearRegression":
        symmetric = (-np.ones(n_columns), np.ones(n_columns))
        return models.LinearRegression(
            bounds_X=symmetric, bounds_y=(-1.0, 1.0), fit_intercept=False, **common
        )
    return models.RandomForestClassifier(
        n_estimators=int(value), bounds=bounds, classes=[0, 1], max_depth=8, **common
    )


def answer(model, value, epsilon, X, y, X_test, seed):
    """Return the probability of class 1, or the predicted number."""
    fitted = build(model, value, epsilon, X.shape[1], seed).fit(X, y)
    if model == "LinearRegression":
        return fitted.predict(X_test)
    return fitted.predict_proba(X_test)[:, 1]


while True:
    try:
        given = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    with contextlib.redirect_stdout(sys.stderr):
        try:
            result = True if "ping" in given else answer(**given)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    pickle.dump(result, sys.stdout.buffer, protocol=4)
    sys.stdout.buffer.flush()
