"""Students, numbers of teachers, balanced classes: logistic teachers' votes.

    python benchmarks/equal_epsilon/students.py [--sets adult bank credit] [--seeds 5] [--quick]
                                                [--votes DIR]

Accuracy on a fifth of the rows, means over splits of a set and draws of the noise; delta 1e-5, one
row replaced. Students are fitted on 400 or 2,000 public rows, standardised. Teachers are trained
once: their votes are kept in ``--votes``. Bank and credit are read from ``../shared/data``.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from results import OUTPUT
from sets import SHARED
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import GNMax, PrivacyAccountant, load_adult
from secretballot.ensemble.advice import recommended_n_teachers

POOL, POOLS, EPSILONS, DRAWS = 2_000, (400, 2_000), (0.25, 0.5, 1.0, 2.0), 3
SHOWN, STRENGTHS = 500, (1, 0.1)
GRID = (50, 100, 250, 500, 1_000, 2_000)


def read(name):
    """Rows as numbers: categories as indicators, of which a teacher scales its own."""
    if name == "adult":
        return load_adult(complete_only=True, one_hot=True, return_X_y=True)
    file, target, left_out, categories = {
        "bank": ("bank_full.csv.gz", "y", (), None),
        "credit": (
            "credit_default.csv.gz",
            "default payment next month",
            ("ID",),
            ("SEX", "EDUCATION", "MARRIAGE"),
        ),
    }[name]
    with gzip.open(SHARED / file, "rt", encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    y = np.array([value in ("yes", "1") for value in columns.pop(target)]).astype(int)
    made = []
    for column, values in columns.items():
        if column in left_out:
            continue
        text = not all(value.lstrip("-").isdigit() for value in values)
        if text if categories is None else column in categories:
            made += [np.array(values) == value for value in sorted(set(values))]
        else:
            made.append(np.array(values, dtype=float))
    return np.column_stack(made).astype(float), y


@cache
def data(name, seed):
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(y))
    test, pool, private = np.split(order, [len(y) // 5, len(y) // 5 + POOL])
    return X, y, test, pool, private


def ballots(X, y, pool, weight):
    if len(np.unique(y)) < 2:
        return np.full(len(pool), y[0])
    teacher = LogisticRegression(class_weight=weight, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(StandardScaler(), teacher).fit(X, y).predict(pool)


def votes(folder, name, seed, n_teachers, weight):
    """Votes for the second class on the pool, from the disk if they were counted before."""
    path = folder / f"{name}_{seed}_{n_teachers}_{weight}.npy"
    if not path.exists():
        X, y, _, pool, private = data(name, seed)
        shuffled = np.random.default_rng(99 + seed).permutation(private)
        cast = Parallel(n_jobs=1, return_as="generator_unordered")(
            delayed(ballots)(X[shard], y[shard], X[pool], weight)
            for shard in np.array_split(shuffled, n_teachers)
        )
        np.save(path, sum(cast))
    return np.load(path)


@cache
def noise(epsilon, n_rows):
    return PrivacyAccountant(epsilon, 1e-5).calibrate(GNMax, n_rows, n_columns=2).sigma


def accuracies(folder, name, seeds, n_teachers, weight, n_rows, epsilon, strengths=(1,)):
    """Accuracy of the student with each C, shape (n_seeds * DRAWS, n_students)."""
    sigma, found = noise(epsilon, n_rows), []
    for seed in range(seeds):
        X, y, test, pool, _ = data(name, seed)
        counts = votes(folder, name, seed, n_teachers, weight)[:n_rows]
        scale = StandardScaler().fit(X[pool[:n_rows]])
        learned, judged = scale.transform(X[pool[:n_rows]]), scale.transform(X[test])
        for draw in range(DRAWS):
            rng = np.random.default_rng(1_000 * seed + draw)
            gap = 2 * counts - n_teachers + rng.normal(scale=np.sqrt(2) * sigma, size=n_rows)
            labels = (gap > 0).astype(int)
            if len(np.unique(labels)) < 2:
                found.append([np.mean(y[test] == labels[0])] * len(strengths))
                continue
            made = [LogisticRegression(C=C, max_iter=1_000).fit(learned, labels) for C in strengths]
            found.append([student.score(judged, y[test]) for student in made])
    return np.array(found)


def shown(values):
    return f"{values.mean():.4f} +- {values.std() / np.sqrt(len(values)):.4f}"


def compare_students(folder, seeds):
    names = [f"C={C:g}" for C in STRENGTHS]
    print(f"\nadult, {SHOWN} teachers\nrows   epsilon  " + "".join(f"{s:<18}" for s in names))
    for n_rows in POOLS:
        for epsilon in EPSILONS:
            found = accuracies(folder, "adult", seeds, SHOWN, None, n_rows, epsilon, STRENGTHS)
            print(f"{n_rows:<7}{epsilon:<9g}" + "".join(f"{shown(each):<18}" for each in found.T))


def compare_numbers(folder, name, seeds, weight, grid):
    print(f"\n{name}, class_weight={weight}\nrows   teachers", end="")
    print("".join(f"  epsilon {epsilon:<8g}" for epsilon in EPSILONS))
    n_private = len(data(name, 0)[4])
    for n_rows in POOLS:
        usual = {
            epsilon: recommended_n_teachers(n_private, n_rows, noise(epsilon, n_rows), 2)
            for epsilon in EPSILONS
        }
        for n_teachers in grid:
            cells = [
                accuracies(folder, name, seeds, n_teachers, weight, n_rows, epsilon)
                for epsilon in EPSILONS
            ]
            print(f"{n_rows:<7}{n_teachers:<8}" + "".join(f"  {shown(each)}" for each in cells))
        cells = []
        for epsilon, n_teachers in usual.items():
            asked = [n_teachers, weight, n_rows, epsilon]
            cells.append(f"  {shown(accuracies(folder, name, seeds, *asked))}")
        print(f"{n_rows:<7}{'usual':<8}" + "".join(cells), list(usual.values()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["adult", "bank", "credit"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--votes", type=Path, default=OUTPUT / "votes")
    parser.add_argument("--quick", action="store_true", help="Adult alone, fewer teachers")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], seeds=1)
    arguments = parser.parse_args()
    arguments.votes.mkdir(parents=True, exist_ok=True)
    sets, grid, seeds = arguments.sets, GRID, arguments.seeds
    if arguments.quick:
        grid = (500,)
    compare_students(arguments.votes, seeds)
    for weight in (None, "balanced"):
        for name in sets:
            compare_numbers(arguments.votes, name, seeds, weight, grid)


if __name__ == "__main__":
    main()
