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
gate         what the accountant releases: it decides at a Renyi order fixed beforehand, charging
             for known votes (data dependent) or the worst ones; first seed, one voting

The votes and what was made of them are kept in output/individual: an interrupted run goes on
where it was. Two pictures are drawn in output: epsilon of each level over the rows asked, and
labels by the share of people who have the larger budget (not with --quick). --quick has one seed,
two votings, forests of 10 trees, and shares of 50 % only.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import plots
from accounting import ACCOUNTINGS
from published import (
    LABELS,
    MINORITY,
    MINORITY_LABELS,
    SENSITIVITY_RATIOS,
    STUDENT,
    TEACHER_ACCURACY,
    THREE_LEVELS,
)
from ratios import cost_ratios
from runs import GATES, N_VOTINGS, RULES, evaluate, of_one_mind
from settings import HIGHER, SHARES, Setting, minority, three_levels, two_levels
from votes import MNIST, collect

Found = dict[Setting, dict[str, Any]]
COLUMNS = (*ACCOUNTINGS, *GATES)
WAYS = ("upsampling", "weighting")
MINORITY_SHARES = (25, 50, 75, 100)


def settings(data: str, quick: bool) -> list[Setting]:
    """All settings of a data set."""
    shares = (50,) if quick else SHARES
    higher = (4, 16) if quick else HIGHER
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
    print(" " * 36 + "".join(f"{name:>15s}" for name in COLUMNS) + "  exact/published")
    every = [(Setting(data), "", "plain")]
    for way in WAYS:
        for setting, higher, share in pairs(data, way, found):
            rules = ("proportional", "balanced") if way == "weighting" else ("",)
            every += [
                (setting, rule, f"{way:10s} log {higher:<2d} {share:3d} % {rule}") for rule in rules
            ]
    for setting, rule, name in every:
        labels = [values(found, setting, column, rule, "labels") for column in COLUMNS]
        cells = "".join(f"{each.mean():15.0f}" if len(each) else f"{'-':>15s}" for each in labels)
        print(f"{name:36s}{cells}  {labels[1].mean() / labels[0].mean():8.2f}")


def evenness(data: str, found: Found) -> None:
    """How much of its budget each level has spent when labelling stops."""
    head(f"Share of its budget (%) that each level has spent when labelling stops, {data}")
    print(" " * 40 + "".join(f"{name:>21s}" for name in COLUMNS))
    lowest: dict[str, dict[str, float]] = {}
    for setting in found:
        if setting.data != data or setting.way == "plain" or setting.within is not None:
            continue
        budgets = "/".join(f"{epsilon:.2f}" for epsilon in setting.epsilons)
        sizes = "-".join(map(str, setting.percent))
        for rule in RULES if setting.way == "weighting" else ("",):
            cells, name = "", rule or setting.way
            for column in COLUMNS:
                shares = values(found, setting, column, rule, "shares")
                mean = [
                    100 * np.mean([each[level] for each in shares])
                    for level in (setting.names if len(shares) else ())
                ]
                cells += f"{'/'.join(f'{share:.1f}' for share in mean) or '-':>21s}"
                least = lowest.setdefault(name, dict.fromkeys(COLUMNS, np.inf))
                least[column] = min(least[column], *mean, np.inf)
            print(f"{budgets} {sizes} {name:>14s}".ljust(40) + cells)
    for name, least in lowest.items():
        cells = (f"{share:21.1f}" if share < np.inf else f"{'-':>21s}" for share in least.values())
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
        parser.set_defaults(seeds=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    trees, n_votings = (10, 2) if arguments.quick else (100, N_VOTINGS)
    seeds = range(arguments.seeds)
    if arguments.quick:
        print("quick: two votings, forests of 10 trees, shares of 50 % only")
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
    pictures = [plots.costs(arguments.data, seeds[0], trees)]
    if not arguments.quick:
        pictures.append(plots.labels(arguments.data, found))
    print("\npictures: " + ", ".join(f"output/{picture.name}" for picture in pictures))


if __name__ == "__main__":
    main()
