"""Regression of numbers: ours beside rivals, at equal epsilon.

    python benchmarks/equal_epsilon/regression.py [--sets diamonds credit adult balance]
        [--methods NAME ...] [--epsilons .1 .5 1 2 4] [--public 400] [--seeds 10] [--out FILE]
        [--best N] [--quick]

diamonds  prices (0 to 20,000) of 53,940 stones; needs the package plotnine, which has the table
credit    credit limits (0 to 1,000,000) of 30,000 people
adult     ages (17 to 90) of 45,222 people
balance   balances (-2,000 to 20,000) of 45,211 people

Ours is fitted with single columns, and with pairs of columns too; number_rivals.py has the others
and their settings. Runs that are already in the file are skipped, and all are in the table. A
method whose package is missing is left out. All settings on all seeds take hours: run them on one
or two seeds, and then ``--best 2`` on all, which takes of each rival the settings that lead so far
at an epsilon on a set.

R^2 on the test rows, whose targets are clipped to the declared bounds too; of ours also the share
of them within intervals of 90 %, and the mean of predictions less that of targets, in their
standard deviations. Of each rival that setting is shown whose mean over the seeds is the best *on
the test rows*, which favours it, with our lead over it. What rivals predict is clipped to the
bounds, which favours them too. After +- stands a standard error over the seeds, paired.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import sets
from fits import gain
from number_rivals import DELTA, RIVALS, Bounds, Floats, Names, missing
from results import DEFAULT as CLASSES
from results import Key, append, read
from sets import Split
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData

DEFAULT = CLASSES.with_name("regression.jsonl")
ALONE, PAIRED = "columns", "with pairs"

#: Measured numbers of each seed.
Runs = Mapping[int, Mapping[str, float]]


def mean(runs: Runs, name: str = "r2") -> float:
    """Compute the mean over the seeds that have the number."""
    return float(np.mean([run[name] for run in runs.values() if name in run]))


def difference(first: Runs, second: Runs) -> str:
    """Return the text of the mean difference in R^2 over common seeds, and its error."""
    return gain([first[seed]["r2"] - second[seed]["r2"] for seed in first if seed in second])


def cells(path: Path, public: int) -> dict[tuple[str, float], dict[str, dict[str, Runs]]]:
    """Return the runs of each set and epsilon: by method, setting and seed."""
    found: dict[tuple[str, float], dict[str, dict[str, dict[int, dict[str, float]]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for key, measured in read(path):
        if key.pool == public and key.epsilon is not None:
            method, _, setting = key.method.partition(": ")
            found[key.set, key.epsilon][method][setting][key.seed] = measured
    return {place: dict(methods) for place, methods in found.items()}


def leading(settings: Mapping[str, Runs]) -> list[str]:
    """Return the settings of a method, the best first; those with few seeds last."""
    most = max(len(runs) for runs in settings.values())
    return sorted(settings, key=lambda name: (len(settings[name]) < most, -mean(settings[name])))


def row(methods: Mapping[str, Mapping[str, Runs]], rivals: Sequence[str]) -> list[str]:
    """Return the texts of one set and epsilon."""
    alone, paired = methods[ALONE][""], methods[PAIRED][""]
    texts = [f"{mean(alone):.4f}", f"{mean(paired):.4f}", difference(paired, alone)]
    texts += [f"{mean(paired, 'bias'):+.3f}", f"{mean(paired, 'coverage'):.3f}"]
    for rival in rivals:
        if rival not in methods:
            texts.append("")
            continue
        setting = leading(methods[rival])[0]
        runs = methods[rival][setting]
        texts.append(f"{mean(runs):.4f} ({setting}); lead {difference(paired, runs)}")
    return texts


def print_table(path: Path, sets: Sequence[str], epsilons: Sequence[float], public: int) -> None:
    """Print the runs of these sets and epsilons that have been done."""
    found = cells(path, public)
    rivals = sorted({name for methods in found.values() for name in methods} - {ALONE, PAIRED})
    columns = ["set, epsilon", ALONE, PAIRED, "gain", "bias", "coverage", *rivals]
    print("| " + " | ".join(columns) + " |")
    print("| " + " | ".join("---" for _ in columns) + " |")
    for place in ((name, epsilon) for name in sets for epsilon in epsilons):
        if place in found and {ALONE, PAIRED} <= found[place].keys():
            texts = [f"{place[0]}, {place[1]:g}", *row(found[place], rivals)]
            print("| " + " | ".join(texts) + " |", flush=True)


OURS: dict[str, int | str] = {"columns": 0, "with pairs": "auto"}
DIAMONDS = {
    "carat": (0.0, 5.0),
    "depth": (40.0, 80.0),
    "table": (40.0, 100.0),
    **dict.fromkeys("xyz", (0.0, 12.0)),
}
TARGETS = {
    "credit": ("credit", "LIMIT_BAL", (0.0, 1e6)),
    "adult": ("adult", "age", (17.0, 90.0)),
    "balance": ("bank", "balance", (-2e3, 2e4)),
}


@cache
def table(name: str) -> tuple[pd.DataFrame, Floats, Bounds]:
    """Return the columns and the target of a set, and the target's bounds."""
    if name == "diamonds":
        package = importlib.util.find_spec("plotnine")
        assert package is not None
        assert package.origin is not None
        X = pd.read_csv(Path(package.origin).parent / "data" / "diamonds.csv")
        y = X.pop("price").to_numpy(float)
        X = X.astype(dict.fromkeys(X.columns.difference(DIAMONDS), "category"))
        X = X.assign(**{key: X[key].clip(*pair) for key, pair in DIAMONDS.items()})
        X.attrs["bounds"] = DIAMONDS
        return X, y, (0.0, 2e4)
    source, column, bounds = TARGETS[name]
    X, _ = sets.LOADERS[source]()
    declared = {key: pair for key, pair in X.attrs["bounds"].items() if key != column}
    y = X.pop(column).to_numpy(float)
    X.attrs["bounds"] = declared
    return X, y, bounds


def available() -> list[str]:
    """Return the names of the sets that are here."""
    own = [name for name, (source, *_) in TARGETS.items() if source in sets.available()]
    return ["diamonds", *own] if importlib.util.find_spec("plotnine") else own


def split(name: str, public: int, seed: int) -> tuple[Split, Bounds]:
    """Return the rows of one seed."""
    X, y, bounds = table(name)
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)
    parts = (
        (X.iloc[rows].reset_index(drop=True), y[rows].clip(*bounds))
        for rows in (rest[public:], rest[:public], test)
    )
    return Split(*(half for part in parts for half in part)), bounds


def ours(
    rows: Split, bounds: Bounds, epsilon: float, seed: int, interactions: int | str
) -> dict[str, float]:
    """Return R^2, the bias, and the coverage of intervals of 90 %."""
    model = PrivateLinearRegression(
        target_bounds=bounds,
        interactions=interactions,
        accountant=PrivacyAccountant(epsilon, DELTA),
        check_public_rows=False,
        random_state=seed,
    ).fit(rows.X_private, rows.y_private, X_public=PublicData(rows.X_pool, may_be_private=True))
    errors = model.predict(rows.X_test) - rows.y_test
    low, high = model.predict_interval(rows.X_test)
    return {
        "r2": float(model.score(rows.X_test, rows.y_test)),
        "bias": float(errors.mean() / rows.y_test.std()),
        "coverage": float(np.mean((low <= rows.y_test) & (rows.y_test <= high))),
    }


def run(
    method: str, rows: Split, bounds: Bounds, epsilon: float, seed: int, wanted: Names
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the name of a method with each of its settings, and what was measured."""
    if method in OURS:
        yield method, ours(rows, bounds, epsilon, seed, OURS[method])
        return
    for setting, predicted in RIVALS[method](rows, bounds, epsilon, seed, wanted):
        score = r2_score(rows.y_test, predicted.clip(*bounds))
        yield f"{method}: {setting}", {"r2": float(score)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=available())
    parser.add_argument("--methods", nargs="+", default=[*OURS, *RIVALS])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--public", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=DEFAULT)
    parser.add_argument("--best", type=int, help="only so many settings of each rival, the best")
    parser.add_argument("--quick", action="store_true", help="adult, epsilon 1, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["adult"], epsilons=[1.0], seeds=1)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    warnings.simplefilter("ignore")  # noise is seeded
    absent = missing()
    for method in sorted(absent.keys() & given.methods):
        print(f"{method} is left out: {absent[method]} is missing.", flush=True)
    # A method's settings are run together: the names before the colon are done.
    done = {
        (key.method.split(":")[0], key.set, key.epsilon, key.pool, key.seed)
        for key, _ in read(given.out)
    }
    best = cells(given.out, given.public) if given.best else {}
    for seed in range(given.seeds):
        for name in given.sets:
            rows, bounds = split(name, given.public, seed)
            for method in given.methods:
                for epsilon in given.epsilons:
                    place = (name, epsilon, given.public, seed)
                    if method in absent or (method, *place) in done:
                        continue
                    wanted = None
                    if (name, epsilon) in best and method in best[name, epsilon]:
                        wanted = leading(best[name, epsilon][method])[: given.best]
                    found = [*run(method, rows, bounds, epsilon, seed, wanted)]
                    for setting, measured in found:  # all of a method, or none
                        append(given.out, Key(setting, *place), measured)
    print_table(given.out, given.sets, given.epsilons, given.public)


if __name__ == "__main__":
    main()
