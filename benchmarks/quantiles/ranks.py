"""Errors of the ranks of nine deciles of all columns of numbers, by method, at the same budget.

    python benchmarks/quantiles/ranks.py [--quick]

Columns with a thousand different values or more of Bank (2) and Credit (13), with the bounds of
`equal_epsilon/sets.py`; delta 1e-5, one row replaced. A rank's error is the distance of the
decile from the shares of rows below and up to the released value, give or take a 1,024th of the
bounds: many rows share a value, and have no single rank.

ours        the square root of the prefix sums, 1,024 bins
histogram   the noisy histogram of each column, added up
tree        a binary tree of counts, all levels, with the least squares of consistent sums
exponential one draw for each quantile of each column (Smith 2011), as other libraries have it;
            by zero-concentrated composition of draws of bounded range

``wide`` has bounds ten times as wide.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "equal_epsilon"))

import sets

from secretballot import PrivacyAccountant
from secretballot.costs._cost import gaussian_budget
from secretballot.measures import private_quantiles
from secretballot.measures._rank_grid import NoisyRanks, RankGrid

Floats = NDArray[np.float64]
Method = Callable[[Floats, Floats, float, np.random.Generator], Floats]

LEVELS = np.linspace(0.1, 0.9, 9)
DELTA, N_BINS, FEWEST_VALUES = 1e-5, 1024, 1_000


def gaussian_mu(epsilon: float) -> float:
    return float(np.sqrt(gaussian_budget(epsilon, DELTA, 0.0)))


def ours(X: Floats, bounds: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    accountant = PrivacyAccountant(epsilon, DELTA)
    return private_quantiles(
        X, LEVELS, bounds=bounds, accountant=accountant, random_state=rng, share="rest"
    ).values


def histograms(X: Floats, bounds: Floats) -> tuple[Floats, Floats]:
    columns = list(range(len(bounds)))
    edges = RankGrid.between(columns, dict(enumerate(bounds)), N_BINS).edges
    bins = [np.searchsorted(e[1:-1], x, side="right") for e, x in zip(edges, X.T, strict=True)]
    return edges, np.array([np.bincount(b, minlength=N_BINS) for b in bins], dtype=float)


def values_at(edges: Floats, ranks: Floats) -> Floats:
    rising = np.maximum.accumulate(ranks, axis=1)
    return NoisyRanks(edges, rising, 0.0, 0).quantiles(LEVELS)


def histogram(X: Floats, bounds: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    edges, counts = histograms(X, bounds)
    sigma = np.sqrt(2 * X.shape[1]) / gaussian_mu(epsilon)
    return values_at(edges, np.cumsum(counts + sigma * rng.normal(size=counts.shape), axis=1))


def tree(X: Floats, bounds: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Compute ranks of leaves by least squares, from the root down (Hay et al. 2010)."""
    edges, counts = histograms(X, bounds)
    depth = int(np.log2(N_BINS))
    sigma = np.sqrt(2 * X.shape[1] * depth) / gaussian_mu(epsilon)
    exact = [counts.reshape(len(counts), 2**level, -1).sum(axis=2) for level in range(depth + 1)]
    noisy = [level + sigma * rng.normal(size=level.shape) for level in exact[1:]]
    best = [noisy[-1]]  # from the leaves up: averages of a node and the sum of its children
    for height, level in enumerate(reversed(noisy[:-1]), 2):
        below = best[0].reshape(*level.shape, 2).sum(axis=2)
        own = (2**height - 2 ** (height - 1)) / (2**height - 1)
        best.insert(0, own * level + (1 - own) * below)
    sums = np.full((len(counts), 1), float(len(X)))
    for level in best:
        children = level.reshape(*sums.shape, 2)
        missing = sums - children.sum(axis=2)
        sums = (children + missing[..., None] / 2).reshape(len(counts), -1)
    return values_at(edges, np.cumsum(sums, axis=1))


def exponential(X: Floats, bounds: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    rho = gaussian_mu(epsilon) ** 2 / 2 / (X.shape[1] * len(LEVELS))
    share = np.sqrt(8 * rho)
    values = np.empty((X.shape[1], len(LEVELS)))
    for column, (low, high) in enumerate(bounds):
        ends = np.concatenate([[low], np.sort(X[:, column]), [high]])
        widths, below = np.diff(ends), np.arange(len(ends) - 1)
        for position, level in enumerate(LEVELS):
            with np.errstate(divide="ignore"):
                scores = np.log(widths) - share / 2 * np.abs(below - level * len(X))
            chosen = int(np.argmax(scores + rng.gumbel(size=len(scores))))
            values[column, position] = rng.uniform(ends[chosen], ends[chosen + 1])
    return values


METHODS: dict[str, Method] = {
    "ours": ours,
    "histogram": histogram,
    "tree": tree,
    "exponential": exponential,
}


def rank_errors(X: Floats, values: Floats, tolerance: Floats) -> Floats:
    """Compute each decile's distance from the shares of rows near its value."""
    columns = list(zip(np.sort(X, axis=0).T, values, tolerance, strict=True))
    below = np.array([np.searchsorted(x, v - t, "left") for x, v, t in columns]) / len(X)
    up_to = np.array([np.searchsorted(x, v + t, "right") for x, v, t in columns]) / len(X)
    return np.maximum(np.maximum(below - LEVELS, LEVELS - up_to), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seeds, epsilon 1")
    arguments = parser.parse_args()
    epsilons, seeds = ((1.0,), 2) if arguments.quick else ((0.1, 0.5, 1.0, 2.0), 10)
    warnings.filterwarnings("ignore", message="Noise drawn with random_state")
    print(f"mean (largest) error of a rank in % of the rows, {seeds} seeds")
    for name in ("bank", "credit"):
        if name not in sets.available():
            print(f"left out: {name} is not in the folder of data")
            continue
        table, _ = sets._load(name)
        declared = {
            column: ends
            for column, ends in table.attrs["bounds"].items()
            if table[column].nunique() >= FEWEST_VALUES
        }
        bounds = np.array(list(declared.values()), dtype=float)
        X = np.clip(table[list(declared)].to_numpy(float), bounds[:, 0], bounds[:, 1])
        near = (bounds[:, 1] - bounds[:, 0]) / N_BINS
        for wide in (1, 10):
            grown = bounds[:, :1] + (bounds - bounds[:, :1]) * wide
            for epsilon in epsilons:
                cells = []
                for label, method in METHODS.items():
                    found = [
                        rank_errors(X, method(X, grown, epsilon, np.random.default_rng(seed)), near)
                        for seed in range(seeds)
                    ]
                    cells.append(f"{label} {100 * np.mean(found):.2f} ({100 * np.max(found):.1f})")
                print(f"{name:7s}{'wide ' if wide > 1 else '     '}{epsilon:4}: {', '.join(cells)}")


if __name__ == "__main__":
    main()
