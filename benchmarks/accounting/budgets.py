"""What the three kinds of budget buy, in batches and behind a threshold.

    python benchmarks/accounting/budgets.py [--quick]

A budget counts Renyi divergences at one order (``order="renyi"``) or mu^2 (``order="gaussian"``);
*prepaid* is mu^2 with one reservation that all batches draw on. Every figure is what an accountant
did release. delta is 1e-5, and ratios are to the Renyi kind of the same line. Without the cached
votes of labels_per_budget.py those of 250 random forests on Adult are made (about two minutes).
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from adult_votes import adult_votes
from scipy.special import ndtr
from scipy.stats import binom

from secretballot import BudgetExceededError, PrivacyAccountant
from secretballot.accounting import ORDERS, RenyiCost, Reservation
from secretballot.mechanisms import UNANSWERED, ConfidentGNMax, GNMax, Mechanism

SIGMA, DELTA = 40.0, 1e-5
KINDS = {"Renyi": "renyi", "Gaussian": "gaussian", "prepaid": "gaussian"}
LOG2 = math.log(2)

Epsilon = float | Mapping[str, float]


def budget(kind: str, epsilon: Epsilon) -> PrivacyAccountant:
    return PrivacyAccountant(epsilon, DELTA, order=KINDS[kind])


def rows(n_rows: int) -> np.ndarray:
    """Votes of two classes: the worst case is charged whatever they are."""
    return np.tile([125.0, 125.0], (n_rows, 1))


def drawn(
    accountant: PrivacyAccountant, mechanism: Mechanism, n_rows: int, **options: object
) -> int:
    """How many of so many rows are begun."""
    try:
        return len(accountant.release(mechanism, rows(n_rows), **options))
    except BudgetExceededError:
        return 0


def most(fits: Callable[[int], bool], high: int) -> int:
    """The largest number up to `high` that fits."""
    if fits(high):
        return high
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def reserved(
    accountant: PrivacyAccountant, mechanism: Mechanism, n_rows: int, n_answers: int | None = None
) -> Reservation | None:
    try:
        return accountant.reserve(mechanism, n_rows, n_columns=2, n_answers=n_answers)
    except BudgetExceededError:
        return None


def in_batches(kind: str, epsilon: float, n_batches: int, in_one: int) -> int:
    """Labels in so many batches, all of one size and all answered in full.

    Where not even single rows all fit, as many as do. Where rows may be charged one by one, or are
    paid for beforehand, the last batches may be smaller.
    """
    mechanism = GNMax(sigma=SIGMA)
    if kind in ("Renyi", "prepaid"):
        accountant, size = budget(kind, epsilon), -(-in_one // n_batches)
        reservation = reserved(accountant, mechanism, in_one) if kind == "prepaid" else None
        sizes = [min(size, in_one - start) for start in range(0, in_one, size)]
        return sum(drawn(accountant, mechanism, n, reservation=reservation) for n in sizes)

    def answered(size: int) -> int:
        accountant = budget(kind, epsilon)
        found = 0
        for _ in range(n_batches):
            now = drawn(accountant, mechanism, size)
            found += now
            if now < size:
                break
        return found

    size = most(lambda b: answered(b) == n_batches * b, in_one // n_batches)
    return n_batches * size if size else answered(1)


def published(epsilon: float) -> int:
    """Labels by a / sigma^2 and Mironov's conversion at orders 2 to 50."""
    one = RenyiCost(ORDERS / SIGMA**2)

    def fits(n: int) -> bool:
        return (n * one).epsilon(DELTA, conversion="mironov", orders=range(2, 51)) <= epsilon

    return most(fits, 2_000)


def limit(epsilon: float) -> int:
    """Labels that no sound accounting exceeds: the best gap, the same in all rows, computed."""
    ratio = math.sqrt(2) / SIGMA
    gap = np.linspace(-1, 1, 401)[:, None]

    def within(n: int) -> bool:
        k = np.arange(n + 1)
        p, q = (binom.pmf(k, n, ndtr(gap - shift)) for shift in (0, ratio))
        return bool((np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=1) <= DELTA).all())

    return most(within, 2_000)


def print_batches(quick: bool) -> None:
    epsilons = (LOG2, 1.0) if quick else (0.5, LOG2, 1.0, 2.0, 4.0)
    print("\nLabels of two classes, sigma 40, by epsilon (beside them, times those of Renyi)")
    print(f"{'':26s}" + "".join(f"{epsilon:14.3f}" for epsilon in epsilons))
    plain = {"published accounting": published, "limit": limit}
    for name, compute in plain.items():
        print(f"{name:26s}" + "".join(f"{compute(epsilon):7,}       " for epsilon in epsilons))
    one = {
        kind: [drawn(budget(kind, epsilon), GNMax(sigma=SIGMA), 1_200) for epsilon in epsilons]
        for kind in ("Renyi", "Gaussian")
    }
    one["prepaid"] = one["Gaussian"]
    for n_batches in (1, 4) if quick else (1, 4, 10, 50):
        for kind in KINDS:
            labels = [
                in_batches(kind, epsilon, n_batches, in_one)
                for epsilon, in_one in zip(epsilons, one[kind], strict=True)
            ]
            shown = "".join(
                f"{n:7,} ({n / r:.2f})" for n, r in zip(labels, one["Renyi"], strict=True)
            )
            print(f"{f'{kind}, batches: {n_batches}':26s}{shown}", flush=True)


def answers(
    kind: str, epsilon: float, mechanism: ConfidentGNMax, seed: int, votes: np.ndarray
) -> int:
    """Labels of the Adult votes. Prepaid: 2.75 rows for an answer, the rest after a settlement."""
    accountant = budget(kind, epsilon)
    if kind != "prepaid":
        outcome = accountant.release(mechanism, votes, random_state=seed)
        return int((outcome != UNANSWERED).sum())
    found, start = 0, 0
    n_answers = most_answers(epsilon, mechanism)
    reservation = reserved(accountant, mechanism, math.ceil(2.75 * n_answers), n_answers)
    assert reservation is not None
    n_rows = accountant.reserved(reservation).rows_left
    for first in (True, False):
        asked = votes[:n_rows] if first else votes[start:]
        try:
            outcome = accountant.release(
                mechanism, asked, reservation=reservation if first else None, random_state=seed
            )
        except BudgetExceededError:
            break
        found, start = found + int((outcome != UNANSWERED).sum()), start + len(outcome)
        if first:
            accountant.settle(reservation)
    return found


def most_answers(epsilon: float, mechanism: ConfidentGNMax) -> int:
    """The most answers, with 2.75 rows for each, that can be reserved."""

    def fits(n: int) -> bool:
        accountant = budget("prepaid", epsilon)
        return reserved(accountant, mechanism, math.ceil(2.75 * n), n) is not None

    return most(fits, 400)


def print_thresholds(quick: bool) -> None:
    epsilons = (LOG2, 1.0) if quick else (LOG2, 1.0, 2.0)
    seeds = (0,) if quick else (0, 1, 2)
    votes = adult_votes(n_trees=5 if quick else 100)
    two = ConfidentGNMax(sigma=SIGMA, sigma_threshold=200, threshold=300)
    one = ConfidentGNMax(sigma=SIGMA, sigma_threshold=200, threshold=300, n_votes=250)
    print(
        "\nAnswers on Adult behind a threshold: sigma 40, sigma_T 200, T 300; by epsilon, and for"
    )
    print(f"draws {', '.join(map(str, seeds))} of the noise (times Renyi, first draw)")
    print(f"{'':36s}" + "".join(f"{epsilon:22.3f}" for epsilon in epsilons))
    bought: dict[str, list[list[int]]] = {}
    for name, mechanism, kinds in (
        ("two moves", two, ("Renyi", "Gaussian", "prepaid")),
        ("one move (n_votes)", one, ("Renyi", "Gaussian")),
    ):
        for kind in kinds:
            found = [[answers(kind, e, mechanism, seed, votes) for seed in seeds] for e in epsilons]
            bought[kind] = found if kind == "Renyi" else bought.get(kind, found)
            shown = "".join(
                f"{'/'.join(map(str, each)):>15s} ({each[0] / r[0]:.2f})"
                for each, r in zip(found, bought["Renyi"], strict=True)
            )
            print(f"{f'{name}, {kind}':36s}{shown}", flush=True)
    reserved_answers = [f"{most_answers(epsilon, two):22,}" for epsilon in epsilons]
    print(f"{'answers that can be reserved':36s}{''.join(reserved_answers)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer epsilons and batches")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # noise with a seed, to compare kinds on the same draws
    print_batches(quick)
    print_thresholds(quick)


if __name__ == "__main__":
    main()
