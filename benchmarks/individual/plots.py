"""Pictures of what individual budgets cost and buy; for `tables.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accounting import ACCOUNTINGS, Prices, draw
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from published import LABELS
from runs import individual
from settings import HIGHER, SHARES, Setting, two_levels
from votes import CACHE, rows, votes_of

from secretballot.divergences import EVERYONE

TITLES = {"adult": "Adult", "mnist": "MNIST"}
VARIANTS = {
    "no individual budgets": ("plain", ""),
    "upsampling": ("upsampling", ""),
    "weighting, proportional": ("weighting", "proportional"),
    "weighting, balanced": ("weighting", "balanced"),
}
WITH = 16  # log 16 beside log 2, as many people each: where rules differ most
TICKS = (100, 200, 500, 1_000, 2_000)
COLOURS = ("tab:blue", "tab:orange", "tab:green")


def save(figure: Figure, name: str) -> Path:
    """Write a picture into the output folder."""
    path = CACHE.parent / name
    figure.savefig(path, dpi=75)
    return path


def costs(data: Sequence[str], seed: int, trees: int) -> Path:
    """Draw epsilon of each level over the rows asked, until one has reached its budget."""
    figure = Figure(figsize=(11, 3 * len(data)), layout="constrained")
    axes = figure.subplots(len(data), len(VARIANTS), squeeze=False, sharex="row", sharey=True)
    for row, name in zip(axes, data, strict=True):
        for ax, (title, (way, rule)) in zip(row, VARIANTS.items(), strict=True):
            setting = Setting(name) if way == "plain" else two_levels(name, way, WITH, 50)
            _draw_costs(ax, setting, rule, seed, trees)
            ax.set_title(f"{TITLES[name]}: {title}", fontsize=9)
        row[0].set_ylabel("epsilon")
    for ax in axes[-1]:
        ax.set_xlabel("public rows asked")
    key = {
        "people at log 2": {"color": COLOURS[0]},
        f"people at log {WITH}": {"color": COLOURS[1]},
        "published accounting": {"color": "black", "linestyle": ":"},
        "exact accounting": {"color": "black"},
        "budget": {"color": "black", "linestyle": "--", "linewidth": 0.6},
    }
    lines = [Line2D([], [], label=label, **style) for label, style in key.items()]
    axes[0, 0].legend(handles=lines, fontsize=7, loc="upper right")
    return save(figure, "individual_costs.png")


def _draw_costs(ax: Axes, setting: Setting, rule: str, seed: int, trees: int) -> None:
    split, votes = rows(setting.data, seed), votes_of(setting, seed, trees)
    counts, mechanism = individual(setting, rule, votes, split, seed)
    voting = draw(counts, mechanism, [seed, 0], passes=1)
    names = (EVERYONE,) if setting.way == "plain" else setting.names
    budgets = dict(zip(names, setting.epsilons, strict=True))
    for accounting, style in (("published", ":"), ("exact", "-")):
        prices = Prices(counts, mechanism, ACCOUNTINGS[accounting])
        stop = prices.stop(voting, budgets).n_rows
        each = list(prices.epsilons(voting))
        for level, colour in zip(names, COLOURS, strict=False):
            line = np.concatenate([epsilons[level] for epsilons in each])[:stop]
            ax.plot(line, style, color=colour)
    for level, colour in zip(names, COLOURS, strict=False):
        ax.axhline(budgets[level], color=colour, linewidth=0.6, linestyle="--")


def labels(data: Sequence[str], found: Mapping[Setting, Mapping[str, Any]]) -> Path:
    """Draw labels against the share of people who have the larger budget."""
    figure = Figure(figsize=(9, 3.4 * len(data)), layout="constrained")
    axes = figure.subplots(len(data), 2, squeeze=False, sharex=True, sharey=True)
    for row, name in zip(axes, data, strict=True):
        for ax, accounting in zip(row, ("published", "exact"), strict=True):
            _draw_labels(ax, name, accounting, found)
        row[0].set_ylabel("labels")
    for ax in axes[-1]:
        ax.set_xlabel("share of people with the larger budget (%)")
    axes[0, 0].legend(fontsize=7)
    return save(figure, "individual_labels.png")


def _draw_labels(
    ax: Axes, data: str, accounting: str, found: Mapping[Setting, Mapping[str, Any]]
) -> None:
    def mean(setting: Setting, rule: str) -> float:
        return float(
            np.mean(
                [
                    run["labels"]
                    for run in found[setting]["runs"]
                    if (run["accounting"], run["rule"]) == (accounting, rule)
                ]
            )
        )

    plain = mean(Setting(data), "")
    rule = "proportional" if accounting == "published" else "balanced"
    for row, (higher, colour) in enumerate(zip(HIGHER, COLOURS, strict=True)):
        for way, style in (("upsampling", "o-"), ("weighting", "s--")):
            each = [two_levels(data, way, higher, share) for share in SHARES]
            line = [mean(setting, rule if way == "weighting" else "") for setting in each]
            label = f"{way}, log {higher}"
            ax.plot((0, *SHARES), (plain, *line), style, color=colour, markersize=4, label=label)
            if accounting == "published":
                marker = "x" if way == "upsampling" else "+"
                ax.plot(SHARES, LABELS[data][way][row], marker, color=colour)
    if accounting == "published":
        ax.plot(0, LABELS[data]["plain"], "x", color="black", label="x, +: the published figures")
    ax.set_title(f"{TITLES[data]}: {accounting} accounting, weights {rule}", fontsize=9)
    ax.set_yscale("log")
    ax.set_yticks(TICKS, map(str, TICKS))
    ax.minorticks_off()
