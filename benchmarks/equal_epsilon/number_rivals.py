"""Rivals that predict numbers, each with a grid of settings.

A rival is a function ``(rows, bounds, epsilon, seed, wanted)`` that yields the name of a setting
and what it predicts on the test rows. `bounds` are the target's; only the `wanted` settings are
computed, or all if it is None. Epsilon at delta is for one private row that is *replaced*. To add
one::

    RIVALS["name"] = function

Rows of the first two have a length of 1 at most, in bins of the public rows or scaled by them.

moments      sums of x x' and x y with noise for their joint diameter, sqrt(4.5), and ridge
             penalties `PENALTIES` times the noise (AdaSSP chooses one: Wang, UAI 2018)
descent      all rows in each step, residuals clipped; charged exactly; averaged over the later half
DP-EBM       additive models by boosting, package interpret-core (ebm.py says what is charged)
diffprivlib  linear regression on noisy products of columns (diffprivlib_models.py)
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Container, Iterator, Sequence

import diffprivlib_models
import ebm
import numpy as np
from encoding import encoder
from fits import DELTA
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sets import Split

from secretballot.costs._cost import gaussian_budget

MOMENTUM = 0.8
COLUMNS, PENALTIES = ("bins", "few bins", "scaled"), (0.3, 1.0, 3.0, 10.0)
#: Columns, and (steps, rate, clip). They were the best of 54 or 36 on the test rows of a seed, at
#: some epsilon on some set (20, 60 and 150 steps; rates 3, 10 and 30; clips .1, .3 and 1).
DESCENT = {
    "bins": [(60, 10.0, 0.1), (60, 10.0, 0.3), (60, 30.0, 0.3), (60, 30.0, 1.0), (150, 30.0, 0.3)],
    "few bins": [(60, 10.0, 0.1), (60, 10.0, 0.3), (60, 30.0, 0.3), (60, 30.0, 1.0)],
    "scaled": [(60, 10.0, 0.3), (60, 30.0, 0.3)],
}
#: The best of 27 on the test rows of diamonds, of a seed, and some of fewer rounds and bins.
EBM = [
    ebm.Setting(0.1, 3, max_bins=8),
    ebm.Setting(0.1, 10, max_bins=8),
    ebm.Setting(0.1, 10, max_bins=16),
    ebm.Setting(0.1, 30, max_bins=16),
    ebm.Setting(0.1, 30),
    ebm.Setting(0.1, 100, max_bins=16),
    ebm.Setting(0.1, 100),
    ebm.Setting(0.3, 100),
    ebm.Setting(0.03, 300),
]
DIFFPRIVLIB = ("scaled", "codes", "6 components", "3 components", "1 component")

Floats = NDArray[np.float64]
Bounds = tuple[float, float]
Predictions = Iterator[tuple[str, Floats]]
Names = Container[str] | None
Rival = Callable[[Split, Bounds, float, int, Names], Predictions]


def noisy_moments(
    X: Floats, y: Floats, penalties: Sequence[float], epsilon: float, seed: int
) -> list[Floats]:
    """Return the weights of each penalty; rows have a length of 1 at most, targets too."""
    deviation = float(np.sqrt(4.5 / gaussian_budget(epsilon, DELTA, 0.0)))
    rng = np.random.default_rng([seed, 1])
    noise = np.triu(rng.normal(size=(X.shape[1],) * 2))
    # Off the diagonal each product counts twice in the norm, and has half the variance.
    noise = (noise + np.triu(noise, 1).T) / np.where(np.eye(len(noise)) > 0, 1, np.sqrt(2))
    products = X.T @ X + deviation * noise
    sums = X.T @ y + deviation * rng.normal(size=X.shape[1])
    unit = deviation * np.sqrt(X.shape[1])
    return [
        np.linalg.solve(products + penalty * unit * np.eye(len(noise)), sums)
        for penalty in penalties
    ]


def descend(
    X: csr_array, y: Floats, steps: int, rate: float, clip: float, epsilon: float, seed: int
) -> Floats:
    """Return the weights of noisy gradient descent; rows have a length of 1 at most."""
    deviation = 2 * clip * np.sqrt(steps / gaussian_budget(epsilon, DELTA, 0.0))
    rng = np.random.default_rng([seed, 2])
    weights, pace, total = (np.zeros(X.shape[1]) for _ in range(3))
    for step in range(steps):
        gradient = X.T @ np.clip(y - X @ weights, -clip, clip)
        gradient += deviation * rng.normal(size=len(weights))
        pace = MOMENTUM * pace + (1 - MOMENTUM) * rate * gradient / len(y)
        weights = weights + pace
        total += weights * (step >= steps // 2)
    return total / (steps - steps // 2)


def _is_wanted(name: str, wanted: Names) -> bool:
    return wanted is None or name in wanted


def _linear(
    rows: Split,
    bounds: Bounds,
    settings: dict[str, list[str]],
    weights: Callable[[Floats, Floats, list[str]], Sequence[Floats]],
    wanted: Names,
) -> Predictions:
    """Yield what linear models predict, whose settings are given for each kind of columns."""
    half, middle = (bounds[1] - bounds[0]) / 2, (bounds[0] + bounds[1]) / 2
    for columns, names in settings.items():
        chosen = [name for name in names if _is_wanted(f"{columns}, {name}", wanted)]
        if not chosen:
            continue
        encode = encoder(columns, rows.X_pool)
        test = encode(rows.X_test)
        found = weights(encode(rows.X_private), (rows.y_private - middle) / half, chosen)
        for name, each in zip(chosen, found, strict=True):
            yield f"{columns}, {name}", middle + half * (test @ each)


def moments(rows: Split, bounds: Bounds, epsilon: float, seed: int, wanted: Names) -> Predictions:
    """Yield the predictions of noisy moments."""
    penalties = {f"penalty {penalty:g}": penalty for penalty in PENALTIES}

    def weights(X: Floats, y: Floats, names: list[str]) -> list[Floats]:
        return noisy_moments(X, y, [penalties[name] for name in names], epsilon, seed)

    return _linear(rows, bounds, {columns: [*penalties] for columns in COLUMNS}, weights, wanted)


def descent(rows: Split, bounds: Bounds, epsilon: float, seed: int, wanted: Names) -> Predictions:
    """Yield the predictions of noisy gradient descent."""
    paces = {
        f"{steps} steps, rate {rate:g}, clip {clip:g}": (steps, rate, clip)
        for steps, rate, clip in itertools.chain(*DESCENT.values())
    }
    names = {pace: name for name, pace in paces.items()}

    def weights(X: Floats, y: Floats, chosen: list[str]) -> list[Floats]:
        sparse = csr_array(X)
        return [descend(sparse, y, *paces[name], epsilon, seed) for name in chosen]

    settings = {columns: [names[pace] for pace in found] for columns, found in DESCENT.items()}
    return _linear(rows, bounds, settings, weights, wanted)


def boosting(rows: Split, bounds: Bounds, epsilon: float, seed: int, wanted: Names) -> Predictions:
    """Yield the predictions of DP-EBM."""
    for setting in EBM:
        if _is_wanted(str(setting), wanted):
            yield str(setting), ebm.dp_ebm_number(setting, rows, bounds, epsilon, seed)


def diffprivlib(
    rows: Split, bounds: Bounds, epsilon: float, seed: int, wanted: Names
) -> Predictions:
    """Yield the predictions of diffprivlib's linear regression."""
    for columns in DIFFPRIVLIB:
        if _is_wanted(columns, wanted):
            predicted = diffprivlib_models.diffprivlib_number(columns, rows, bounds, epsilon, seed)
            yield columns, predicted


RIVALS: dict[str, Rival] = {
    "descent": descent,
    "moments": moments,
    "DP-EBM": boosting,
    "diffprivlib": diffprivlib,
}


def missing() -> dict[str, str]:
    """Names of rivals that can't run here, and the package that each lacks."""
    absent = {} if importlib.util.find_spec("interpret") else {"DP-EBM": "interpret-core"}
    return absent | diffprivlib_models.missing()
