"""The table and the picture of what run.py found.

    python benchmarks/equal_epsilon/table.py [--out FILE] [--sets ...] [--pools ...]
        [--metrics accuracy auc] [--by accuracy] [--settings] [--picture FILE]

A cell is the mean over seeds and its standard error, for each metric. Of a method with several
settings (what follows the colon) that one is shown whose mean of ``--by`` is the best on the test
rows at this epsilon, set and pool, which favours it; ``--settings`` says which they were.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from results import DEFAULT, METRICS, read

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
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        found[metric] = (float(values.mean()), float(error))
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


def settings(found: dict[Cell, Best]) -> Iterable[str]:
    """Yield a line for each setting that is shown."""
    for cell, best in sorted(found.items(), key=lambda item: str(item[0])):
        if best.setting:
            where = f"{cell.set}, {cell.pool:,} public rows, epsilon {cell.epsilon:g}"
            yield f"{where}, {cell.method}: {best.setting}"


def picture(found: dict[Cell, Best], sets: Sequence[str], pool: int, metric: str) -> Figure:
    """Draw a metric over epsilon, a panel a set, a line a method."""
    figure = Figure(figsize=(5 * len(sets), 5), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(sets), squeeze=False)[0], sets, strict=True):
        here = {c: best for c, best in found.items() if (c.set, c.pool) == (name, pool)}
        for method in dict.fromkeys(cell.method for cell in here):
            points = sorted(
                (cell.epsilon, *best.summary[metric])
                for cell, best in here.items()
                if cell.method == method and cell.epsilon is not None
            )
            if points:
                epsilons, means, errors = zip(*points, strict=True)
                ax.errorbar(epsilons, means, errors, marker="o", markersize=3, label=method)
            else:
                mean = here[Cell(name, pool, method, None)].summary[metric][0]
                ax.axhline(mean, color="grey", linestyle=":", linewidth=0.8)
                note = ax.annotate(method, (0.99, mean), **_NOTE)
                note.set_in_layout(False)
        ax.set_xscale("log")
        ax.set_title(f"{name}, {pool:,} public rows", fontsize=9)
        ax.set_xlabel("epsilon (delta 1e-5, one row replaced)")
        # Nobody needs to see how bad the worst are.
        tops = [best.summary[metric][0] for best in here.values()]
        ax.set_ylim(max(min(tops), np.quantile(tops, 0.15) - 0.01), max(tops) + 0.004)
    first = figure.axes[0]
    first.set_ylabel(metric.replace("_", " "))
    figure.legend(
        *first.get_legend_handles_labels(), loc="outside lower center", ncols=2 * len(sets)
    )
    return figure


_NOTE: dict[str, Any] = {
    "xycoords": ("axes fraction", "data"),
    "annotation_clip": True,  # not below the axes
    "fontsize": 6,
    "color": "grey",
    "ha": "right",
    "va": "bottom",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=DEFAULT, help="what run.py wrote")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--pools", nargs="+", type=int)
    parser.add_argument("--metrics", nargs="+", default=["accuracy", "auc"], choices=METRICS)
    parser.add_argument("--by", default="accuracy", choices=METRICS)
    parser.add_argument("--settings", action="store_true", help="list the settings shown")
    parser.add_argument("--picture", type=Path, help="draw the first metric, largest pool")
    given = parser.parse_args()
    found = cells(given.out, given.by)
    if not found:
        print(f"No results in {given.out.name} yet: run run.py first.")
        return
    sets = given.sets or list(dict.fromkeys(cell.set for cell in found))
    pools = given.pools or sorted({cell.pool for cell in found})
    for name in sets:
        for pool in pools:
            if any((cell.set, cell.pool) == (name, pool) for cell in found):
                print(table(found, name, pool, given.metrics), end="\n\n")
    if given.settings:
        print(*settings(found), sep="\n")
    if given.picture:
        picture(found, sets, pools[-1], given.metrics[0]).savefig(given.picture, dpi=90)


if __name__ == "__main__":
    main()
