"""Time and memory of votes between all sets of labels, beside one that writes all sets out.

    python benchmarks/multilabel/powerset_speed.py [--rows 1000]

Goals: at 20 labels rows drawn 100 times as fast as with noise on an array of 2^20 counts, counting
the ballots included; at 300 labels and 250 teachers, rows counted, drawn and charged at their exact
cost in less than 100 MB above the imports.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import EVERYONE
from secretballot.mechanisms import PowersetVoting, count_ballots

SIGMA, N_TEACHERS = 7.0, 250
#: Rows on which all sets are written out, 8 MB each.
N_WRITTEN_OUT = 20


def likely_ballots(n_rows: int, n_labels: int, seed: int = 0) -> NDArray[np.uint8]:
    """Ballots that agree on most labels of some rows, and on few of others."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n_rows, 1, n_labels)) < 0.1
    wrong = rng.uniform(0, 0.05, (n_rows, 1, 1))
    flips = rng.random((n_rows, N_TEACHERS, n_labels), dtype=np.float32) < wrong
    return (truth ^ flips).astype(np.uint8)


def written_out(ballots: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[Any]:
    """The same draw with an array of all sets' counts."""
    n_labels = ballots.shape[2]
    powers = 1 << np.arange(n_labels)
    winners = []
    for row in ballots:
        noisy = np.bincount(row @ powers, minlength=1 << n_labels) + rng.normal(
            scale=SIGMA, size=1 << n_labels
        )
        winners.append(noisy.argmax())
    return np.array(winners)[:, None] >> np.arange(n_labels) & 1


def peak_memory(n_rows: int, n_labels: int) -> float:
    """Peak memory in MB above the imports and the ballots, of a process of its own."""
    code = (
        "import re; from pathlib import Path; import powerset_speed as s\n"
        "def peak():\n"
        "    status = Path('/proc/self/status').read_text()\n"
        "    return int(re.search(r'VmHWM:\\s+(\\d+)', status).group(1)) / 1024\n"
        f"s.everything(s.likely_ballots(1, {n_labels}), {n_labels})\n"
        "before = peak()\n"
        f"s.everything((s.likely_ballots(1, {n_labels}, i) for i in range({n_rows})), {n_labels})\n"
        "print(peak() - before)"
    )
    here = Path(__file__).resolve().parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def everything(ballots: Any, n_labels: int) -> None:
    """Count the ballots, draw all rows together, and charge them their exact cost."""
    mechanism = PowersetVoting(sigma=SIGMA, n_labels=n_labels)
    if isinstance(ballots, np.ndarray):
        counts = count_ballots(ballots)
    else:  # a row at a time, as ballots come from the teachers
        rows = [count_ballots(each) for each in ballots]
        counts = np.zeros((len(rows), max(row.shape[1] for row in rows)), rows[0].dtype)
        for place, row in enumerate(rows):
            counts[place, : row.shape[1]] = row[0]
    outcome = mechanism.sample(mechanism.check_counts(counts), np.random.default_rng(0))
    mechanism.cost(outcome, counts)[EVERYONE].sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000)
    n_rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    ballots = likely_ballots(n_rows, 20)
    mechanism = PowersetVoting(sigma=SIGMA, n_labels=20)
    mechanism.sample(count_ballots(ballots[:2]), rng)
    start = time.perf_counter()
    counts = mechanism.check_counts(count_ballots(ballots))
    outcome = mechanism.sample(counts, rng)
    ours = (time.perf_counter() - start) / n_rows * 1e3
    some = ballots[:N_WRITTEN_OUT]
    start = time.perf_counter()
    written_out(some, rng)
    plain = (time.perf_counter() - start) / len(some) * 1e3
    start = time.perf_counter()
    mechanism.cost(outcome, counts)
    cost = (time.perf_counter() - start) / n_rows * 1e3
    print(
        f" 20 labels, {N_TEACHERS} teachers: counted and drawn in {ours:.4f} ms a row, with all "
        f"sets written out in {plain:.2f} ms; {plain / ours:.0f} times as fast (goal 100); exact "
        f"cost of known ballots {cost:.2f} ms a row",
        flush=True,
    )
    if not Path("/proc/self/status").exists():
        print("peak memory is measured on Linux only")
        return
    for n_labels in (20, 300):
        print(
            f"{n_labels:3d} labels, {N_TEACHERS} teachers, {n_rows:,} rows: peak "
            f"{peak_memory(n_rows, n_labels):.0f} MB above the imports (goal 100)",
            flush=True,
        )


if __name__ == "__main__":
    main()
