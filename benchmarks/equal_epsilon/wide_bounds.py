"""Declared bounds that are too wide: bins of equal width beside bins at private quantiles.

    python benchmarks/equal_epsilon/wide_bounds.py [--sets adult credit bank] [--epsilons .1 1 4]
        [--seeds 2] [--quick]

Without public rows; delta 1e-5, one row replaced. Accuracy and area under the curve, means of the
seeds, with the bounds of `sets.py`, and with ranges ten times as wide.
"""

from __future__ import annotations

import argparse
import warnings
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
from sets import Split, split
from sklearn.metrics import accuracy_score, roc_auc_score

from secretballot import PrivacyAccountant, PrivateLogisticRegression
from secretballot.linear._released_bins import BinPlacement

DELTA, POOL = 1e-5, 400


def scores(rows: Split, wide: float, epsilon: float, seed: int) -> tuple[float, float]:
    """Return accuracy and area under the curve of one fit."""
    bounds = {
        # A part of the growth is below 0 where the numbers have both signs.
        name: (low - (high - low) * (wide - 1) * 0.3 * (low < 0), low + (high - low) * wide)
        for name, (low, high) in rows.X_private.attrs["bounds"].items()
    }
    categories = {
        name: list(column.cat.categories)
        for name, column in rows.X_private.items()
        if name not in bounds
    }
    model = PrivateLogisticRegression(
        bounds=bounds,
        categories=categories,
        classes=[0, 1],
        accountant=PrivacyAccountant(epsilon, DELTA),
        random_state=seed,
    ).fit(rows.X_private, rows.y_private)
    decision = model.decision_function(rows.X_test)
    return accuracy_score(rows.y_test, decision > 0), roc_auc_score(rows.y_test, decision)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["adult", "credit", "bank"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="Adult, epsilon 1, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], epsilons=[1.0], seeds=1)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Noise drawn with random_state")
    for name in arguments.sets:
        for wide in (1, 10):
            for epsilon in arguments.epsilons:
                cells = []
                for bins in ("equal widths", "private quantiles"):
                    equal = patch.object(BinPlacement, "of", lambda *_, **options: None)
                    with equal if bins == "equal widths" else nullcontext():
                        results = [
                            scores(split(name, POOL, seed), wide, epsilon, seed)
                            for seed in range(arguments.seeds)
                        ]
                    accuracy, area = np.mean(results, axis=0)
                    cells.append(f"{bins} {accuracy:.4f} / {area:.4f}")
                print(f"{name:7s}bounds x {wide:2d}, epsilon {epsilon:3}: {', '.join(cells)}")


if __name__ == "__main__":
    main()
