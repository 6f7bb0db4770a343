"""Regression of numbers: ours beside noisy moments and noisy gradient descent, at equal epsilon.

    python benchmarks/equal_epsilon/regression.py [--sets diamonds credit adult balance]
        [--epsilons .1 .5 1 2 4] [--public 400] [--seeds 5] [--rivals] [--quick]

diamonds  prices (0 to 20,000) of 53,940 stones; needs the package plotnine, which has the table
credit    credit limits (0 to 1,000,000) of 30,000 people
adult     ages (17 to 90) of 45,222 people
balance   balances (-2,000 to 20,000) of 45,211 people

R^2 on the test rows, whose targets are clipped to the declared bounds too; the share of them within
intervals of 90 %; the mean of predictions less that of targets, in their standard deviations; and
the differences that pairs of columns make. Two rivals have the best of
their grids *on the test rows*, and rows of length 1 at most, in 16 or 8 bins or scaled:

moments  sums of x x' and x y with noise for their joint diameter, sqrt(4.5), and ridge penalties
         `PENALTIES` times the noise (AdaSSP chooses one: Wang, UAI 2018)
descent  all rows in each of `STEPS`, residuals clipped to `CLIPS`, rates `RATES`; charged exactly;
         averaged over the later half
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import sets
from encoding import encoder
from numpy.typing import NDArray
from sets import Split
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData
from secretballot.divergences import gaussian_budget

DELTA, MOMENTUM = 1e-5, 0.8
COLUMNS, PENALTIES = ("bins", "few bins", "scaled"), (0.3, 1.0, 3.0, 10.0)
STEPS, RATES, CLIPS = (20, 60), (3.0, 10.0, 30.0), (0.1, 0.3, 1.0)
TARGETS = {
    "credit": ("credit", "LIMIT_BAL", (0.0, 1e6)),
    "adult": ("adult", "age", (17.0, 90.0)),
    "balance": ("bank", "balance", (-2e3, 2e4)),
}

Floats = NDArray[np.float64]
Bounds = tuple[float, float]


@cache
def table(name: str) -> tuple[pd.DataFrame, Floats, Bounds]:
    """Return the columns and the target of a set, and the target's bounds."""
    if name == "diamonds":
        package = importlib.util.find_spec("plotnine")
        assert package is not None
        assert package.origin is not None
        X = pd.read_csv(Path(package.origin).parent / "data" / "diamonds.csv")
        y = X.pop("price").to_numpy(float)
        numbers = X.select_dtypes("number")
        X = X.astype(dict.fromkeys(X.columns.difference(numbers.columns), "category"))
        X.attrs["bounds"] = dict.fromkeys(numbers, (0.0, 100.0))
        return X, y, (0.0, 2e4)
    source, column, bounds = TARGETS[name]
    X, _ = sets.LOADERS[source]()
    declared = {key: pair for key, pair in X.attrs["bounds"].items() if key != column}
    y = X.pop(column).to_numpy(float)
    X.attrs["bounds"] = declared
    return X, y, bounds


def available() -> list[str]:
    """Return the names of the sets that are here."""
    own = [name for name, (source, *_) in TARGETS.items() if source in sets.available()]
    return ["diamonds", *own] if importlib.util.find_spec("plotnine") else own


def split(name: str, public: int, seed: int) -> tuple[Split, Bounds]:
    """Return the rows of one seed."""
    X, y, bounds = table(name)
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)
    parts = (
        (X.iloc[rows].reset_index(drop=True), y[rows].clip(*bounds))
        for rows in (rest[public:], rest[:public], test)
    )
    return Split(*(half for part in parts for half in part)), bounds


def ours(
    rows: Split, bounds: Bounds, epsilon: float, interactions: int | str, seed: int
) -> tuple[float, float, float]:
    """Return R^2, the bias, and the coverage of intervals of 90 %."""
    model = PrivateLinearRegression(
        target_bounds=bounds,
        interactions=interactions,
        accountant=PrivacyAccountant(epsilon, DELTA),
        check_public_rows=False,
        random_state=seed,
    ).fit(rows.X_private, rows.y_private, X_public=PublicData(rows.X_pool, may_be_private=True))
    score = float(model.score(rows.X_test, rows.y_test))
    errors = model.predict(rows.X_test) - rows.y_test
    bias = float(errors.mean() / rows.y_test.std())
    try:
        low, high = model.predict_interval(rows.X_test)
    except ValueError:
        return score, bias, float("nan")
    return score, bias, float(np.mean((low <= rows.y_test) & (rows.y_test <= high)))


def noisy_moments(X: Floats, y: Floats, epsilon: float, seed: int) -> list[Floats]:
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
        for penalty in PENALTIES
    ]


def descend(
    X: Floats, y: Floats, steps: int, rate: float, clip: float, epsilon: float, seed: int
) -> Floats:
    """Return the weights of noisy gradient descent; rows have a length of 1 at most."""
    deviation = 2 * clip * np.sqrt(steps / gaussian_budget(epsilon, DELTA, 0.0))
    rng = np.random.default_rng([seed, 2])
    weights, pace, total = (np.zeros(X.shape[1]) for _ in range(3))
    for step in range(steps):
        gradient = X.T @ np.clip(y - X @ weights, -clip, clip)
        gradient += deviation * rng.normal(size=len(weights))
        pace = MOMENTUM * pace + (1 - MOMENTUM) * rate * gradient / len(X)
        weights = weights + pace
        total += weights * (step >= steps // 2)
    return total / (steps - steps // 2)


def rivals(rows: Split, bounds: Bounds, epsilon: float, seed: int) -> tuple[float, float]:
    """Return the best R^2 of noisy moments and of noisy gradient descent on the test rows."""
    half, middle = (bounds[1] - bounds[0]) / 2, (bounds[0] + bounds[1]) / 2
    y = (rows.y_private - middle) / half
    scores: tuple[list[float], list[float]] = ([], [])
    for columns in COLUMNS:
        encode = encoder(columns, rows.X_pool)
        X, test = encode(rows.X_private), encode(rows.X_test)
        settings = itertools.product(STEPS, RATES, CLIPS)
        found = (
            noisy_moments(X, y, epsilon, seed),
            (descend(X, y, *setting, epsilon, seed) for setting in settings),
        )
        for best, each in zip(scores, found, strict=True):
            best += [r2_score(rows.y_test, middle + half * (test @ weights)) for weights in each]
    return max(scores[0]), max(scores[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--quick", action="store_true", help="adult, epsilon 1, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], epsilons=[1.0], seeds=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    print("| set, epsilon | columns | with pairs | gain | bias | coverage | moments | descent |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, epsilon in itertools.product(given.sets, given.epsilons):
        alone, paired, others = [], [], []
        for seed in range(given.seeds):
            rows, bounds = split(name, given.public, seed)
            alone.append(ours(rows, bounds, epsilon, 0, seed))
            paired.append(ours(rows, bounds, epsilon, "auto", seed))
            if given.rivals:
                others.append(rivals(rows, bounds, epsilon, seed))
        gain = np.array(paired)[:, 0] - np.array(alone)[:, 0]
        error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
        score, bias, coverage = np.nanmean(paired, axis=0)
        cells = [f"{np.mean(alone, axis=0)[0]:.4f}", f"{score:.4f}"]
        cells += [f"{gain.mean():+.4f} +- {error:.4f}"]
        cells += [f"{bias:+.3f}", f"{coverage:.3f}"]
        cells += [f"{each:.4f}" for each in np.mean(others, axis=0)] if others else ["", ""]
        print(f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
