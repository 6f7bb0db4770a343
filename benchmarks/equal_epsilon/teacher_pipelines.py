"""Pipelines of teachers: an encoder fitted on public rows, and skrub's, fitted by each teacher.

    python benchmarks/equal_epsilon/teacher_pipelines.py [--epsilon 1] [--seeds 3] [--quick]

Adult, 400 public rows, the recommended number of logistic teachers, a student with the same
pipeline. Nothing is declared beyond the data types of the columns.
"""

from __future__ import annotations

import argparse
import time
import warnings
from importlib.util import find_spec

import numpy as np
from sets import Split, split
from sklearn.linear_model import LogisticRegression

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble, PublicData
from secretballot.ensemble import make_table_pipeline

DELTA, N_PUBLIC = 1e-5, 400


def pipelines(pool: PublicData):
    """Return unfitted pipelines by name."""
    import skrub

    model = LogisticRegression(max_iter=1_000)
    return {
        "make_table_pipeline": make_table_pipeline(model, pool),
        "tabular_pipeline": skrub.tabular_pipeline(model),
    }


def run(rows: Split, epsilon: float, n_teachers: int | None) -> dict[str, tuple[float, float]]:
    """Return test accuracy and seconds of each pipeline on one split."""
    pool, found = PublicData(rows.X_pool), {}
    for name, pipeline in pipelines(pool).items():
        start = time.perf_counter()
        ensemble = PrivateTeacherEnsemble(
            pipeline,
            n_teachers,
            student=pipeline,
            classes=[0, 1],
            accountant=PrivacyAccountant(epsilon, DELTA),
        ).fit(rows.X_private, rows.y_private, X_public=pool)
        seconds = time.perf_counter() - start
        found[name] = float(ensemble.score(rows.X_test, rows.y_test)), seconds
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--teachers", type=int, help="default: the recommended number")
    parser.add_argument("--quick", action="store_true", help="one seed, 60 teachers")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(seeds=1, teachers=60)
    given = parser.parse_args()
    if find_spec("skrub") is None:
        print("skrub is not installed: python -m pip install '.[skrub]'")
        return
    warnings.simplefilter("ignore")
    runs = [
        run(split("adult", N_PUBLIC, seed), given.epsilon, given.teachers)
        for seed in range(given.seeds)
    ]
    print(f"Adult, epsilon {given.epsilon:g}: mean test accuracy and seconds of {given.seeds} fits")
    for name in runs[0]:
        accuracy, seconds = np.mean([each[name] for each in runs], axis=0)
        print(f"{name:<22}{accuracy:>7.4f}{seconds:>8.1f} s")


if __name__ == "__main__":
    main()
