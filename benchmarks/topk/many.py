"""EXP2b: recall against k on a histogram of two heights; one query.

    python benchmarks/topk/many.py [--trials 100] [--epsilon 1] [--delta 1e-6] [--quick]

The paper's numbers are lost. Here 1,000 bins on a public list: k of 220 counts, the others of 100,
k from 1 to 300; the gap of 120 is about twice what StableTopK needs at epsilon 1, delta 1e-6 with
half of its budget. The paper: StableTopK is best throughout, by most for large k, where EM-CDP's
draws share the budget and TS has more gaps that might pass wrongly.
"""

from __future__ import annotations

import argparse

import numpy as np
from histograms import two_heights
from methods import KNOWN_DOMAIN, new_figure, picture_path, recalls, shown, with_best

N_BINS, HIGH, LOW = 1_000, 220, 100
K = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--quick", action="store_true", help="ten trials")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(trials=10)
    arguments = parser.parse_args()
    n_trials = arguments.trials
    epsilon, delta = arguments.epsilon, arguments.delta
    found = {}
    for name, method in KNOWN_DOMAIN.items():
        cells = []
        for k in K:
            counts = two_heights(k, N_BINS, HIGH, LOW)[None]
            one = recalls(name, method, counts, k, epsilon, delta, n_trials)
            cells.append((float(one.mean()), float(one.std())))
        found[name] = cells
    found = with_best(found)
    print(
        f"\n{N_BINS:,} bins, k of {HIGH}, the others {LOW}; epsilon {epsilon:g}, delta {delta:g}; "
        f"recall, mean (deviation) of {n_trials}"
    )
    print(f"{'k':26s}" + "".join(f"   {k:<11d}" for k in K))
    for name, cells in found.items():
        print(f"{name:26s}{shown(cells)}")
    figure = new_figure(7, 4.5)
    if figure is None:
        return
    ax = figure.subplots()
    for name, cells in found.items():
        means, deviations = np.transpose(cells)
        (line,) = ax.plot(K, means, marker="o", markersize=3, label=name)
        low, high = np.maximum(means - deviations, 0), np.minimum(means + deviations, 1)
        ax.fill_between(K, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    ax.set(xlabel="k", ylabel="recall", xscale="log", ylim=(0, 1.05))
    ax.legend(fontsize=7)
    path = picture_path("topk_many.png")
    figure.savefig(path, dpi=100)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
