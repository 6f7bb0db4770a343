"""What is compared, by name.

A method is a function ``(rows, epsilon, seed)`` that returns the probability of class 1 on the test
rows (or any score of which more than one half means class 1). It takes neither `rows.y_pool` nor
`rows.y_test`. The tables are data frames: columns of categories have a categorical dtype with all
that are declared, and the others have declared bounds, ``X.attrs["bounds"][name]``. All this is
public; `sets.numbers` and `sets.categorical` name the columns. Epsilon is for one private row that
is *replaced*, at `fits.DELTA`. To add one::

    METHODS["ours"] = function

A name with a colon is a setting of what stands before it: tables show the setting whose mean over
seeds is the best *on the test rows*, which favours such a method.

A reference is a function ``(rows)`` that is not private.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial

import descent
import diffprivlib_models
import ebm
import fits
import numpy as np
import pandas as pd
from encoding import binned, scaled
from numpy.typing import NDArray
from sets import Labels, Split
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


def ours(rows: Split, epsilon: float, seed: int, **settings: object) -> NDArray:
    """Return the probability of class 1 by `PrivateLogisticRegression`."""
    seen = (rows.X_private, rows.y_private, rows.X_pool)
    return fits.logistic(*seen, epsilon, seed, **settings).predict_proba(rows.X_test)[:, 1]


def unseen(rows: Split, epsilon: float, seed: int) -> NDArray:
    """Return the probability of class 1 without public rows, by declared bounds and categories."""
    return ours(rows._replace(X_pool=None), epsilon, seed, **fits.schema(rows.X_private))


Method = Callable[[Split, float, int], NDArray]
Reference = Callable[[Split], Scores]

METHODS: dict[str, Method] = {}

EBM = [
    ebm.Setting(0.3, 100),
    ebm.Setting(0.3, 100, max_bins=16),
    ebm.Setting(0.3, 100, max_bins=64),
    ebm.Setting(0.1, 100, max_bins=16),
    ebm.Setting(0.3, 30, max_bins=16),
    ebm.Setting(1.0, 30),
    ebm.Setting(0.3, 300),
]
DIFFPRIVLIB = [
    *(
        ("logistic", diffprivlib_models.Setting("LogisticRegression", C, columns))
        for columns in ("bounds", "scaled")
        for C in (0.003, 0.03, 0.1, 0.3, 1.0)
    ),
    ("naive Bayes", diffprivlib_models.Setting("GaussianNB", 1e-9, "codes")),
    ("naive Bayes", diffprivlib_models.Setting("GaussianNB", 0.01, "codes")),
    ("forest", diffprivlib_models.Setting("RandomForestClassifier", 50, "codes")),
]
#: Columns of each kind, and (steps, rate, clip): little clip, little noise, but a large rate.
#: They were the best of twenty to sixty on the test rows of a seed, at some epsilon on some set.
DESCENT = {
    "no public rows": [("bounds", (150, 100, 0.1)), ("bounds", (400, 300, 0.3))],
    "scaled": [
        ("scaled", (30, 100, 0.3)),
        ("scaled", (30, 1_000, 0.1)),
        ("scaled", (150, 300, 0.3)),
        ("scaled", (400, 300, 0.3)),
    ],
    "components": [
        ("components", (30, 100, 0.3)),
        ("components", (150, 100, 0.3)),
        ("components", (150, 30, 0.3)),
    ],
    "bins": [
        ("bins", (30, 100, 0.3)),
        ("bins", (150, 100, 0.1)),
        ("bins", (150, 100, 0.3)),
        ("bins", (150, 300, 0.3)),
        ("bins", (400, 300, 0.3)),
        ("few bins", (150, 100, 0.1)),
        ("few bins", (400, 300, 0.3)),
    ],
}
DRAWN = [descent.Setting(columns, 400, 300, 0.3, 0.1) for columns in ("scaled", "bins")]
NEEDS = {"DP-EBM": "interpret", "DP-SGD": "dp_accounting"}


def _register() -> None:
    METHODS["PrivateLogisticRegression"] = ours
    METHODS["PrivateLogisticRegression, no public rows"] = unseen
    METHODS["ours, linear columns"] = partial(ours, features="linear")
    METHODS["ours, three bins"] = partial(ours, n_bins=3)
    for setting in EBM:
        METHODS[f"DP-EBM: {setting}"] = partial(ebm.dp_ebm, setting)
    for model, setting in DIFFPRIVLIB:
        name = f"diffprivlib {model}: {setting.value:g}, {setting.columns}"
        METHODS[name] = partial(diffprivlib_models.diffprivlib_model, setting)
    descents = [
        (f"DP-GD {kind}", descent.Setting(columns, *pace))
        for kind, choices in DESCENT.items()
        for columns, pace in choices
    ]
    for family, setting in [*descents, *(("DP-SGD", drawn) for drawn in DRAWN)]:
        METHODS[f"{family}: {setting}"] = partial(descent.gradient_descent, setting)


_register()


def private(model: Callable[..., Scores], rows: Split, **settings: int) -> Scores:
    """Fit a model to the private rows without noise."""
    return model(rows.X_private, rows.y_private, rows.X_test, **settings)


def public(model: Callable[..., Scores], rows: Split) -> Scores:
    """Fit a model to the public rows and their labels."""
    return model(rows.X_pool, rows.y_pool, rows.X_test)


REFERENCES: dict[str, Reference] = {
    "the larger class": partial(private, majority),
    "logistic, not private": partial(private, logistic),
    "logistic on bins, not private": partial(private, logistic, bins=16),
    "boosting, not private": partial(private, boosting),
    "logistic on the pool, had it labels": partial(public, logistic),
    "boosting on the pool, had it labels": partial(public, boosting),
}


def missing() -> dict[str, str]:
    """Names of methods that can't run here, and the package that each lacks."""
    absent = {
        start: package
        for start, package in NEEDS.items()
        if importlib.util.find_spec(package) is None
    }
    absent |= diffprivlib_models.missing()
    return {
        name: package
        for name in METHODS
        for start, package in absent.items()
        if name.startswith(start)
    }
