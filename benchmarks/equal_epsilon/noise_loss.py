"""What noise leaves of a model, by the ratio of signal to noise that `price_fit` reports.

    python benchmarks/equal_epsilon/noise_loss.py [--sizes 650 2000 10000] [--epsilons .1 .5 2]
        [--seeds 3] [--quick]

400 public rows, delta 1e-5, one row replaced; the classes of `sets`, and the numbers of
`regression`. Share kept: (AUC - .5) and R^2 as shares of those of the same model without noise
(logistic regression on as many bins; for numbers epsilon 1,000), from the same private rows, on
test rows. Accuracy lost: the difference of accuracies. Means over seeds. Fits that are refused are
left out. Last comes the range over all sets in each interval of the ratio.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import fits
import numpy as np
import regression
import sets
from encoding import binned
from fits import DELTA, quality
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score

from secretballot import (
    BudgetExceededError,
    PrivacyAccountant,
    PrivateLinearRegression,
    PublicData,
)
from secretballot.costs._cost import gaussian_budget

POOL = 400
INTERVALS = (6, 30, 100, 400, np.inf)


def signal(n_rows: int, n_columns: int, epsilon: float) -> float:
    """Return the ratio of the rows' mean to the noise, if one round took the whole budget."""
    sigma = 2 / np.sqrt(gaussian_budget(epsilon, DELTA, DELTA / 100))
    return float(2 * n_rows / (sigma * np.sqrt(n_columns)))


def classes(name: str, size: int, epsilons: list[float], seed: int) -> list[tuple[float, ...]]:
    """Return the share of AUC that is kept and the accuracy that is lost, for each epsilon."""
    rows = sets.split(name, POOL, seed)
    X, y = rows.X_private[:size], rows.y_private[:size]
    kept = []
    for epsilon in epsilons:
        try:
            model = fits.logistic(X, y, rows.X_pool, epsilon, seed)
        except BudgetExceededError:
            kept.append((np.nan, np.nan))
            continue
        encode = binned(rows.X_pool, model.n_bins_)
        noiseless = LogisticRegression(max_iter=500).fit(encode(X), y)
        accuracy, auc = quality(rows, model.predict_proba(rows.X_test)[:, 1])
        accuracy0, auc0 = quality(rows, noiseless.predict_proba(encode(rows.X_test))[:, 1])
        kept.append(((auc - 0.5) / (auc0 - 0.5), accuracy0 - accuracy))
    return kept


def numbers(name: str, size: int, epsilons: list[float], seed: int) -> list[tuple[float, ...]]:
    """Return the share of R^2 that is kept, for each epsilon."""
    rows, bounds = regression.split(name, POOL, seed)
    X, y = rows.X_private[:size], rows.y_private[:size]
    scores = []
    for epsilon in [*epsilons, 1_000.0]:
        model = PrivateLinearRegression(
            target_bounds=bounds, accountant=PrivacyAccountant(epsilon, DELTA), random_state=seed
        )
        try:
            model.fit(X, y, X_public=PublicData(rows.X_pool, may_be_private=True))
        except BudgetExceededError:
            scores.append(np.nan)
            continue
        scores.append(r2_score(rows.y_test, model.predict(rows.X_test)))
    return [(score / scores[-1], np.nan) for score in scores[:-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[650, 2_000, 10_000])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 2.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="Adult, 2,000 rows, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sizes=[2_000], seeds=1, epsilons=[2.0])
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    tasks = [("classes", name) for name in sets.available()]
    tasks += [("numbers", name) for name in regression.available() if name != "balance"]
    if given.quick:
        tasks = [("classes", "adult"), ("numbers", "adult")]
    results = []
    print(f"{'':<18}{'rows':>8}{'epsilon':>9}{'signal':>8}{'kept':>8}{'accuracy lost':>15}")
    for (kind, name), size in itertools.product(tasks, given.sizes):
        run = classes if kind == "classes" else numbers
        runs = [run(name, size, given.epsilons, seed) for seed in range(given.seeds)]
        table = (
            sets.split(name, POOL, 0) if kind == "classes" else regression.split(name, POOL, 0)[0]
        )
        for epsilon, (kept, lost) in zip(given.epsilons, np.mean(runs, axis=0), strict=True):
            ratio = signal(min(size, len(table.y_private)), table.X_private.shape[1], epsilon)
            results.append((kind, ratio, kept, lost))
            print(
                f"{kind} {name:<10}{size:>8,}{epsilon:>9g}{ratio:>8.1f}{kept:>8.2f}{lost:>15.3f}",
                flush=True,
            )
    for kind in ("classes", "numbers"):
        for low, high in itertools.pairwise(INTERVALS):
            inside = np.array(
                [each[2:] for each in results if each[0] == kind and low <= each[1] < high]
            ).reshape(-1, 2)
            inside = inside[~np.isnan(inside[:, 0])]
            if len(inside):
                print(
                    f"{kind}, {low:g} to {high:g}: {len(inside)} fits, kept "
                    f"{inside[:, 0].min():.2f} to {inside[:, 0].max():.2f}, accuracy lost "
                    f"{inside[:, 1].min():.3f} to {inside[:, 1].max():.3f}"
                )


if __name__ == "__main__":
    main()
