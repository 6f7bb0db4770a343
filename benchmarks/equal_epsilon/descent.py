"""Differentially private gradient descent on logistic regression.

A row's gradient, (p - y) x, is clipped to one length, and normal noise added to the sum of all;
DP-SGD does it on rows drawn for each step. One row is **replaced**: a sum moves by up to twice the
clip. Steps on all rows are charged exactly (mu = 2 clip / sd each, mu^2 adds); drawn rows as
dp-accounting's privacy loss distributions charge them under REPLACE_ONE.

Columns are either linear (numbers scaled by public bounds or on the public rows, categories one a
column) or bins fitted on the public rows: an additive model, which a user could descend on too.
Rows have length 1, so have their gradients at most: clips above 1 do nothing.

What a user would have to pay for or do without: settings are compared on the test rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from encoding import encoder
from fits import DELTA
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit
from sets import Labels, Split

from secretballot.costs._cost import gaussian_budget

MOMENTUM = 0.8


class Setting(NamedTuple):
    """Columns, and how it descends; rates are of rows of length 1."""

    columns: str
    steps: int
    rate: float
    clip: float = 1.0
    share: float = 1.0

    def __str__(self) -> str:
        rows = f" of {self.share:.0%}" if self.share < 1 else ""
        return f"{self.columns}, {self.steps} steps{rows}, rate {self.rate:g}, clip {self.clip:g}"


@cache
def noise(steps: int, share: float, epsilon: float) -> float:
    """Return the standard deviation of the noise on a sum of rows of length 1."""
    if share == 1:
        return float(2 * np.sqrt(steps / gaussian_budget(epsilon, DELTA, 0.0)))
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    def accountant() -> Any:
        return PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE, 1e-3)

    def event(sigma: float) -> Any:
        step = dp_accounting.PoissonSampledDpEvent(share, dp_accounting.GaussianDpEvent(sigma))
        return dp_accounting.SelfComposedDpEvent(step, steps)

    interval = dp_accounting.ExplicitBracketInterval(0.3, 300.0)
    found = dp_accounting.calibrate_dp_mechanism(
        accountant, event, epsilon, DELTA, interval, tol=1e-3
    )
    return float(found)


def descend(
    X: csr_array, y: Labels, setting: Setting, noise_sd: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the weights of columns: the mean over the later half of all steps."""
    n, d = X.shape
    weights, pace, kept = np.zeros(d), np.zeros(d), []
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    for step in range(setting.steps):
        if setting.share < 1:
            drawn = rng.random(n) < setting.share
            rows, classes, length = X[drawn], y[drawn], lengths[drawn]
        else:
            rows, classes, length = X, y, lengths
        wrong = expit(rows @ weights) - classes
        wrong /= np.maximum(np.abs(wrong) * length / setting.clip, 1)
        total = wrong @ rows + noise_sd * setting.clip * rng.normal(size=d)
        pace = MOMENTUM * pace - (1 - MOMENTUM) * setting.rate * total / (setting.share * n)
        weights = weights + pace
        if step >= setting.steps // 2:
            kept.append(weights)
    return np.mean(kept, axis=0)


def gradient_descent(
    setting: Setting, rows: Split, epsilon: float, seed: int
) -> NDArray[np.float64]:
    """Return the probability of class 1 on the test rows."""
    encode = encoder(setting.columns, rows.X_pool)
    noise_sd = noise(setting.steps, setting.share, epsilon)
    rng = np.random.default_rng([seed, 19])
    X = csr_array(encode(rows.X_private))
    weights = descend(X, rows.y_private, setting, noise_sd, rng)
    return expit(encode(rows.X_test) @ weights)
