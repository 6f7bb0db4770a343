"""How good with how many people? `PrivateLogisticRegression` on fewer and fewer private rows.

    python benchmarks/equal_epsilon/sizes.py [--sets adult bank credit] [--epsilons .5 1 2]
        [--sizes 1000 3000 10000 30000] [--seeds 5] [--quick]

400 public rows, the test rows of `sets`, delta 1e-5, one row replaced; the first rows of a split's
private ones are kept. Accuracy / AUC, means over seeds and the largest standard error of each line.
Without noise: logistic regression on as many bins of the public rows, from the same private rows.
"""

from __future__ import annotations

import argparse
import warnings

import fits
import numpy as np
from encoding import binned
from fits import quality
from sets import Split, available, split
from sklearn.linear_model import LogisticRegression

POOL = 400


def run(rows: Split, size: int, epsilons: list[float], seed: int) -> list[tuple[float, float]]:
    """Return the quality of one model for each epsilon, and of one without noise."""
    X, y = rows.X_private[:size], rows.y_private[:size]
    fitted = [fits.logistic(X, y, rows.X_pool, epsilon, seed) for epsilon in epsilons]
    found = [quality(rows, model.predict_proba(rows.X_test)[:, 1]) for model in fitted]
    encode = binned(rows.X_pool, fitted[-1].n_bins_)
    noiseless = LogisticRegression(max_iter=500).fit(encode(X), y)
    return [*found, quality(rows, noiseless.predict_proba(encode(rows.X_test))[:, 1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 2.0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 3_000, 10_000, 30_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="Adult, 3,000 rows, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], sizes=[3_000], seeds=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    heads = "".join(f"epsilon {epsilon:<8g}" for epsilon in given.epsilons)
    for name in given.sets:
        splits = [split(name, POOL, seed) for seed in range(given.seeds)]
        larger = np.mean([max(rows.y_test.mean(), 1 - rows.y_test.mean()) for rows in splits])
        print(f"\n{name}: larger class {larger:.3f}\n{'rows':<8}{heads}{'without noise':<16}+-")
        for size in given.sizes:
            rows = min(size, min(len(each.y_private) for each in splits))
            runs = [run(each, rows, given.epsilons, seed) for seed, each in enumerate(splits)]
            values = np.array(runs)
            cells = "".join(f"{a:.3f} / {b:.3f}   " for a, b in values.mean(axis=0))
            error = values.std(axis=0).max() / np.sqrt(max(given.seeds - 1, 1))
            print(f"{rows:<8,}{cells}{error:.4f}", flush=True)


if __name__ == "__main__":
    main()
