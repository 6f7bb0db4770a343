"""DP-EBM: additive models by differentially private boosting (package interpret-core).

Nori, Caruana, Bu, Shen, Kulkarni, "Accuracy, Interpretability, and Differential Privacy via
Explainable Boosting" (ICML 2021). Needs no public rows.

What its accounting proves, ``composition="gdp"``: epsilon_bins = epsilon times `bin_budget_frac`
for the histograms of all columns and the rest for boosting, delta halved, each an exact composition
of Gaussian mechanisms (mu^2 adds) whose sums move by at most 1: **one row added or removed**. If a
row is *replaced*, one histogram moves by sqrt 2 (a cell down, another up), and the sum of residuals
of a leaf by up to 2 (from nearly -1 to nearly 1, in the same leaf). So what is replaced costs
``2 mu_bins^2 + 4 mu_boosting^2``; we pass the epsilon for which this is the mu^2 of the true
epsilon at delta. It is composed as one, without the loss of halving delta: in its favour.

Also in its favour: categories that no private row has get no noise (its histograms are of the
categories seen), and the settings compared are judged on the test rows.

**Numbers.** The same rules in units of the target's range, with one more favour: the package does
not clip residuals, so its sums move by at most the range only while all scores stay within it.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from fits import DELTA
from numpy.typing import NDArray
from scipy.optimize import brentq
from sets import Split, numbers

from secretballot.costs._cost import gaussian_budget


class Setting(NamedTuple):
    """How it boosts; the package's own are rate .01, 300 rounds."""

    rate: float
    rounds: int
    max_bins: int = 32
    bins_share: float = 0.1
    max_leaves: int = 3

    def __str__(self) -> str:
        return f"rate {self.rate:g}, {self.rounds} rounds, {self.max_bins} bins"


@cache
def declared_epsilon(epsilon: float, bins_share: float) -> float:
    """Return the epsilon to declare, so that a replaced row has `epsilon`."""
    goal = gaussian_budget(epsilon, DELTA, 0.0)

    def excess(declared: float) -> float:
        bins, boosting = (
            gaussian_budget(declared * share, DELTA / 2, 0.0)
            for share in (bins_share, 1 - bins_share)
        )
        return 2 * bins + 4 * boosting - goal

    return float(brentq(excess, epsilon / 100, epsilon, xtol=1e-6 * epsilon))


def _parameters(setting: Setting, X: pd.DataFrame, epsilon: float, seed: int) -> dict[str, Any]:
    """Return the parameters that classifiers and regressors share."""
    bounds = X.attrs["bounds"]
    return {
        "feature_names": list(X),
        "feature_types": ["continuous" if name in bounds else "nominal" for name in X],
        "max_bins": setting.max_bins,
        "learning_rate": setting.rate,
        "max_rounds": setting.rounds,
        "max_leaves": setting.max_leaves,
        "epsilon": declared_epsilon(epsilon, setting.bins_share),
        "delta": DELTA,
        "bin_budget_frac": setting.bins_share,
        "privacy_bounds": {name: bounds[name] for name in numbers(X)},
        "n_jobs": 1,
        "random_state": seed,
    }


def dp_ebm(setting: Setting, rows: Split, epsilon: float, seed: int) -> NDArray[np.float64]:
    """Return the probability of class 1 on the test rows."""
    from interpret.privacy import DPExplainableBoostingClassifier

    parameters = _parameters(setting, rows.X_private, epsilon, seed)
    model = DPExplainableBoostingClassifier(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the seed: this is a test
        model.fit(rows.X_private, rows.y_private)
    return np.asarray(model.predict_proba(rows.X_test))[:, 1]


def dp_ebm_number(
    setting: Setting, rows: Split, target_bounds: tuple[float, float], epsilon: float, seed: int
) -> NDArray[np.float64]:
    """Return the predicted number of each test row."""
    from interpret.privacy import DPExplainableBoostingRegressor

    low, high = target_bounds
    parameters = _parameters(setting, rows.X_private, epsilon, seed)
    model = DPExplainableBoostingRegressor(
        privacy_target_min=0.0, privacy_target_max=high - low, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the seed: this is a test
        model.fit(rows.X_private, rows.y_private - low)  # scores begin at 0
    return np.asarray(model.predict(rows.X_test)) + low
