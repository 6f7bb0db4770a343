"""Epsilon of votes on Adult: worst case, cost of these votes, and the published bound.

    python benchmarks/publication/sanitize.py [--failure 1e-3] [--quick]

250 random forests on 37,222 private rows of Adult, sigma 40, delta 1e-5, one ballot replaced; 100
to 5,000 public rows. By the exact costs of the released bit, and by the published bound of
Papernot et al. (2018). "Margin" is what `publish_epsilon` releases: its order and its noise follow
from public numbers alone, its own cost is in it, and it fails with the probability given. All
Renyi, at the best order each.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from secretballot.accounting import ORDERS, RenyiCost
from secretballot.costs._cost import epsilon_at_orders
from secretballot.costs._margin import GapCosts, Margin
from secretballot.mechanisms import GNMax

sys.path.append(str(Path(__file__).resolve().parents[1] / "accounting"))
from adult_votes import adult_votes
from papernot import published

SIGMA, DELTA, TEACHERS = 40.0, 1e-5, 250
QUERIES = (100, 300, 500, 1_000, 3_000, 5_000)
SOME = tuple(float(each) for each in ORDERS[(ORDERS >= 2) & (ORDERS <= 100)][::2])
NOISES = np.geomspace(0.5, 50, 33)


def margin_bound(move, gaps, failure, rng):
    """The published bound by the margin, median and deviation of many draws; and its parameters."""
    guesses = []
    for order in SOME:
        margin = Margin((GapCosts.from_move(move, TEACHERS, order),), (len(gaps),))
        lower = np.maximum(margin.typical + NOISES * ndtri(failure), 0)
        total = margin.cost_at(lower) + order / (2 * NOISES**2)
        epsilon = epsilon_at_orders(total, order, DELTA)
        guesses.append((epsilon.min(), order, NOISES[epsilon.argmin()]))
    _, order, sigma = min(guesses)
    margin = Margin((GapCosts.from_move(move, TEACHERS, order),), (len(gaps),))
    known = margin.margin_of([np.bincount(gaps, minlength=TEACHERS + 1)])
    noisy = known + sigma * rng.normal(size=2_000)
    bounds = np.array([margin.bound(each, sigma, failure) for each in noisy])
    epsilon = epsilon_at_orders(bounds + order / (2 * sigma**2), order, DELTA)
    return float(np.median(epsilon)), float(epsilon.std()), order, sigma


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failure", type=float, default=1e-3)
    parser.add_argument("--quick", action="store_true", help="1,000 rows only, 5 trees")
    arguments = parser.parse_args()
    votes = adult_votes(TEACHERS, n_trees=5 if arguments.quick else 100)
    rng = np.random.default_rng(0)
    print(f"\nsigma {SIGMA:g}, delta {DELTA:g}, failure {arguments.failure:g}; epsilon")
    print(
        f"{'charge':10s}{'rows':>6s}{'worst':>8s}{'raw':>8s}{'margin':>8s}{'(sd)':>8s}{'/worst':>8s}"
        f"{'/raw':>6s}{'order':>7s}{'noise':>7s}{'seconds':>9s}"
    )
    exact = GNMax(sigma=SIGMA)
    for charge, mechanism in (("exact", exact), ("papernot", published(exact))):
        move = mechanism.laws(2)["*"][0].move
        for n_rows in (1_000,) if arguments.quick else QUERIES:
            counts = votes[:n_rows].astype(float)
            gaps = np.abs(counts[:, 0] - counts[:, 1]).astype(np.int64)
            cost = mechanism.max_cost(2, counts)["*"].sum()
            worst = (n_rows * RenyiCost(move.worst_case())).epsilon(DELTA)
            raw = cost.epsilon(DELTA)
            start = time.perf_counter()
            median, deviation, order, sigma = margin_bound(move, gaps, arguments.failure, rng)
            took = time.perf_counter() - start
            print(
                f"{charge:10s}{n_rows:6d}{worst:8.3f}{raw:8.3f}{median:8.3f}{deviation:8.3f}"
                f"{median / worst:8.3f}{median / raw:6.2f}{order:7.1f}{sigma:7.2f}{took:9.2f}",
                flush=True,
            )
    print("\nsimulated: how large a part of the teachers is right, by row; exact costs, the margin")
    for name, shape in (("Beta(8, 1)", (8, 1)), ("Beta(3, 1)", (3, 1)), ("any", (1, 1))):
        right = rng.binomial(TEACHERS, rng.beta(*shape, 3_000))
        move = GNMax(sigma=SIGMA).laws(2)["*"][0].move
        for n_rows in (500, 1_000, 3_000):
            gaps = np.abs(2 * right[:n_rows] - TEACHERS)
            worst = (n_rows * RenyiCost(move.worst_case())).epsilon(DELTA)
            median, _, _, _ = margin_bound(move, gaps, arguments.failure, rng)
            print(f"{name:12s}{n_rows:6d}{worst:8.3f}{median:8.3f}{median / worst:8.3f}")


if __name__ == "__main__":
    main()
