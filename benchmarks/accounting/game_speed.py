"""Time that pricing a plan as a game takes, beside a plain row-by-row program for the same game.

    python benchmarks/accounting/game_speed.py [--quick]

Goals: 1,000 binary rows to one per cent in less than 10 s and 10,000 in less than 60 s, 1,000 rows
of ten classes in less than 60 s; each with the noise found for epsilon = 1, delta = 1e-5. The
plain program evaluates every gap on every node by interpolation, on the same grids and without a
bound on what lies between them; its time is that of a few rows, times their number.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.special import log_ndtr, ndtr

from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.games import FINE
from secretballot.mechanisms import GNMax

EPSILON, DELTA = 1.0, 1e-5


def plain_rows(ratio: float, n_rows: int, n_timed: int) -> float:
    """Seconds that `n_rows` rows of the plain program would take."""
    variance = 2 / np.pi * ratio**2 * n_rows
    half = variance / 2 + 8 * np.sqrt(variance)
    loss = np.arange(-half, half, FINE.losses * ratio)
    gaps = np.arange(-8, 8, FINE.gaps)
    p = ndtr(gaps)
    up = log_ndtr(gaps) - log_ndtr(gaps - ratio)
    down = log_ndtr(-gaps) - log_ndtr(ratio - gaps)
    u = np.exp(-loss[::-1])
    worth = np.maximum(1 - u, 0)
    start = time.perf_counter()
    for _ in range(n_timed):
        rows = [
            one * np.interp(u * np.exp(-a), u, worth)
            + (1 - one) * np.interp(u * np.exp(-b), u, worth)
            for one, a, b in zip(p, up, down, strict=True)
        ]
        worth = np.max(rows, axis=0)
    return (time.perf_counter() - start) / n_timed * n_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 1,000 binary rows only")
    arguments = parser.parse_args()
    cases = [(1_000, 2, 10.0), (10_000, 2, 60.0), (1_000, 10, 60.0)]
    for n_rows, n_classes, goal in cases[:1] if arguments.quick else cases:
        start, busy = time.perf_counter(), time.process_time()
        mechanism = PrivacyAccountant(EPSILON, DELTA).calibrate(GNMax, n_rows, n_columns=n_classes)
        found, busy = time.perf_counter() - start, time.process_time() - busy
        by_row = PrivacyAccountant(EPSILON, DELTA, order="renyi")
        renyi = by_row.calibrate(GNMax, n_rows, n_columns=n_classes)
        other = GNMax(sigma=mechanism.sigma * (1 + 1e-9))  # nothing of it is remembered
        start = time.perf_counter()
        price = price_plan(other, n_rows, n_columns=n_classes)
        priced = time.perf_counter() - start
        plain = plain_rows(float(np.sqrt(2)) / mechanism.sigma, n_rows, max(2, 2_000 // n_rows))
        print(
            f"{n_rows:6,} rows, {n_classes:2d} classes: noise found in {found:6.1f} s (goal "
            f"{goal:g}; processor {busy:.1f} s), sigma {mechanism.sigma:.2f}, "
            f"{mechanism.sigma / renyi.sigma:.3f} of what Renyi accounting needs; one price "
            f"{priced:6.1f} s, delta {price.delta(EPSILON):.3e}; plain program, two classes "
            f"{plain:7.1f} s; ratio {priced / plain:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
