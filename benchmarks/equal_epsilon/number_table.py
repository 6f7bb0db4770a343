"""Table of the runs of regression.py.

    python benchmarks/equal_epsilon/number_table.py [--out FILE] [--public 400]

A row a set and epsilon: R^2 of ours with columns alone, what pairs of columns add, bias and
coverage (see regression.py), and of each rival the setting whose mean over the seeds is the best
*on the test rows*, which favours it, with our lead over it. After +- stands a standard error over
the seeds, paired.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from results import DEFAULT as CLASSES
from results import read

DEFAULT = CLASSES.with_name("regression.jsonl")
ALONE, PAIRED = "columns", "with pairs"

#: Measured numbers of each seed.
Runs = Mapping[int, Mapping[str, float]]


def mean(runs: Runs, name: str = "r2") -> float:
    """Compute the mean over the seeds that have the number."""
    return float(np.mean([run[name] for run in runs.values() if name in run]))


def difference(first: Runs, second: Runs) -> str:
    """Return the text of the mean difference in R^2 over common seeds, and its error."""
    gaps = np.array([first[seed]["r2"] - second[seed]["r2"] for seed in first if seed in second])
    error = gaps.std(ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else np.nan
    return f"{gaps.mean():+.4f} +- {error:.4f}"


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=DEFAULT)
    parser.add_argument("--public", type=int, default=400)
    given = parser.parse_args()
    found = cells(given.out, given.public)
    sets, epsilons = ([*dict.fromkeys(places)] for places in zip(*sorted(found), strict=True))
    print_table(given.out, sets, sorted(epsilons), given.public)


if __name__ == "__main__":
    main()
