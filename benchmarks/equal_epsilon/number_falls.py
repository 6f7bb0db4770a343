"""Does more budget, or do more public rows, ever make a regression worse?

    python benchmarks/equal_epsilon/number_falls.py [--sets diamonds credit adult balance]
        [--epsilons .1 .5 1 4] [--pools 25 100 400 2000 7000] [--private 20000] [--seeds 5]
        [--out FILE] [--table] [--quick]

Private rows are the same for all pools, which are the first of 7,000 reserved rows; bounds of the
columns are declared below 100 public rows. The sets are those of regression.py. Runs that are
already in the file are skipped; ``--table`` runs nothing. Then it prints R^2 on test rows, and
lists the falls as falls.py does.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from pathlib import Path

import numpy as np
from falls import DECLARED_BELOW, METHOD, RESERVED, falls, scores
from regression import DELTA, available, split
from results import DEFAULT, Key, append, read
from sets import Split

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData

EPSILONS, POOLS = (0.1, 0.5, 1.0, 4.0), (25, 100, 400, 2_000, 7_000)


def r2(
    rows: Split, bounds: tuple[float, float], n_private: int, epsilon: float, pool: int, seed: int
) -> float:
    """Fit one model, and return its R^2 on the test rows."""
    declared = {}
    if pool < DECLARED_BELOW:
        ranges = rows.X_private.attrs["bounds"]
        categories = {
            name: list(column.cat.categories)
            for name, column in rows.X_private.items()
            if name not in ranges
        }
        declared = {"bounds": ranges, "categories": categories}
    model = PrivateLinearRegression(
        target_bounds=bounds,
        check_public_rows=False,
        accountant=PrivacyAccountant(epsilon, DELTA),
        random_state=seed,
        **declared,
    ).fit(
        rows.X_private.iloc[:n_private],
        rows.y_private[:n_private],
        X_public=PublicData(rows.X_pool.iloc[:pool], may_be_private=True),
    )
    return float(model.score(rows.X_test, rows.y_test))


def show(path: Path) -> None:
    """Print the means of all cells, and the falls."""
    cells = scores(path)
    for name in dict.fromkeys(cell[0] for cell in cells):
        epsilons = sorted({cell[1] for cell in cells if cell[0] == name})
        print(f"| {name}, public rows |", " | ".join(f"{epsilon:g}" for epsilon in epsilons), "|")
        print("| --- |", " | ".join("---" for _ in epsilons), "|")
        for pool in sorted({cell[2] for cell in cells if cell[0] == name}):
            means = [
                np.mean([run["r2"] for run in cells[name, epsilon, pool].values()])
                for epsilon in epsilons
            ]
            print(f"| {pool} |", " | ".join(f"{mean:.3f}" for mean in means), "|")
    print(*falls(cells, "r2"), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--pools", nargs="+", type=int, default=POOLS)
    parser.add_argument("--private", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=DEFAULT.with_name("number_falls.jsonl"))
    parser.add_argument("--table", action="store_true", help="only the table of what was run")
    parser.add_argument("--quick", action="store_true", help="ages in Adult, two cells, two seeds")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], epsilons=[1.0], pools=[100, 400], seeds=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded
    done = {key for key, _ in read(given.out)}
    for seed, name in itertools.product([] if given.table else range(given.seeds), given.sets):
        rows, bounds = split(name, RESERVED, seed)
        for pool, epsilon in itertools.product(given.pools, given.epsilons):
            key = Key(METHOD, name, epsilon, pool, seed)
            if key not in done:
                reached = r2(rows, bounds, given.private, epsilon, pool, seed)
                append(given.out, key, {"r2": reached})
    show(given.out)


if __name__ == "__main__":
    main()
