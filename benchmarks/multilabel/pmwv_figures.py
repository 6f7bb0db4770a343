"""PMWV's Figure 1 and Table 14, by published accounting and by ours.

    python benchmarks/multilabel/pmwv_figures.py [--quick]

Figure 1 exactly: 50 teachers, sigma 7; ballots at random (each label with probability 1/2) at
epsilon 20, and ballots of zeros alone at epsilon 2; rows answered by number of labels, Binary and
Powerset. The caption names no delta: 1e-5 here, the paper's for its smaller sets.

Table 14's shape: epsilon 16, sigma 9, 20 labels, 50 teachers, delta 1e-5 to 1e-8. Pascal VOC is not
to be had: ballots on 20 sparse labels stand in, whose teachers err as often as lets published
accounting answer the paper's number of rows at delta 1e-5; the other three are then comparable.

published     Papernot's bound per label (Powerset: per row), composed; Mironov, orders 2 to 50
exact         the exact cost of what is released, on these votes
worst case    the most that it is on any votes; "published" of that is a/sigma^2 per label
game          the longest plan whose price as a game fits, whatever the votes are

Figure 1 has no numbers in the paper: compare which curve is above which.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from accountings import (
    MOST_ROWS,
    PUBLISHED,
    answered,
    game_rows,
    label_costs,
    worst_case_rows,
)
from numpy.typing import NDArray

from secretballot.accounting import EVERYONE, RenyiCost
from secretballot.mechanisms import BinaryVoting, PowersetVoting, count_ballots

sys.path.append(str(Path(__file__).resolve().parents[1] / "accounting"))
from papernot import published

N_TEACHERS, DELTA = 50, 1e-5
#: PMWV, Table 14: rows answered by delta.
TABLE_14 = {1e-5: 170, 1e-6: 158, 1e-7: 151, 1e-8: 139}


def by_accounting(
    kind: str, ballots: NDArray[Any], sigma: float, epsilon: float, delta: float
) -> dict[str, int]:
    """Rows answered by a mechanism, under every accounting."""
    n_labels = ballots.shape[2]
    binary = kind == "Binary"
    votes = ballots.sum(axis=1, dtype=np.int64) if binary else count_ballots(ballots)

    if binary:
        ours = BinaryVoting(sigma=sigma, n_votes=N_TEACHERS)
    else:
        ours = PowersetVoting(sigma=sigma, n_labels=n_labels)
    theirs = published(ours)

    def known(mechanism: Any) -> RenyiCost:
        if binary:
            return label_costs(mechanism, votes)
        return mechanism.max_cost(counts=votes)[EVERYONE]

    return {
        "published": answered(known(theirs), epsilon, delta, PUBLISHED),
        "exact": answered(known(ours), epsilon, delta),
        "published worst case": worst_case_rows(theirs, n_labels, epsilon, delta, published=True),
        "worst case": worst_case_rows(ours, n_labels, epsilon, delta),
        "game": game_rows(ours, n_labels, epsilon, delta),
    }


COLUMNS = ("published", "exact", "published worst case", "worst case", "game")


def print_header(first: str) -> None:
    print(f"{first:22s}" + "".join(f"{column:>22s}" for column in COLUMNS))


def print_line(first: str, found: dict[str, int]) -> None:
    def shown(column: str) -> str:
        rows = found.get(column)
        return "" if rows is None else f"over {rows:,}" if rows == MOST_ROWS else f"{rows:,}"

    print(f"{first:22s}" + "".join(f"{shown(column):>22s}" for column in COLUMNS), flush=True)


def figure_1(n_rows: int, n_labels: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for title, epsilon, random in (
        ("Figure 1, left: ballots at random, epsilon 20", 20.0, True),
        ("Figure 1, right: all ballots 0, epsilon 2", 2.0, False),
    ):
        print(f"\n{title}; sigma 7, {N_TEACHERS} teachers, delta {DELTA:g}: rows answered")
        print_header("labels")
        for k in n_labels:
            shape = (n_rows if random else 1, N_TEACHERS, k)
            ballots = rng.integers(0, 2, shape) if random else np.zeros(shape)
            for kind in ("Binary", "Powerset"):
                print_line(f"{k:3d} {kind}", by_accounting(kind, ballots, 7.0, epsilon, DELTA))


def sparse_ballots(wrong: float, n_rows: int = 1_000, n_labels: int = 20) -> NDArray[np.uint8]:
    """Ballots on labels of which 1.5 are present on average; some rows are harder than others.

    A teacher misses a label that is present, or adds one, with probabilities that grow together.
    """
    rng = np.random.default_rng(1)
    truth = rng.random((n_rows, 1, n_labels)) < 1.5 / n_labels
    hard = rng.exponential(size=(n_rows, 1, n_labels)) * wrong
    chance = np.where(truth, np.minimum(5 * hard, 0.9), np.minimum(hard, 0.5))
    return truth ^ (rng.random((n_rows, N_TEACHERS, n_labels)) < chance)


def table_14() -> None:
    sigma, epsilon = 9.0, 16.0

    def rows(wrong: float) -> int:
        positives = sparse_ballots(wrong).sum(axis=1)
        binary = published(BinaryVoting(sigma=sigma, n_votes=N_TEACHERS))
        costs = label_costs(binary, positives)
        return answered(costs, epsilon, DELTA, PUBLISHED)

    low, high = 0.0, 0.5
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if rows(middle) > TABLE_14[DELTA] else (low, middle)
    ballots = sparse_ballots(high)
    print(
        f"\nTable 14's shape: Binary, 20 labels, sigma {sigma:g}, epsilon {epsilon:g}; teachers "
        f"err on {high:.2%} of the absent labels and up to five times as often on the present"
    )
    print_header("delta         paper")
    for delta, paper in TABLE_14.items():
        found = by_accounting("Binary", ballots, sigma, epsilon, delta)
        print_line(f"{delta:g} {paper:12d}", found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and numbers of labels")
    quick = parser.parse_args().quick
    figure_1(*((100, (1, 2, 8)) if quick else (500, (1, 2, 3, 4, 6, 8, 10, 12, 16, 20))))
    table_14()


if __name__ == "__main__":
    main()
