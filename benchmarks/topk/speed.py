"""One private top k of a million items, beside a full sort and Gumbel noise on all of them.

    python benchmarks/topk/speed.py [--items 1000000] [--quick]

Goal: a release, with its record in the ledger, under .05 s. Only the top of the histogram is
sorted; time and memory grow with the number of items. Memory is the most that arrays of one release
take at once, beside the counts.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from secretballot import PrivacyAccountant
from secretballot.mechanisms import ExponentialTopK, StableTopK

REPEATS = 7


def seconds(task: Callable[[], object]) -> float:
    """The median of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def megabytes(task: Callable[[], object]) -> float:
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the items")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(items=100_000)
    arguments = parser.parse_args()
    n_items = arguments.items
    rng = np.random.default_rng(0)
    # As popular as places are: a few by far, and most with next to nobody.
    counts = np.floor(5e5 / (1 + rng.permutation(n_items)) ** 0.9)[None]
    accountant = PrivacyAccountant(1e6, 1e-3, relation="add_remove", approximation_delta=5e-4)
    given = {"relation": "add_remove", "delta_t": 1e-9}
    methods = {
        "StableTopK": StableTopK(rho=0.02, k_max=100, **given),
        "StableTopK, k = 10": StableTopK(rho=0.02, k=10, **given),
        "StableTopK, items unknown": StableTopK(
            rho=0.02, k=10, k_max=100, unknown_domain=True, **given
        ),
        "ExponentialTopK, k = 10": ExponentialTopK(k=10, rho=0.02, relation="add_remove"),
    }
    gumbel = np.random.Generator(np.random.PCG64(0))
    others = {
        "a full sort": lambda: np.argsort(-counts[0]),
        "Gumbel noise on all (PCG64)": lambda: counts[0] + gumbel.gumbel(size=n_items),
    }
    print(f"{n_items:,} items, median of {REPEATS}")
    full = seconds(others["a full sort"])
    for name, task in others.items():
        print(f"{name:30s} {seconds(task):.4f} s")
    for name, mechanism in methods.items():
        accountant.release(mechanism, counts)  # the price of its plan is remembered from then on

        def task(mechanism: object = mechanism) -> None:
            accountant.release(mechanism, counts)

        took = seconds(task)
        print(
            f"{name:30s} {took:.4f} s, {took / full:.2f} of a full sort, {megabytes(task):.0f} MB "
            f"beside counts of {counts.nbytes / 2**20:.0f} MB"
        )


if __name__ == "__main__":
    main()
