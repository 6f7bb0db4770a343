"""Spends per second with durable commits, and the ledger's share of a release.

    python benchmarks/ledger/speed.py [--seconds 5] [--folder .]
    python benchmarks/ledger/speed.py --entries 1000 10000 100000 [--distinct] [--folder .]

Goal: a release of 10,000 rows spends at most 5 % of its time in the ledger. How long a durable
commit takes is up to the disk; the same disk's bare fsync is printed beside it. `--folder` is
where the ledgers are made: not on a file system in memory, where nothing is durable.

With `--entries`, one ledger grows: how large an entry is, and what using it takes at each size.
Goal: opening it, releasing and showing the last entries at 100,000 entries within twice their time
at 1,000, and 2 kB an entry. All entries have one curve, or, with `--distinct`, each its own.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot._cli import main as command_line
from secretballot.accounting import PrivacyAccountant
from secretballot.datasets import make_votes
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.ledger import Ledger, Transaction
from secretballot.mechanisms import GNMax

PLENTY = 1e9


def fsyncs_per_second(folder: str, seconds: float) -> float:
    """What the disk alone can do: 4 kB appended and synced, again and again."""
    path, count = Path(folder, "fsync"), 0
    with open(path, "wb", buffering=0) as file:
        start = time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds:
            file.write(bytes(4096))
            os.fsync(file.fileno())
            count += 1
    path.unlink()
    return count / spent


def budget(path: str | Path) -> PrivacyAccountant:
    """Plenty, row by row: no game is priced."""
    return PrivacyAccountant(PLENTY, 1e-5, order="renyi", ledger=path)


def spend_for(path: str, n_rows: int, seconds: float, barrier: Any = None, out: Any = None) -> int:
    """Release as often as possible; return how often."""
    accountant, mechanism = PrivacyAccountant.open(path), GNMax(sigma=1e4)
    votes, count = make_votes(n_rows, random_state=0)[0], 0
    accountant.release(mechanism, votes)  # the worst-case curve is computed once
    if barrier is not None:
        barrier.wait()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        accountant.release(mechanism, votes)
        count += 1
    if out is not None:
        out.put(count)
    return count


def spends_per_second(folder: str, n_processes: int, n_rows: int, seconds: float) -> float:
    path = str(Path(folder, f"speed-{n_processes}-{n_rows}.ledger"))
    budget(path)
    if n_processes == 1:
        return spend_for(path, n_rows, seconds) / seconds
    context = multiprocessing.get_context("spawn")
    barrier, out = context.Barrier(n_processes), context.Queue()
    workers = [
        context.Process(target=spend_for, args=(path, n_rows, seconds, barrier, out), daemon=True)
        for _ in range(n_processes)
    ]
    for worker in workers:
        worker.start()
    total = sum(out.get(timeout=seconds + 120) for _ in workers)
    for worker in workers:
        worker.join()
    return total / seconds


@contextmanager
def time_in_ledger() -> Iterator[list[float]]:
    """Time all that the ledger does, the check of the budget inside its transaction included."""
    spent: list[float] = []
    transaction, totals = Ledger.transaction, Ledger.totals

    @contextmanager
    def timed_transaction(self: Ledger, *scope: str | None) -> Iterator[Any]:
        start = time.perf_counter()
        with transaction(self, *scope) as opened:
            yield opened
        spent.append(time.perf_counter() - start)

    def timed_totals(self: Ledger, *scope: str | None) -> Any:
        start = time.perf_counter()
        try:
            return totals(self, *scope)
        finally:
            spent.append(time.perf_counter() - start)

    Ledger.transaction, Ledger.totals = timed_transaction, timed_totals
    try:
        yield spent
    finally:
        Ledger.transaction, Ledger.totals = transaction, totals


def shares(run: Any, times: int) -> tuple[float, float, float]:
    """Median time of a run and of its ledger in ms, and the median share."""
    whole, ledger = [], []
    for number in range(times):
        with time_in_ledger() as spent:
            start = time.perf_counter()
            run(number)
            whole.append(1e3 * (time.perf_counter() - start))
        ledger.append(1e3 * sum(spent))
    share = statistics.median(part / all_ for part, all_ in zip(ledger, whole, strict=True))
    return statistics.median(whole), statistics.median(ledger), share


def blobs(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n_rows)
    return rng.normal(size=(n_rows, 20)) + 2.0 * y[:, None], y


def report_shares(folder: str) -> None:
    for n_classes in (2, 10):
        accountant = budget(Path(folder, f"share-{n_classes}"))
        votes = np.random.default_rng(0).multinomial(250, np.full(n_classes, 1 / n_classes), 10_000)
        for name, run, times in (
            # Another sigma has another worst case, which is computed at its first use.
            ("first use", lambda i: accountant.release(GNMax(sigma=40 + i / 100), votes), 7),  # noqa: B023
            ("used before", lambda i: accountant.release(GNMax(sigma=40.0), votes), 30),  # noqa: B023
        ):
            whole, ledger, share = shares(run, times)
            print(
                f"release, 10,000 rows, {n_classes:2d} classes, mechanism {name}: {whole:.1f} ms, "
                f"ledger {ledger:.1f} ms, {share:.1%} (goal 5 %)",
                flush=True,
            )
    accountant = budget(Path(folder, "share-private"))
    X, y = blobs(15_000)
    ensemble = PrivateTeacherEnsemble(
        make_pipeline(StandardScaler(), LogisticRegression()),
        n_teachers=250,
        mechanism=GNMax(sigma=40.0),
        classes=[0, 1],
        accountant=accountant,
    ).fit(X[:5000], y[:5000])
    ensemble.predict_private(X[5000:])
    whole, ledger, share = shares(lambda _: ensemble.predict_private(X[5000:]), 7)
    print(
        f"predict_private, 10,000 rows, 250 scaled logistic regressions: {whole:.1f} ms, ledger "
        f"{ledger:.1f} ms, {share:.1%} (goal 5 %)",
        flush=True,
    )


def milliseconds(run: Callable[[], object], times: int) -> float:
    """The median of some times."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def report_growth(folder: str, sizes: list[int], distinct: bool) -> None:
    path = Path(folder, "growth.ledger")
    accountant, mechanism = budget(path), GNMax(sigma=1e4)
    scope, note = accountant.scope(), {"n_teachers": 250, "split_by": "row"}

    def release(handle: PrivacyAccountant = accountant) -> None:
        handle.release(mechanism, [[60, 30, 10]], scope=scope, note=note)

    def show() -> None:
        with redirect_stdout(io.StringIO()):
            command_line(["ledger", "show", str(path), "--last", "10"])

    release()
    like = accountant.entries()[0]
    for size in sizes:
        # What lies between the sizes is written by the thousand, and costs what releases do.
        while (n_entries := accountant.spent().n_releases) < size:

            def append(transaction: Transaction, first: int = n_entries, size: int = size) -> None:
                for number in range(first, min(first + 1000, size)):
                    times = 1 + number if distinct else 1
                    charges = {group: times * cost for group, cost in like.charges.items()}
                    transaction.append(replace(like, charges=charges, checkpoint=None))

            Ledger.open(path).transact(append, scope.id)
        large = path.stat().st_size / size
        opening = milliseconds(lambda: PrivacyAccountant.open(path), 9)
        showing = milliseconds(show, 9)
        releasing = milliseconds(release, 21)
        afresh = milliseconds(lambda: release(PrivacyAccountant.open(path)), 9)
        checking = milliseconds(lambda: Ledger.open(path).verify(), 1)
        print(
            f"{size:,} entries, {large:,.0f} bytes each: open {opening:.1f} ms, release "
            f"{releasing:.1f} ms, open and release {afresh:.1f} ms, show the last 10 "
            f"{showing:.1f} ms, verify {checking / 1e3:.1f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="per measurement")
    parser.add_argument("--folder", default=".", help="where the ledgers are made")
    parser.add_argument("--entries", type=int, nargs="+", help="grow one ledger to these sizes")
    parser.add_argument("--distinct", action="store_true", help="no two entries cost the same")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        if arguments.entries:
            report_growth(folder, sorted(arguments.entries), arguments.distinct)
            return
        rate = fsyncs_per_second(folder, arguments.seconds / 5)
        print(f"bare fsync on this disk: {rate:,.0f} a second ({1e3 / rate:.2f} ms)", flush=True)
        for n_processes in (1, 8):
            for n_rows in (1, 10_000):
                rate = spends_per_second(folder, n_processes, n_rows, arguments.seconds)
                print(
                    f"{n_processes} process{'es' * (n_processes > 1)}, batches of {n_rows:,} "
                    f"row{'s' * (n_rows > 1)}: {rate:,.0f} durable spends a second",
                    flush=True,
                )
        report_shares(folder)


if __name__ == "__main__":
    main()
