"""How many labels an epsilon buys: published accounting, Renyi accounting, and the game.

    python examples/labels_against_epsilon.py [--rows 1200]

Two classes, noise 40 on each count, delta = 1e-5, the worst case over all votes. Prints a table
and, with matplotlib, draws output/labels_against_epsilon.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import EVERYONE, ORDERS, RenyiCost, plan_rows
from secretballot.costs._noise import gaussian_delta
from secretballot.mechanisms import GNMax

Floats = NDArray[np.float64]
SIGMA, DELTA = 40.0, 1e-5
EPSILONS = np.array([0.25, 0.5, np.log(2), 1.0, 1.5, 2.0, 3.0, 4.0])


#: Renyi divergences of the noisy counts behind a label, which published accounting adds up.
PUBLISHED = RenyiCost(ORDERS / SIGMA**2)


def by_renyi(epsilons: Floats, label: RenyiCost, n_most: int, **conversion: object) -> list[int]:
    """Labels by adding up Renyi divergences."""
    sums = RenyiCost(np.arange(1, n_most + 1)[:, None] * label.curve)
    spent = sums.epsilon(DELTA, **conversion)
    return [int((spent <= epsilon).sum()) for epsilon in epsilons]


def by_noisy_counts(epsilons: Floats, n_most: int) -> list[int]:
    """Labels if the noisy counts were released: Gaussians composed exactly."""
    ratio = np.sqrt(2) / SIGMA
    return [
        max(n for n in range(1, n_most) if gaussian_delta(ratio * np.sqrt(n), epsilon) <= DELTA)
        for epsilon in epsilons
    ]


def by_game(epsilons: Floats, n_most: int) -> list[int]:
    """Labels by the worst case of the whole plan."""
    mechanism = GNMax(sigma=SIGMA)
    return [plan_rows(mechanism, n_most, epsilon, DELTA, n_columns=2) for epsilon in epsilons]


def labels(epsilons: Floats, n_most: int = 1200) -> dict[str, list[int]]:
    """Labels that each epsilon buys, by accounting; at most `n_most`."""
    mironov = {"conversion": "mironov", "orders": range(2, 51)}
    exact = GNMax(sigma=SIGMA).max_cost(2)[EVERYONE]
    return {
        "published": by_renyi(epsilons, PUBLISHED, n_most, **mironov),
        "better conversion": by_renyi(epsilons, PUBLISHED, n_most),
        "noisy counts, exactly": by_noisy_counts(epsilons, n_most),
        "exact outcomes, Renyi": by_renyi(epsilons, exact, n_most),
        "exact outcomes, game": by_game(epsilons, n_most),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1200, help="the most labels looked at")
    bought = labels(EPSILONS, parser.parse_args().rows)
    print(f"{'epsilon':22s}" + "".join(f"{epsilon:8.3f}" for epsilon in EPSILONS))
    for name, counts in bought.items():
        print(f"{name:22s}" + "".join(f"{count:8,}" for count in counts))
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, counts in bought.items():
        axes.plot(EPSILONS, np.where(counts, counts, np.nan), marker="o", label=name)
    axes.set(xlabel="epsilon", ylabel="labels", xscale="log", yscale="log")
    axes.set_title(f"Labels that an epsilon buys (sigma {SIGMA:g}, delta {DELTA:g}, worst case)")
    axes.set_xticks(EPSILONS, [f"{epsilon:.3g}" for epsilon in EPSILONS], minor=False)
    axes.set_xticks([], minor=True)
    axes.legend()
    path = Path("output") / "labels_against_epsilon.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
