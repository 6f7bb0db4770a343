"""Does more budget, or do more public rows, ever make a model worse?

    python benchmarks/equal_epsilon/falls.py [--sets adult bank credit celeba]
        [--epsilons .1 .5 1 2 4 8 16] [--pools 0 25 50 100 200 400 2000 7000] [--seeds 10]
        [--out FILE] [--table] [--quick]

Private rows are the same for all pools, which are the first of 7,000 reserved rows. Below 100
public rows, bounds and categories are declared too. Runs that are already in the file are skipped;
``--table`` runs nothing. Then it prints accuracy and AUC, their means over the seeds.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from fits import logistic, quality, schema
from results import DEFAULT, Key, append, read
from sets import Split, split

SETS = ("adult", "bank", "credit", "celeba")
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
POOLS = (0, 25, 50, 100, 200, 400, 2_000, 7_000)
RESERVED, DECLARED_BELOW = 7_000, 100
METHOD = "falls"

Cell = tuple[str, float, int]
Scores = dict[Cell, dict[int, dict[str, float]]]


def measure(rows: Split, epsilon: float, pool: int, seed: int) -> dict[str, float]:
    """Fit one model, and return its accuracy and AUC on the test rows."""
    declared = schema(rows.X_private) if pool < DECLARED_BELOW else {}
    seen = (rows.X_private, rows.y_private, rows.X_pool.iloc[:pool] if pool else None)
    start = time.perf_counter()
    model = logistic(*seen, epsilon, seed, check_public_rows=False, **declared)
    seconds = time.perf_counter() - start
    accuracy, auc = quality(rows, model.predict_proba(rows.X_test)[:, 1])
    return {"accuracy": accuracy, "auc": auc, "seconds": round(seconds, 2)}


def scores(path: Path) -> Scores:
    """Return the runs of a file by cell and seed."""
    cells: Scores = defaultdict(dict)
    for key, run in read(path):
        if key.method == METHOD and key.epsilon is not None:
            cells[key.set, key.epsilon, key.pool][key.seed] = run
    return cells


def show(cells: Scores) -> None:
    """Print the means of all cells."""
    for name in dict.fromkeys(cell[0] for cell in cells):
        epsilons = sorted({cell[1] for cell in cells if cell[0] == name})
        print(f"| {name}, public rows |", " | ".join(f"{epsilon:g}" for epsilon in epsilons), "|")
        print("| --- |", " | ".join("---" for _ in epsilons), "|")
        for pool in sorted({cell[2] for cell in cells if cell[0] == name}):
            texts = []
            for epsilon in epsilons:
                runs = list(cells.get((name, epsilon, pool), {}).values())
                means = [np.mean([run[metric] for run in runs]) for metric in ("accuracy", "auc")]
                texts.append("{:.4f} / {:.4f}".format(*means) if runs else "")
            print(f"| {pool} |", " | ".join(texts), "|")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--pools", nargs="+", type=int, default=POOLS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=DEFAULT.with_name("falls.jsonl"))
    parser.add_argument("--table", action="store_true", help="only the table of what was run")
    parser.add_argument("--quick", action="store_true", help="Adult, few cells, two seeds")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], epsilons=[1.0, 4.0], pools=[0, 50, 400], seeds=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    done = {key for key, _ in read(given.out)}
    for seed, name in itertools.product([] if given.table else range(given.seeds), given.sets):
        keys = [
            Key(METHOD, name, epsilon, pool, seed)
            for pool in given.pools
            for epsilon in given.epsilons
        ]
        missing = [key for key in keys if key not in done]
        rows = split(name, RESERVED, seed) if missing else None
        for key in missing:
            assert rows is not None
            assert key.epsilon is not None
            append(given.out, key, measure(rows, key.epsilon, key.pool, seed))
    show(scores(given.out))


if __name__ == "__main__":
    main()
