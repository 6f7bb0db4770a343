"""How many labels a budget buys under published accounting and under ours, on the same votes.

    python benchmarks/accounting/labels_per_budget.py [--votes FILE.npz] [--sigma 40]
        [--sigma-threshold 200] [--threshold 300] [--epsilon 0.6931] [--delta 1e-5] [--quick]

FILE.npz holds an integer array ``votes`` of shape (n_queries, n_classes). Rows are asked in file
order; whether a row passes the threshold is drawn once, seeded, and shared by all accountings.
Counted are the answered rows until the running total exceeds epsilon:

gaussian_published    a/sigma^2 a vote, a/(2 sigma_T^2) a threshold, Mironov, orders 2..50
gaussian              the same, converted by Canonne-Kamath-Steinke on fine orders
papernot_published    Papernot's data-dependent bound, Mironov, orders 2..50
papernot              the same, Canonne-Kamath-Steinke on fine orders
worst_case_exact      exact cost of the outcome, the worst over all votes
exact                 exact cost of the outcome, on these votes
game                  the longest plan whose price as a game fits, the worst over all votes

and, of two classes behind a threshold with the number of votes public (`n_votes`), so that a row is
one outcome of three:

whole_worst_case      exact cost of that outcome, the worst over all votes
whole                 the same, on these votes
game_whole            the longest plan of such rows, the worst over all votes

A plan is fixed before anything is drawn, so the games take a vote for granted on every row that may
pass; counted are those of its rows that do.
The data-dependent ones are planning figures: the epsilon they compare with is itself sensitive.
Without --votes the votes of 250 random forests on Adult are made (about two minutes, cached).
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from adult_votes import adult_votes
from numpy.typing import NDArray
from papernot import published

from secretballot.accounting import EVERYONE, RenyiCost, plan_rows
from secretballot.mechanisms import UNANSWERED, ConfidentGNMax, GNMax

ON_VOTES = ("exact", "whole")
PUBLISHED = {"conversion": "mironov", "orders": range(2, 51)}


def labels_per_budget(
    votes: NDArray[np.int64],
    *,
    sigma: float,
    epsilon: float,
    delta: float,
    sigma_threshold: float | None = None,
    threshold: float | None = None,
    seed: int = 0,
) -> dict[str, int]:
    """Answered rows until the budget, under each accounting."""
    n_classes = votes.shape[1]
    if threshold is None:
        answered = np.ones(len(votes), dtype=bool)
        mechanism = GNMax(sigma=sigma)
    else:
        noise = np.random.default_rng(seed).normal(scale=sigma_threshold, size=len(votes))
        answered = votes.max(axis=1) + noise >= threshold
        mechanism = ConfidentGNMax(
            sigma=sigma, sigma_threshold=sigma_threshold, threshold=threshold
        )
    outcome = np.where(answered, votes.argmax(axis=1), UNANSWERED)

    def count(cost: RenyiCost, **conversion: object) -> int:
        within = RenyiCost(cost.curve.cumsum(axis=0)).epsilon(delta, **conversion) <= epsilon
        n_rows = len(within) if within.all() else int(within.argmin())
        return int(answered[:n_rows].sum())

    def cost(charged: GNMax, *counts: object) -> RenyiCost:
        return charged.cost(outcome, *counts, n_columns=n_classes)[EVERYONE]

    def planned(charged: GNMax) -> int:
        n_rows = plan_rows(charged, len(votes), epsilon, delta, n_columns=n_classes)
        return int(answered[:n_rows].sum())

    gaussian, papernot = cost(published(mechanism)), cost(published(mechanism), votes)
    found = {
        "gaussian_published": count(gaussian, **PUBLISHED),
        "gaussian": count(gaussian),
        "papernot_published": count(papernot, **PUBLISHED),
        "papernot": count(papernot),
        "worst_case_exact": count(cost(mechanism)),
        "exact": count(cost(mechanism, votes)),
        "game": planned(mechanism),
    }
    n_votes = votes[0].sum()
    if threshold is not None and n_classes == 2 and np.all(votes.sum(axis=1) == n_votes):
        whole = replace(mechanism, n_votes=int(n_votes))
        found |= {
            "whole_worst_case": count(cost(whole)),
            "whole": count(cost(whole, votes)),
            "game_whole": planned(whole),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--votes", metavar="FILE.npz")
    parser.add_argument("--sigma", type=float, default=40.0)
    parser.add_argument("--sigma-threshold", type=float)
    parser.add_argument("--threshold", type=float)
    parser.add_argument("--epsilon", type=float, default=float(np.log(2)))
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--seed", type=int, default=0, help="of the threshold's draw")
    parser.add_argument("--quick", action="store_true", help="forests of five trees")
    arguments = parser.parse_args()
    if (arguments.threshold is None) != (arguments.sigma_threshold is None):
        parser.error("--threshold and --sigma-threshold go together")
    if arguments.votes:
        votes = np.load(arguments.votes)["votes"]
    else:
        votes = adult_votes(n_trees=5 if arguments.quick else 100)
        if arguments.threshold is None:
            arguments.threshold, arguments.sigma_threshold = 300.0, 200.0
    counts = labels_per_budget(
        votes,
        sigma=arguments.sigma,
        sigma_threshold=arguments.sigma_threshold,
        threshold=arguments.threshold,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        seed=arguments.seed,
    )
    print(
        f"{len(votes):,} rows, {votes.shape[1]} classes, {votes[0].sum()} ballots; "
        f"epsilon = {arguments.epsilon:.4g}, delta = {arguments.delta:g}"
    )
    for name, labels in counts.items():
        reference = "papernot_published" if "papernot" in name or name in ON_VOTES else "gaussian"
        ratio = labels / max(counts[reference], 1)
        print(f"{name:20s} {labels:7,} labels  {ratio:5.2f} x {reference}")


if __name__ == "__main__":
    main()
