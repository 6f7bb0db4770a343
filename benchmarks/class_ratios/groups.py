"""Class ratios of real groups, of which the assumption need not hold: errors, coverage, warnings.

    python benchmarks/class_ratios/groups.py [real] [simulated] [control] [--quick]

real       (With QuaPy: beside EMQ, which has a label for every training instance.)
           Bags are at most 1,500 people with one value of a public column, which is no feature
           (grouped.py). A third of the groups is predicted from the others, in turn.
simulated  Two Gaussian classes in ten dimensions, 12 bags of 300 with proportions from .1 to .9,
           and test groups alike. In every bag and group both classes are moved together, at random,
           by a share of the distance between the classes.
control    The assumption holds: instances of each class are dealt to bags at random, with Dirichlet
           proportions. How often the test warns, by number and size of bags, and coverage.

L1 errors and coverage of 90 % intervals, with random group effects where the test finds them (the
default) and without (`group_effects=False`). "Cover silent" is the coverage of fits without a
warning.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from errors import Table
from grouped import GROUPINGS, Grouped, grouped
from protocol import Array, adult, bank, digits, l1
from rivals import counted, with_instance_labels

from secretballot.quantification import MisfitWarning, MMDClassRatioEstimator

#: Everything that was chosen was chosen on seeds 0 to 5.
SEEDS = range(100, 103)
CONFIDENCE = 0.9


class Split(NamedTuple):
    """Bags to learn from and groups to predict, with their proportions."""

    bags: list[Array]
    proportions: Array
    groups: list[Array]
    ratios: Array
    labels: Any = None


def real(data: Grouped, seed: int, n_folds: int = 3, most: int = 1500) -> Iterator[Split]:
    X, y, group = data
    rng, c = np.random.default_rng([seed, 3]), int(y.max()) + 1
    rows = [rng.permutation(np.flatnonzero(group == g))[:most] for g in range(group.max() + 1)]
    rows = [one for one in rows if len(one) >= 80]
    fold = rng.permutation(np.arange(len(rows)) % n_folds)
    shares = np.array([np.bincount(y[one], minlength=c) / len(one) for one in rows])
    for number in range(n_folds):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        labels = np.concatenate([y[rows[i]] for i in train])
        bags, groups = ([X[rows[i]] for i in part] for part in (train, test))
        yield Split(bags, shares[train], groups, shares[test], labels)


def simulated(shift: float, seed: int, n_bags: int = 12, size: int = 300) -> Iterator[Split]:
    rng = np.random.default_rng([seed, 5])
    means = np.zeros((2, 10))
    means[1, 0] = 1.5
    parts: list[Any] = [[], []]
    for number in range(2 * n_bags):
        share = rng.uniform(0.1, 0.9)
        labels = (rng.random(size) < share).astype(int)
        moved = 1.5 * shift * rng.normal(size=10) / np.sqrt(10)
        bag = means[labels] + moved + rng.normal(size=(size, 10))
        parts[number % 2].append((bag, [1 - labels.mean(), labels.mean()]))
    (bags, P), (groups, Q) = (zip(*part, strict=True) for part in parts)
    yield Split(list(bags), np.array(P), list(groups), np.array(Q))


def control(data: tuple[Array, Any], n_bags: int, size: int, seed: int) -> Iterator[Split]:
    X, y = data
    rng, c = np.random.default_rng([seed, 9]), int(y.max()) + 1
    while True:
        P = rng.dirichlet(np.ones(c), 2 * n_bags)
        if np.linalg.svd(P[:n_bags], compute_uv=False)[-1] > 0.1:
            break
    by_class = [rng.permutation(np.flatnonzero(y == k)) for k in range(c)]
    at, bags, shares = np.zeros(c, dtype=int), [], []
    for p in P:
        count = rng.multinomial(int(rng.integers(size // 2, 2 * size)), p)
        # Around again where a class runs out: the instances of training bags are the first.
        taken = [by_class[k].take(range(at[k], at[k] + count[k]), mode="wrap") for k in range(c)]
        at += count
        bags.append(X[np.concatenate(taken)])
        shares.append(count / count.sum())
    shares = np.array(shares)
    yield Split(bags[:n_bags], shares[:n_bags], bags[n_bags:], shares[n_bags:])


def run(table: Table, row: str, split: Split, kind: str, seed: int) -> None:
    """Fit with and without random effects, and add what was found to the table."""
    bags, groups = split.bags, split.groups
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "matched":
            softmax = counted(n_components=200, max_iter=60, n_folds=3)
            bags, groups = softmax.fit_transform(bags, split.proportions), softmax.transform(groups)
        options = {"kernel": "linear"} if kind == "matched" else {"features": "nystroem"}
        covered = {}
        for effects, name in ((False, "without"), ("auto", "auto")):
            model = MMDClassRatioEstimator(group_effects=effects, random_state=seed, **options)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", MisfitWarning)
                model.fit(bags, split.proportions)
            warned = any(issubclass(one.category, MisfitWarning) for one in caught)
            found, lower, upper = model.predict_interval(groups, CONFIDENCE)
            table.add(row, f"L1 {name}", l1(found, split.ratios))
            covered[name] = ((lower <= split.ratios) & (split.ratios <= upper)).mean()
            table.add(row, f"cover {name}", covered[name])
            table.add(row, f"width {name}", upper - lower)
    table.add(row, "ratio", model.diagnostics_.misfit.ratio)
    table.add(row, "warned", warned)
    if not warned:
        table.add(row, "cover silent", covered["auto"])
    if split.labels is not None and kind != "matched":
        rival = with_instance_labels(np.concatenate(bags), split.labels, groups, only=("EMQ",))
        for name, found in rival.items():
            table.add(row, f"L1 {name}", l1(found, split.ratios))
    guess = np.tile(split.proportions.mean(axis=0), (len(groups), 1))
    table.add(row, "L1 guess", l1(guess, split.ratios))


def show(title: str, cases: dict[str, Any], seeds: Any) -> None:
    for kind in ("kernel means", "matched"):
        table = Table()
        for row, splits in cases.items():
            for seed in seeds:
                for split in splits(seed):
                    run(table, row, split, kind, seed)
        table.show(f"{title}, {kind}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("real", "simulated", "control")
    parser.add_argument("parts", nargs="*", choices=[[], *parts], default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(seeds=1)
    arguments = parser.parse_args()
    seeds = range(SEEDS[0], SEEDS[0] + arguments.seeds)
    cases: dict[str, dict[str, Any]] = {part: {} for part in parts}
    for name in GROUPINGS:
        data = grouped(name)
        if data is not None:
            cases["real"][name] = lambda seed, data=data: real(data, seed)
    for shift in (0, 0.1, 0.15, 0.2, 0.3, 1):
        cases["simulated"][f"moved by {shift:g}"] = lambda seed, s=shift: simulated(s, seed)
    for name, data in {"Adult": adult(), "Bank": bank(), "digits 0-3": few_digits()}.items():
        for n_bags, size in ((5, 100), (12, 50), (12, 300), (40, 100)) if data else ():
            cases["control"][f"{name}, {n_bags} bags of {size}"] = (
                lambda seed, d=data, n=n_bags, m=size: control(d, n, m, seed)
            )
    for part in arguments.parts or parts:
        begun = time.perf_counter()
        n = 1 if part == "real" else 4
        show(part, cases[part], range(seeds.start, seeds.start + n * len(seeds)))
        print(f"({part}: {time.perf_counter() - begun:.0f} s)", flush=True)


def few_digits() -> tuple[Array, Any]:
    X, y = digits()
    return X[y < 4], y[y < 4]


if __name__ == "__main__":
    main()
