"""Seconds and memory of a fit of `PrivateLogisticRegression`, beside logistic regression without
privacy on the same bins, in the same run.

    python benchmarks/equal_epsilon/speed.py [--rows 36000 1000000] [--columns 14 20]
        [--quick]
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData

N_PUBLIC = 2000


def table(n_rows: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and classes that hang on a few columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    odds = X[:, 0] - X[:, 1] ** 2 + np.sin(2 * X[:, 2])
    return X, (rng.logistic(size=n_rows) < odds).astype(int)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[36_000, 1_000_000])
    parser.add_argument("--columns", nargs="+", type=int, default=[14, 20])
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(rows=[20_000], columns=[14])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    budget = PrivacyAccountant(1.0, 1e-5)
    pool, _ = table(N_PUBLIC, 5, 1)
    warm = PrivateLogisticRegression(classes=[0, 1], accountant=budget, epsilon=0.1)
    warm.fit(*table(3000, 5, 0), X_public=PublicData(pool))  # what is imported lazily, is
    for n_rows, n_columns in zip(given.rows, given.columns, strict=True):
        X, y = table(n_rows, n_columns, 2)
        pool, _ = table(N_PUBLIC, n_columns, 3)
        test, answers = table(10_000, n_columns, 4)
        model = PrivateLogisticRegression(
            classes=[0, 1], accountant=PrivacyAccountant(1.0, 1e-5), random_state=0
        )
        start = time.perf_counter()
        model.fit(X, y, X_public=PublicData(pool))
        ours = time.perf_counter() - start
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        plain = make_pipeline(KBinsDiscretizer(model.n_bins_), LogisticRegression(max_iter=50))
        start = time.perf_counter()
        plain.fit(X, y)
        theirs = time.perf_counter() - start
        print(
            f"{n_rows:,} x {n_columns}: {ours:.2f} s, {most:.2f} GB at most so far, accuracy "
            f"{model.score(test, answers):.3f} ({model.n_bins_} bins, {model.n_rounds_} rounds); "
            f"without privacy {theirs:.2f} s, {plain.score(test, answers):.3f}; "
            f"ratio {ours / theirs:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
