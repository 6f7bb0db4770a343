"""Individual privacy budgets against the published tables: labels, accuracy, how budgets run out.

    python benchmarks/individual/tables.py [--quick] [--seeds 3] [--n-jobs 2] [--data adult mnist]

The settings of Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE" (PoPETs 2023):
250 teachers, sigma 40, delta 1e-5, the lower budget log 2. Adult: random forests of 100 trees,
sigma_T 200, T 300. MNIST: kernel ridge on the edges of the pictures and of two distorted copies of
each, sigma_T 150, T 200. Each cell is a mean over seeds and votings, the published figure before
it and the ratio of the two after it; an asterisk marks differences above 15 %.

published    Papernot's bound for the vote, a s^2/(2 sigma_T^2) for the threshold, Mironov, orders
             2..50; labelling stops before any level's epsilon exceeds its budget. "At most" is what
             it buys if all teachers agree on every row
exact        the exact divergence of what is released on these votes, Canonne-Kamath-Steinke, fine
             orders; worst case: the same, the worst over all votes

The votes and what was made of them are kept in output/individual: an interrupted run goes on
where it was. --quick has Adult alone, one seed and voting, single trees, log 4 and 50 % only.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from ratios import cost_ratios
from runs import ACCOUNTINGS, N_VOTINGS, RULES, evaluate, of_one_mind
from settings import HIGHER, SHARES, Setting, minority, three_levels, two_levels
from votes import MNIST, collect

LABELS = {
    # Tables 7 and 5
    "adult": {
        "plain": 88,
        "upsampling": [[140, 202, 272], [198, 346, 541], [264, 530, 868]],
        "weighting": [[139, 203, 273], [198, 349, 543], [259, 530, 872]],
    },
    "mnist": {
        "plain": 257,
        "upsampling": [[158, 237, 326], [231, 414, 636], [308, 623, 1038]],
        "weighting": [[433, 492, 564], [474, 890, 1163], [648, 1239, 1787]],
    },
}
STUDENT = {
    # Tables 9 and 8, accuracy in per cent
    "adult": {
        "plain": 79.85,
        "upsampling": [[81.02, 81.76, 82.16], [81.79, 82.52, 82.87], [82.30, 82.82, 83.07]],
        "weighting": [[80.87, 81.76, 82.26], [81.67, 82.60, 82.89], [82.25, 82.84, 83.04]],
    },
    "mnist": {
        "plain": 88.70,
        "upsampling": [[92.32, 92.52, 94.38], [93.12, 94.48, 96.20], [93.96, 96.38, 96.90]],
        "weighting": [[93.26, 93.08, 93.70], [88.94, 94.68, 95.74], [90.24, 96.32, 96.60]],
    },
}
# Tables 11, 6, 10a and 10b: only people with high income have the larger budget.
MINORITY_LABELS = [[90, 95, 101, 109], [93, 108, 132, 162], [96, 129, 172, 225]]
# Accuracy in per cent on people with low and with high income: without individual budgets, then by
# budget and share.
MINORITY = {
    "student": (
        (98.01, 24.78),
        [
            [(95.93, 36.77), (93.11, 45.93), (90.13, 54.74), (86.24, 63.39)],
            [(93.25, 45.91), (86.82, 62.25), (80.57, 72.61), (77.91, 77.36)],
            [(90.42, 54.00), (80.74, 72.68), (76.68, 79.42), (73.82, 83.59)],
        ],
    ),
    "teachers": (
        (92.55, 48.82),
        [
            [(90.08, 56.05), (87.75, 61.70), (85.58, 66.24), (83.62, 69.68)],
            [(87.74, 61.73), (83.57, 69.84), (79.99, 75.46), (76.86, 79.44)],
            [(85.58, 66.12), (79.93, 75.48), (75.48, 81.01), (71.57, 84.79)],
        ],
    ),
    "votes": (
        (97.13, 46.29),
        [
            [(95.21, 55.99), (93.02, 64.11), (91.24, 68.93), (88.59, 74.11)],
            [(93.19, 64.11), (88.71, 73.91), (84.42, 81.14), (81.41, 85.23)],
            [(91.02, 68.55), (84.47, 81.36), (79.99, 86.49), (75.32, 90.22)],
        ],
    ),
}
# Table 1, MNIST, budgets 1, 2, 3: labels and accuracy of the votes, by shares of the levels.
THREE_LEVELS = {
    (34, 43, 23): {
        "plain": (365, 97.40),
        "upsampling": (1333, 97.20),
        "weighting": (1312, 97.24),
    },
    (54, 37, 9): {
        "plain": (361, 97.32),
        "upsampling": (949, 97.18),
        "weighting": (1894, 97.33),
    },
}
# Figure 3: ratio of the costs of two equal groups, by the ratio of their sensitivities.
SENSITIVITY_RATIOS = range(2, 10)
TEACHER_ACCURACY = {"adult": 81.7, "mnist": 90.2}


Found = dict[Setting, dict[str, Any]]
WAYS = ("upsampling", "weighting")
MINORITY_SHARES = (25, 50, 75, 100)


def settings(data: str, quick: bool) -> list[Setting]:
    """All settings of a data set."""
    shares = (50,) if quick else SHARES
    higher = (4,) if quick else HIGHER
    chosen = [Setting(data)]
    chosen += [two_levels(data, way, k, share) for way in WAYS for k in higher for share in shares]
    if data == "adult":
        every = (50,) if quick else MINORITY_SHARES
        chosen += [minority(k, share) for k in higher for share in every]
    else:
        splits = list(THREE_LEVELS)[: 1 if quick else None]
        chosen += [three_levels("plain", splits[0])]
        chosen += [three_levels(way, percent) for way in WAYS for percent in splits]
    return chosen


def values(found: Found, setting: Setting, accounting: str, rule: str, what: str) -> Any:
    """One value of every run, as an array."""
    return np.array(
        [
            run[what]
            for run in found[setting]["runs"]
            if run["accounting"] == accounting and run["rule"] == rule
        ]
    )


def rule_of(setting: Setting) -> str:
    """The published rule."""
    return "proportional" if setting.way == "weighting" else ""


def beside(paper: float, measured: Any, digits: int = 0) -> str:
    """The published figure, ours with its standard deviation, and the ratio."""
    mean, spread = float(np.mean(measured)), float(np.std(measured))
    ratio = mean / paper
    mark = "*" if abs(ratio - 1) > 0.15 else " "
    ours = f"{mean:8.{digits}f} ±{spread:6.{max(digits - 1, 0)}f}"
    return f"{paper:8.{digits}f} {ours} {ratio:5.2f}{mark}"


def head(title: str) -> None:
    print(f"\n== {title}")


def labels_and_students(data: str, found: Found) -> None:
    """Tables 7 and 9 (Adult), 5 and 8 (MNIST)."""
    number = {"adult": (7, 9), "mnist": (5, 8)}[data]
    for title, what, digits, paper in (
        (f"Table {number[0]}: labels, {data}, published accounting", "labels", 0, LABELS[data]),
        (f"Table {number[1]}: student accuracy, {data}", "student", 2, STUDENT[data]),
    ):
        head(title)
        lines = [("plain", Setting(data), paper["plain"])]
        for way in WAYS:
            for setting, higher, share in pairs(data, way, found):
                cell = paper[way][HIGHER.index(higher)][SHARES.index(share)]
                lines.append((f"{way:10s} log {higher:<2d} {share:3d} %", setting, cell))
        for name, setting, cell in lines:
            ours = values(found, setting, "published", rule_of(setting), what)
            most = f"  at most {of_one_mind(setting):5.0f}" if what == "labels" else ""
            print(f"{name:24s}{beside(cell, ours, digits)}{most}")


def pairs(data: str, way: str, found: Found) -> Iterable[tuple[Setting, int, int]]:
    for higher in HIGHER:
        for share in SHARES:
            setting = two_levels(data, way, higher, share)
            if setting in found:
                yield setting, higher, share


def our_accounting(data: str, found: Found) -> None:
    """Labels under our accounting, on the same votes."""
    head(f"Labels, {data}, by accounting; weights balanced or, as published, proportional")
    print(" " * 36 + "".join(f"{name:>15s}" for name in ACCOUNTINGS) + "  exact/published")
    every = [(Setting(data), "", "plain")]
    for way in WAYS:
        for setting, higher, share in pairs(data, way, found):
            rules = ("proportional", "balanced") if way == "weighting" else ("",)
            every += [
                (setting, rule, f"{way:10s} log {higher:<2d} {share:3d} % {rule}") for rule in rules
            ]
    for setting, rule, name in every:
        labels = [values(found, setting, column, rule, "labels") for column in ACCOUNTINGS]
        cells = "".join(f"{each.mean():15.0f}" for each in labels)
        print(f"{name:36s}{cells}  {labels[1].mean() / labels[0].mean():8.2f}")


def evenness(data: str, found: Found) -> None:
    """How much of its budget each level has spent when labelling stops."""
    head(f"Share of its budget (%) that each level has spent when labelling stops, {data}")
    print(" " * 40 + "".join(f"{name:>21s}" for name in ACCOUNTINGS))
    lowest: dict[str, dict[str, float]] = {}
    for setting in found:
        if setting.data != data or setting.way == "plain" or setting.within is not None:
            continue
        budgets = "/".join(f"{epsilon:.2f}" for epsilon in setting.epsilons)
        sizes = "-".join(map(str, setting.percent))
        for rule in RULES if setting.way == "weighting" else ("",):
            cells, name = "", rule or setting.way
            for column in ACCOUNTINGS:
                shares = values(found, setting, column, rule, "shares")
                mean = [100 * np.mean([each[level] for each in shares]) for level in setting.names]
                cells += f"{'/'.join(f'{share:.1f}' for share in mean):>21s}"
                least = lowest.setdefault(name, dict.fromkeys(ACCOUNTINGS, np.inf))
                least[column] = min(least[column], *mean)
            print(f"{budgets} {sizes} {name:>14s}".ljust(40) + cells)
    for name, least in lowest.items():
        cells = (f"{share:21.1f}" for share in least.values())
        print(f"lowest, {name}".ljust(40) + "".join(cells))


def three(found: Found) -> None:
    """Table 1."""
    head("Table 1: MNIST, budgets 1, 2, 3; labels, and accuracy of the votes (%)")
    for percent, paper in THREE_LEVELS.items():
        for way, (labels, accuracy) in paper.items():
            setting = three_levels(way, percent)
            if setting not in found:
                continue
            rule = rule_of(setting)
            ours = [values(found, setting, "published", rule, w) for w in ("labels", "accuracy")]
            exact = values(found, setting, "exact", rule, "labels").mean()
            print(
                f"{'-'.join(map(str, percent)):10s} {way:11s} {beside(labels, ours[0])}  "
                f"{beside(accuracy, ours[1], 2)}  exact accounting {exact:6.0f} labels, "
                f"published at most {of_one_mind(setting):5.0f}"
            )


def minorities(found: Found) -> None:
    """Tables 11, 6 and 10."""
    chosen = [
        (minority(higher, share), higher, share)
        for higher in HIGHER
        for share in MINORITY_SHARES
        if minority(higher, share) in found
    ]
    head("Table 11: labels, Adult, larger budgets within the class of high income only")
    for setting, higher, share in chosen:
        paper = MINORITY_LABELS[HIGHER.index(higher)][MINORITY_SHARES.index(share)]
        ours = values(found, setting, "published", "", "labels")
        print(f"log {higher:<2d} {share:3d} %  {beside(paper, ours)}")
    titles = {
        "student": "Table 6: students",
        "teachers": "Table 10a: teachers",
        "votes": "Table 10b: votes",
    }
    for what, title in titles.items():
        head(f"{title}, accuracy (%) on low and on high income")
        before, cells = MINORITY[what]
        rows = [("plain", Setting("adult"), before)]
        for setting, higher, share in chosen:
            cell = cells[HIGHER.index(higher)][MINORITY_SHARES.index(share)]
            rows.append((f"log {higher:<2d} {share:3d} %", setting, cell))
        for name, setting, cell in rows:
            if what == "student":
                ours = values(found, setting, "published", "", "student_by_class")
            else:
                ours = np.array([each[what] for each in found[setting]["test"]])
            both = "   ".join(beside(p, o, 2) for p, o in zip(cell, ours.T, strict=True))
            print(f"{name:14s}{both}")


def accuracies(data: str, found: Found) -> None:
    """How good the teachers are that everything rests on."""
    head(f"Accuracy (%) on test rows, {data}, no individual budgets")
    teachers, votes = np.transpose([each["overall"] for each in found[Setting(data)]["test"]])
    print(f"{'one teacher':12s}{beside(TEACHER_ACCURACY[data], teachers, 2)}")
    print(f"{'noisy vote':12s}{'':8s} {votes.mean():8.2f}")


def ratios(data: str, seeds: range, trees: int) -> None:
    """Figure 3."""
    head(f"Figure 3: ratio of costs by ratio of sensitivities, {data}, when one has spent log 2")
    each = [cost_ratios(data, seed, trees, SENSITIVITY_RATIOS) for seed in seeds]
    print(f"{'':12s}" + "".join(f"{ratio:7d}" for ratio in SENSITIVITY_RATIOS))
    for way in each[0]:
        mean = np.mean([one[way] for one in each], axis=0)
        print(f"{way:12s}" + "".join(f"{value:7.2f}" for value in mean))
    print(f"{'square root':12s}" + "".join(f"{ratio**0.5:7.2f}" for ratio in SENSITIVITY_RATIOS))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--data", nargs="+", default=["adult", "mnist"], choices=["adult", "mnist"])
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(seeds=1, data=["adult"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    trees, n_votings = (1, 1) if arguments.quick else (100, N_VOTINGS)
    seeds = range(arguments.seeds)
    if "mnist" in arguments.data and not MNIST.exists():
        print(f"MNIST is left out: there is no {MNIST.name} in the folder of shared data")
        arguments.data.remove("mnist")
    if not arguments.data:
        return
    chosen = [setting for data in arguments.data for setting in settings(data, arguments.quick)]
    collect(chosen, seeds, trees, arguments.n_jobs)
    found = evaluate(chosen, seeds, trees, n_votings, arguments.n_jobs)
    tables: list[Callable[[str, Found], None]] = [
        accuracies,
        labels_and_students,
        our_accounting,
        evenness,
    ]
    for data in arguments.data:
        for table in tables:
            table(data, found)
        ratios(data, seeds, trees)
    if "adult" in arguments.data:
        minorities(found)
    if "mnist" in arguments.data:
        three(found)


if __name__ == "__main__":
    main()
