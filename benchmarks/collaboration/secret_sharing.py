"""Votes by secret sharing: rows a second, bytes and rounds, on the loopback of one machine.

    python benchmarks/collaboration/secret_sharing.py [--rows N] [--voters N] [--quick]

Three computing parties and the voters share this machine's cores. Seconds of all three processes'
CPU are given too: divided by three they are what machines of their own would take, but for the
network.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from secretballot import SkellamMax
from secretballot.collaboration import SecretSharingAggregator
from secretballot.collaboration._motion import Motion
from secretballot.collaboration._question import Question
from secretballot.collaboration.secret_sharing import share_ballots
from secretballot.collaboration.secret_sharing._contribution import comparison_bits

#: What is voted on: its name, the motion's columns, and whether these are labels.
VOTES = (("2 classes", 2, False), ("10 classes", 10, False), ("20 labels", 20, True))


class Voter:
    """Has random ballots."""

    def __init__(self, name: str, motion: Motion, ballots: np.ndarray) -> None:
        self.name, self.motion, self.ballots = name, motion, ballots

    def deliver(self, question, recipients) -> None:
        """Share them."""
        share_ballots(self.name, [self.motion], [self.ballots], recipients)


def cpu_seconds(pids: list[int]) -> float:
    """What processes have used."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def measure(aggregator, n_rows: int, n_voters: int, n_columns: int, labels: bool) -> dict:
    """One vote."""
    mechanism = SkellamMax(variance=25.0, n_parties=n_voters, n_colluders=n_voters // 3)
    weights = {f"site {i}": 1.0 for i in range(n_voters)}
    motion = Motion(tuple(range(n_columns)), mechanism, weights, apart=labels)
    names = tuple(map(str, range(n_columns)))
    question = Question(
        id="speed",
        asker=None,
        X=np.zeros((n_rows, 1)),
        classes=None if labels else names,
        labels=names if labels else None,
    )
    rng = np.random.default_rng(0)
    shape = (n_rows, n_columns) if labels else (n_rows,)
    voters = {
        name: Voter(name, motion, rng.integers(0, 2 if labels else n_columns, shape))
        for name in weights
    }
    begun = time.perf_counter()
    gathered = aggregator.gather(question, [motion], voters)
    shared = time.perf_counter()
    before, pids = aggregator._panel.traffic(), aggregator._processes.pids
    used = cpu_seconds(pids)
    aggregator.open(gathered, [motion], None)
    opened = time.perf_counter()
    used = cpu_seconds(pids) - used
    sent = [
        {key: now[key] - then[key] for key in now}
        for now, then in zip(aggregator._panel.traffic(), before, strict=True)
    ]
    cells = motion.n_rows(question) * (1 if motion.n_columns == 2 else motion.n_columns)
    return {
        "bits": comparison_bits(motion, motion.n_rows(question)),
        "share s": shared - begun,
        "open s": opened - shared,
        "cpu s": used,
        "rows/s": n_rows / (opened - begun),
        "MB shared": 3 * 16 * cells * n_voters / 1e6,
        "MB computing": sum(each["bytes"] for each in sent) / 1e6,
        "rounds": max(each["messages"] for each in sent) // 2,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--voters", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="100 rows")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(rows=100)
    arguments = parser.parse_args()
    n_rows = arguments.rows
    print(f"{n_rows} rows, {arguments.voters} voters, load {os.getloadavg()[0]:.1f}")
    with SecretSharingAggregator(timeout=600) as aggregator:
        measure(aggregator, 10, arguments.voters, 2, False)
        for name, n_columns, labels in VOTES:
            found = measure(aggregator, n_rows, arguments.voters, n_columns, labels)
            told = "  ".join(f"{key} {value:,.3g}" for key, value in found.items())
            print(f"{name:12s}{told}", flush=True)


if __name__ == "__main__":
    main()
