"""The most accurate model at equal epsilon: ours beside rivals, on three tables.

    python benchmarks/equal_epsilon/run.py [--methods NAME ...] [--sets adult bank credit] [--best]
        [--epsilons .1 .5 1 2 4] [--pools 400 2000 7000] [--seeds 10] [--out FILE] [--table]
        [--quick]

Epsilon at delta 1e-5, for one private row that is replaced; where a package accounts for one row
added or removed, we account anew (ebm.py, diffprivlib_models.py). Runs that are already in the file
are skipped, and all are in the table: the mean over seeds and its standard error. Of a method with
several settings (what follows the colon) that one is shown whose mean accuracy is the best on the
test rows at this epsilon, set and pool, which favours it. ``--methods`` takes the starts of names;
``--list`` shows them; ``--table`` runs nothing. Rivals' packages: interpret-core, diffprivlib
(which may live in an environment of its own, see diffprivlib_models.py), dp-accounting.

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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fits import standard_error
from methods import METHODS, REFERENCES, missing
from numpy.typing import NDArray
from results import DEFAULT, METRICS, Key, append, read
from sets import POOLS, Labels, Split, available, split
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)

#: Mean and standard error of each metric.
Summary = dict[str, tuple[float, float]]


class Cell(NamedTuple):
    """One method at one epsilon, on one set with one pool."""

    set: str
    pool: int
    method: str
    epsilon: float | None


class Best(NamedTuple):
    """The setting that is shown, on how many seeds, and what it reached."""

    setting: str
    n_seeds: int
    summary: Summary


def summary(runs: Sequence[dict[str, float]]) -> Summary:
    """Return mean and standard error of each metric."""
    found = {}
    for metric in METRICS:
        values = np.array([run[metric] for run in runs])
        found[metric] = (float(values.mean()), float(standard_error(values)))
    return found


def cells(path: Path, by: str) -> dict[Cell, Best]:
    """Return the best setting of each method, among those that ran on most seeds."""
    runs: defaultdict[Cell, defaultdict[str, list[dict[str, float]]]]
    runs = defaultdict(lambda: defaultdict(list))
    for key, run in read(path):
        family, _, setting = key.method.partition(": ")
        runs[Cell(key.set, key.pool, family, key.epsilon)][setting].append(run)
    found = {}
    for cell, settings in runs.items():
        most = max(map(len, settings.values()))
        each = [Best(s, most, summary(r)) for s, r in settings.items() if len(r) == most]
        found[cell] = max(each, key=lambda best: best.summary[by][0])
    return found


def _text(best: Best, metrics: Sequence[str]) -> str:
    shown = []
    for metric in metrics:
        mean, error = best.summary[metric]
        shown.append(f"{mean:.4f}" + ("" if np.isnan(error) else f" ± {error:.4f}"))
    return " / ".join(shown).replace("0.", ".")


def table(found: dict[Cell, Best], name: str, pool: int, metrics: Sequence[str]) -> str:
    """Return one set's table with one pool, in Markdown."""
    here = {cell: best for cell, best in found.items() if (cell.set, cell.pool) == (name, pool)}
    epsilons = sorted({cell.epsilon for cell in here if cell.epsilon is not None})
    counts = sorted({best.n_seeds for best in here.values()})
    seeds = "-".join(str(n) for n in {counts[0]: 0, counts[-1]: 0})
    lines = [
        f"**{name}, {pool:,} public rows** ({seeds} seeds; {' / '.join(metrics)})",
        "",
        "| method | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |",
        "| --- |" + " --- |" * len(epsilons),
    ]
    for method in dict.fromkeys(cell.method for cell in here if cell.epsilon is not None):
        row = [here.get(Cell(name, pool, method, epsilon)) for epsilon in epsilons]
        shown = [_text(best, metrics) if best else "" for best in row]
        lines.append(f"| {method} | " + " | ".join(shown) + " |")
    for cell, best in here.items():
        if cell.epsilon is None:
            blank = " | " * max(len(epsilons) - 1, 0)
            lines.append(f"| {cell.method} | {_text(best, metrics)}{blank} |")
    return "\n".join(lines)


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
        found = REFERENCES[key.method](rows)
    else:
        found = METHODS[key.method](rows, key.epsilon, key.seed)
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
    tables = [cells(path, metric) for metric in ("accuracy", "auc")]
    for key in found:
        family, _, setting = key.method.partition(": ")
        cell = Cell(key.set, key.pool, family, key.epsilon)
        if any(setting == each[cell].setting for each in tables if cell in each):
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
    parser.add_argument("--table", action="store_true", help="only the table of what was run")
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
    asked = list(leading(asked, given.out)) if given.best else asked
    for key in [] if given.table else asked:
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
    found = cells(given.out, "accuracy")
    for name, pool in dict.fromkeys((cell.set, cell.pool) for cell in found):
        print(table(found, name, pool, ["accuracy", "auc"]), end="\n\n")
    if failed:
        raise SystemExit(f"{failed} runs failed.")


if __name__ == "__main__":
    main()
