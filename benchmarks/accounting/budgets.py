"""What the three kinds of budget buy: in batches, behind a threshold, and by ways of working.

    python benchmarks/accounting/budgets.py [--quick]

A budget counts Renyi divergences at one order (``order="renyi"``) or mu^2 (``order="gaussian"``);
*prepaid* is mu^2 with one reservation that all batches draw on. Every figure is what an accountant
did release. delta is 1e-5, and ratios are to the Renyi kind of the same line. Without the cached
votes of labels_per_budget.py those of 250 random forests on Adult are made (about two minutes).
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from adult_votes import adult_votes
from scipy.special import ndtr
from scipy.stats import binom

from secretballot import BudgetExceededError, PrivacyAccountant
from secretballot.accounting import Reservation, price_plan
from secretballot.divergences import EVERYONE
from secretballot.mechanisms import (
    UNANSWERED,
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    Mechanism,
    RoundRobin,
)

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
    one = GNMax(sigma=SIGMA, bound="papernot").max_cost(2)[EVERYONE]

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


def answers(kind: str, epsilon: float, mechanism: ConfidentGNMax, seed: int) -> int:
    """Labels of the Adult votes. Prepaid: 2.75 rows for an answer, the rest after a settlement."""
    votes, accountant = adult_votes(), budget(kind, epsilon)
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
            found = [[answers(kind, e, mechanism, seed) for seed in seeds] for e in epsilons]
            bought[kind] = found if kind == "Renyi" else bought.get(kind, found)
            shown = "".join(
                f"{'/'.join(map(str, each)):>15s} ({each[0] / r[0]:.2f})"
                for each, r in zip(found, bought["Renyi"], strict=True)
            )
            print(f"{f'{name}, {kind}':36s}{shown}", flush=True)
    reserved_answers = [f"{most_answers(epsilon, two):22,}" for epsilon in epsilons]
    print(f"{'answers that can be reserved':36s}{''.join(reserved_answers)}")


def calibrated(kind: str, n_rows: int, epsilon: float, n_fits: int = 1, cap: float = 0.0) -> float:
    """Noise of so many fits that share a budget, each with a cap (or all with one plan)."""
    accountant = budget(kind, epsilon)
    if kind == "prepaid" or not cap:
        mechanism = accountant.calibrate(GNMax, n_fits * n_rows, n_columns=2)
        reservation = reserved(accountant, mechanism, n_fits * n_rows)
        assert reservation is not None
        found = [drawn(accountant, mechanism, n_rows, reservation=reservation)] * n_fits
    else:
        scopes = [accountant.scope(cap) for _ in range(n_fits)]
        mechanism = accountant.calibrate(GNMax, n_rows, n_columns=2, scope=scopes[0])
        found = [drawn(accountant, mechanism, n_rows, scope=scope) for scope in scopes]
    return mechanism.sigma if found == [n_rows] * n_fits else math.inf


def largest_cap(kind: str, n_rows: int, epsilon: float, n_fits: int) -> float:
    """Noise where every fit's cap is as large as lets all of them answer all rows."""
    steps = 64

    def fits(step: int) -> bool:
        cap = epsilon * step / steps
        return math.isfinite(calibrated(kind, n_rows, epsilon, n_fits, cap)) if step else True

    step = most(fits, steps)
    return calibrated(kind, n_rows, epsilon, n_fits, epsilon * step / steps)


def in_calls(kind: str, epsilon: float, sigma: float, n_calls: int, size: int) -> int:
    mechanism, accountant = GNMax(sigma=sigma), budget(kind, epsilon)
    if kind != "prepaid":
        return sum(drawn(accountant, mechanism, size) for _ in range(n_calls))
    n_rows = most(
        lambda n: reserved(budget(kind, epsilon), mechanism, n) is not None, n_calls * size
    )
    reservation = reserved(accountant, mechanism, n_rows)
    sizes = [min(size, n_rows - start) for start in range(0, n_rows, size)]
    return sum(drawn(accountant, mechanism, n, reservation=reservation) for n in sizes)


LEVELS = {"strict": 0.5, "lax": 1.0}
WEIGHTS = GNMax(sigma=SIGMA, weight={"strict": 1.0, "lax": 1.9})
TURNS = RoundRobin(
    mechanism=GNMax(sigma=SIGMA, weight=dict.fromkeys(LEVELS, 1.0)),
    turns={"strict": (1, 4), "lax": (1, 1)},
)


def print_ways(quick: bool) -> None:
    pool = 100 if quick else 400
    confident = ConfidentGNMax(sigma=SIGMA, sigma_threshold=200, threshold=300)
    ways: dict[str, tuple[str, Callable[[str], float]]] = {
        f"one pool of {pool} rows, epsilon 1": ("sigma", lambda kind: calibrated(kind, pool, 1.0)),
        "8 fits of 50 rows, epsilon 2, 1/8 each": (
            "sigma",
            lambda kind: calibrated(kind, 50, 2.0, 8, 2.0 / 8),
        ),
        "8 fits of 50 rows, the largest cap": (
            "sigma",
            lambda kind: largest_cap(kind, 50, 2.0, 8),
        ),
        "10 calls of 20 rows, sigma 50, epsilon 1": (
            "labels",
            lambda kind: in_calls(kind, 1.0, 50.0, 10, 20),
        ),
        "single rows over days, sigma 40, epsilon 1": (
            "labels",
            lambda kind: in_calls(kind, 1.0, SIGMA, 120, 1),
        ),
        "threshold run on Adult, epsilon 1": (
            "labels",
            lambda kind: answers(kind, 1.0, confident, 0),
        ),
        "levels .5 and 1, ballots of weight 1 and 1.9": (
            "labels",
            lambda kind: drawn(budget(kind, LEVELS), WEIGHTS, 200),
        ),
        "levels .5 and 1, every fourth row and all": (
            "labels",
            lambda kind: drawn(budget(kind, LEVELS), TURNS, 200),
        ),
    }
    print("\nWays of working: noise that is needed (less is better), or labels that are bought")
    print("(times Renyi in labels; noise counts with its inverse square)")
    print(f"{'':46s}" + "".join(f"{kind:>16s}" for kind in KINDS))
    for name, (what, measure) in ways.items():
        found = {kind: measure(kind) for kind in KINDS}
        cells = []
        for value in found.values():
            ratio = value / found["Renyi"]
            if what == "sigma":
                ratio = ratio**-2
            cells.append(f"{value:9.1f}" if what == "sigma" else f"{value:9,}")
            cells[-1] += f" ({ratio:.2f})"
        print(f"{name:46s}{''.join(cells)}  {what}", flush=True)


def _vote_on_labels(sigma: float) -> BinaryVoting:
    return BinaryVoting(sigma=sigma, n_votes=50)


def print_pools(quick: bool) -> None:
    """What calibrated noise buys in one batch, and how long it takes to find."""
    print("\nOne pool, epsilon 1: labels times those of Renyi, and seconds to calibrate the noise")
    few, many = (1, 5, 10, 20, 30, 50, 100, 200), (100, 400, 1_000)
    cases = [(2, few), (3, few)] if quick else [(2, few), (3, few), (2, many), (10, many)]
    for n_classes, sizes in cases:
        cells = []
        for n_rows in sizes:
            start = time.perf_counter()
            sigma = budget("Gaussian", 1.0).calibrate(GNMax, n_rows, n_columns=n_classes).sigma
            seconds = time.perf_counter() - start
            renyi = budget("Renyi", 1.0).calibrate(GNMax, n_rows, n_columns=n_classes).sigma
            cells.append(f"{n_rows:,}: {(renyi / sigma) ** 2:.2f} ({seconds:.1f} s)")
        print(f"{n_classes:2d} classes   {'   '.join(cells)}", flush=True)
    cells = []
    for n_labels, n_rows in [(6, 100)] if quick else [(6, 400), (53, 400), (374, 400)]:
        start = time.perf_counter()
        budget("Gaussian", 8.0).calibrate(_vote_on_labels, n_rows, n_columns=n_labels)
        cells.append(f"{n_labels} x {n_rows}: {time.perf_counter() - start:.1f} s")
    print(f"labels x rows, epsilon 8   {'   '.join(cells)}", flush=True)


def print_speed() -> None:
    print("Seconds for 1,000 rows of two classes")
    mechanism, other = GNMax(sigma=133.5), GNMax(sigma=134.0)

    def certify() -> None:
        price_plan(mechanism, 1_000, n_columns=2).gaussian_cost(1e-7)

    steps = {
        "to price": lambda: price_plan(mechanism, 1_000, n_columns=2),
        "to certify mu^2 (goal .05)": certify,
        "to reserve, priced": lambda: reserved(budget("prepaid", 1.0), mechanism, 1_000),
        "to reserve, not priced": lambda: reserved(budget("prepaid", 1.0), other, 1_000),
    }
    for name, step in steps.items():
        start = time.perf_counter()
        step()
        print(f"{name:28s}{time.perf_counter() - start:8.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer epsilons and batches")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # noise with a seed, to compare kinds on the same draws
    print_speed()
    print_pools(quick)
    print_batches(quick)
    print_thresholds(quick)
    print_ways(quick)


if __name__ == "__main__":
    main()
