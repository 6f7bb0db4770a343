"""The most accurate model at equal epsilon: ours beside rivals, on three tables.

    python benchmarks/equal_epsilon/run.py [--methods NAME ...] [--sets adult bank credit] [--best]
        [--epsilons .1 .5 1 2 4] [--pools 400 2000 7000] [--seeds 10] [--out FILE] [--quick]

Epsilon at delta 1e-5, for one private row that is replaced; where a package accounts for one row
added or removed, we account anew (ebm.py, diffprivlib_models.py). Runs that are already in the file
are skipped. ``--methods`` takes the starts of names; ``--list`` shows them. table.py makes the
table and the picture. Rivals' packages: interpret-core, diffprivlib (which may live in an
environment of its own, see diffprivlib_models.py), dp-accounting.

All settings of all rivals take a day. Run them on a few seeds, and then ``--best`` on all: of the
settings of a method it takes those that are the best so far, by accuracy or by AUC, at an epsilon
on a set with a pool.

A rival that needs no public rows has them neither as private ones: pools only make its private
rows fewer.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from methods import METHODS, REFERENCES, missing
from numpy.typing import NDArray
from results import DEFAULT, Key, append, read
from sets import POOLS, Labels, Split, available, split
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from table import Cell, cells

DELTA = 1e-5
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)


def scores(y: Labels, probability: NDArray[np.float64]) -> dict[str, float]:
    """Return accuracy, balanced accuracy and area under the curve."""
    predicted = probability > 0.5
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        "balanced_accuracy": float(balanced_accuracy_score(y, predicted)),
        "auc": float(roc_auc_score(y, probability)),
    }


def run(key: Key, rows: Split) -> dict[str, float]:
    """Return the scores of one run on the test rows, and its seconds."""
    start = time.perf_counter()
    if key.epsilon is None:
        found = REFERENCES[key.method](*rows[:5])
    else:
        seen = (rows.X_private, rows.y_private, rows.X_pool, rows.X_test)
        found = METHODS[key.method](*seen, key.epsilon, DELTA, key.seed)
    seconds = time.perf_counter() - start
    return {**scores(rows.y_test, np.asarray(found)), "seconds": round(seconds, 2)}


def keys(given: argparse.Namespace, names: Sequence[str]) -> Iterator[Key]:
    """Yield all runs, seed by seed."""
    for seed in range(given.first_seed, given.seeds):
        for name in given.sets:
            for pool in given.pools:
                for method in names:
                    epsilons = given.epsilons if method in METHODS else [None]
                    for epsilon in epsilons:
                        yield Key(method, name, epsilon, pool, seed)


def leading(found: Iterable[Key], path: Path) -> Iterator[Key]:
    """Yield the runs of those settings that are the best of their method so far."""
    best = [cells(path, metric) for metric in ("accuracy", "auc")]
    for key in found:
        family, _, setting = key.method.partition(": ")
        cell = Cell(key.set, key.pool, family, key.epsilon)
        if any(setting == table[cell].setting for table in best if cell in table):
            yield key


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=[""], metavar="NAME")
    parser.add_argument("--sets", nargs="+", default=available())
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--pools", nargs="+", type=int, default=POOLS)
    parser.add_argument("--seeds", type=int, default=10, help="as many, from the first")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=DEFAULT)
    parser.add_argument("--best", action="store_true", help="only the best settings so far")
    parser.add_argument("--list", action="store_true", help="show the names of methods")
    parser.add_argument("--quick", action="store_true", help="Adult, epsilon 1, 400 rows, a seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], epsilons=[1.0], pools=[400], seeds=1)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    wanted = [n for n in (*METHODS, *REFERENCES) if n.startswith(tuple(given.methods))]
    if given.list:
        print(*wanted, sep="\n")
        return
    absent = missing()
    for family in sorted({(name.split(":")[0], absent[name]) for name in wanted if name in absent}):
        print("{} is left out: {} is missing.".format(*family), flush=True)
    done = {key for key, _ in read(given.out)}
    rows, loaded, failed = None, None, 0
    asked = keys(given, [name for name in wanted if name not in absent])
    for key in list(leading(asked, given.out)) if given.best else asked:
        if key in done:
            continue
        if (place := (key.set, key.pool, key.seed)) != loaded:
            rows, loaded = split(*place), place
            print(time.strftime("%H:%M:%S"), *place, flush=True)
        try:
            append(given.out, key, run(key, rows))
        except Exception:
            failed += 1
            print(f"failed: {key}\n{traceback.format_exc()}", flush=True)
    if failed:
        raise SystemExit(f"{failed} runs failed.")


if __name__ == "__main__":
    main()
