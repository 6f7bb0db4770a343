"""Are the probabilities of `PrivateLogisticRegression` right? Beside gradient descent and no noise.

    python benchmarks/equal_epsilon/calibration.py [--sets adult bank credit] [--epsilons .1 1 4]
        [--pools 400 7000] [--seeds 3] [--quick]

On the test rows of `sets`, delta 1e-5, one row replaced, means over seeds:

ECE      expected calibration error: 15 bins of as many rows, by the probability of class 1; the
         mean distance between that and the share of class 1
Brier    mean squared distance of the probability from the class
log loss in nats
slope    what log odds should be multiplied by, fitted on the test rows: below 1 they are too sure
shift    mean probability less the share of class 1

Logistic regression without noise has bins of the public rows, as many as ours; gradient descent
(`descent.py`) 16 bins and 150 steps: one setting, one of those that run.py tries for accuracy.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import fits
import numpy as np
from descent import Setting, gradient_descent
from encoding import binned
from fits import calibration_error
from numpy.typing import NDArray
from scipy.special import logit
from sets import Labels, Split, available, split
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

DESCENT = Setting("bins", 150, 100, 0.3)
MEASURES = ("ECE", "Brier", "log loss", "slope", "shift")

Chances = NDArray[np.float64]


def measures(y: Labels, chances: Chances) -> list[float]:
    chances = np.clip(chances, 1e-6, 1 - 1e-6)
    again = LogisticRegression(C=np.inf, max_iter=500).fit(logit(chances)[:, None], y)
    return [
        calibration_error(chances, y),
        brier_score_loss(y, chances),
        log_loss(y, chances),
        float(again.coef_[0, 0]),
        float(chances.mean() - y.mean()),
    ]


def run(rows: Split, epsilon: float, seed: int) -> dict[str, list[float]]:
    """Return the measures of each model on one split."""
    ours = fits.logistic(rows.X_private, rows.y_private, rows.X_pool, epsilon, seed)
    encode = binned(rows.X_pool, ours.n_bins_)
    noiseless = LogisticRegression(max_iter=500).fit(encode(rows.X_private), rows.y_private)
    found = {
        "PrivateLogisticRegression": ours.predict_proba(rows.X_test)[:, 1],
        "gradient descent": gradient_descent(DESCENT, rows, epsilon, seed),
        "without noise": noiseless.predict_proba(encode(rows.X_test))[:, 1],
    }
    return {name: measures(rows.y_test, chances) for name, chances in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 4.0])
    parser.add_argument("--pools", nargs="+", type=int, default=[400, 7_000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="Adult, 400 rows, epsilon 1, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], pools=[400], epsilons=[1.0], seeds=1)
    given = parser.parse_args()
    settings, seeds = (given.sets, given.pools, given.epsilons), given.seeds
    warnings.simplefilter("ignore")  # noise is seeded
    for name, pool, epsilon in product(*settings):
        runs = [run(split(name, pool, seed), epsilon, seed) for seed in range(seeds)]
        print(f"\n{name}, {pool} public rows, epsilon {epsilon:g}, {seeds} seeds")
        print(f"{'':<27}" + "".join(f"{measure:<18}" for measure in MEASURES))
        for model in runs[0]:
            values = np.array([each[model] for each in runs])
            errors = values.std(axis=0) / np.sqrt(max(seeds - 1, 1))
            pairs = zip(values.mean(axis=0), errors, strict=True)
            print(f"{model:<27}" + "".join(f"{m:.4f} +- {e:.4f}  " for m, e in pairs), flush=True)


if __name__ == "__main__":
    main()
