"""Features of three classes and more: what "auto" chooses, beside each kind by name.

    python benchmarks/equal_epsilon/class_features.py [--sets digits late make3 make10 ...]
        [--features auto additive kernel linear] [--epsilons 1 4] [--seeds 5] [--public 400]
        [--quick]

The sets are in `class_sets.py`; of MNIST and digits the columns are principal components of the
public rows. Test accuracy; differences from single columns ("additive") on the same splits and
seeds, with their standard errors; in how many fits "auto" chose kernels; processor time.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
from class_sets import component_rows
from fits import gain, logistic


def fit(
    name: str, features: str, epsilon: float, public: int, seed: int
) -> tuple[float, bool, float]:
    """Return test accuracy, whether features are kernels, and processor time."""
    X, y, pool, X_test, answers = component_rows(name, public, seed)
    start = time.process_time()
    model = logistic(X, y, pool, epsilon, seed, features=features, check_public_rows=False)
    seconds = time.process_time() - start
    return float(model.score(X_test, answers)), model.features_ == "kernel", seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sets = ["digits", "make3:2000", "make10:2000", "make10", "late", "education", "workclass"]
    parser.add_argument("--sets", nargs="+", default=[*sets, "steps", "signs", "mnist"])
    kinds = ["auto", "additive", "kernel", "linear"]
    parser.add_argument("--features", nargs="+", default=kinds)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="digits, epsilon 1, two seeds")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["digits"], epsilons=[1.0], seeds=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    print("| set, epsilon | " + " | ".join(given.features) + " |")
    print("| --- " * (len(given.features) + 1) + "|")
    for name, epsilon in itertools.product(given.sets, given.epsilons):
        fits = {
            features: np.array(
                [fit(name, features, epsilon, given.public, seed) for seed in range(given.seeds)]
            )
            for features in given.features
        }
        cells = []
        for features, found in fits.items():
            right, chosen, seconds = found.mean(axis=0)
            cell = f"{right:.4f}"
            if "additive" in fits and features != "additive":
                gains = found[:, 0] - fits["additive"][:, 0]
                cell += f" ({gain(gains)})"
            if features == "auto":
                cell += f", kernels in {chosen * given.seeds:.0f}"
            cells.append(f"{cell}, {seconds:.1f} s")
        print(f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
