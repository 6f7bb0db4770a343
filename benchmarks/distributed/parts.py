"""Private rows in parts on Dask: seconds, and the largest memory of each process.

    python benchmarks/distributed/parts.py [--rows 10_000_000] [--parts 40] [--workers 2] [--quick]
        [--runs memory logistic ensemble rounds growth hash] [--long [N]] [--folder FOLDER]

20 columns of numbers, a class and an owner of two rows on average. Memory is `ru_maxrss` of each
process, which a run has for itself. Workers have imported the library and pyarrow before the clock
starts, which takes each of them about 2 seconds, once. ``memory``: the same fit of rows in memory.
``growth``: microseconds a row at a tenth of the rows, and at all of them, with 1 worker and with 2,
and their ratio; also those of the CPU in the client and in tasks, in which other work of the
machine does not count. A fit of a tenth of the rows takes seconds: the median of three is shown.
``hash``: owners a second, beside one call of blake2b each.

``rounds``: later rounds beside bare NumPy, in the same run. After each round the same workers read
the same files of codes, single columns and cells of pairs, and compute the sums of that round in
NumPy alone: scores by looking up codes of one byte a cell, residuals times shares, and a `bincount`
a column or pair. Codes are brought to that form before its clock starts. A round of ours includes
all that its task does, reading the file too, but not the engine's messages, whose share is printed.
Both are seconds of the CPU, so that other work of the machine counts in neither.

``--long`` is 100 million rows, and takes 40 GB of disk; ``--long 30_000_000`` is less.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

from distributed import Client, LocalCluster
from secretballot import (
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot._owner_hash import hash_integers, hash_packed
from secretballot.distributed import PrivateParts
from secretballot.linear.input._stored_rows import StoredRows

COLUMNS = [f"x{place}" for place in range(20)]
N_PUBLIC, N_TEACHERS = 400, 1_000
#: Rows that NumPy reads at once: they fit a processor's cache, and are the fastest.
_NUMPY_ROWS = 2**14


def rows(n_rows: int, seed: int) -> pd.DataFrame:
    """Draw rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, len(COLUMNS))).astype(np.float32)
    table = pd.DataFrame(X, columns=COLUMNS)
    score = X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=n_rows)
    return table.assign(y=(score > 1).astype(np.int8))


def write(folder: Path, n_rows: int, n_parts: int) -> None:
    """Write the parts."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(n_parts):
        path = folder / f"part-{index:03d}.parquet"
        part = rows(n_rows // n_parts, index)
        rng = np.random.default_rng([1, index])
        part.assign(owner=rng.integers(0, n_rows // 2, len(part))).to_parquet(path, index=False)


#: Kinds of tasks, by a word of their functions.
_KINDS = {
    "write_part": "exchange",
    "function _store at": "encoding",
    "residual_sums": "round",
    "pair_sums": "pairs",
    "_train_bucket": "training",
}


class TimedEngine:
    """Engine that adds up the seconds of each kind of task.

    Parameters
    ----------
    engine : Engine
    with_numpy : bool
        Whether the sums of each round are computed in NumPy too, after it.
    """

    def __init__(self, engine: object, with_numpy: bool) -> None:
        self.engine, self.with_numpy = engine, with_numpy
        #: Seconds of each run of tasks, and their pickled function.
        self.runs: list[tuple[float, bytes]] = []
        self.task_seconds = 0.0  # of all tasks, of the CPU
        #: Tuples of rows, entries of a row, seconds of our tasks and of NumPy, one a round.
        self.rounds: list[tuple[int, int, float, float]] = []

    def map(self, function: Callable[[int], object], n_tasks: int) -> Iterator[object]:
        """Yield the results of tasks."""
        start = time.perf_counter()
        timed = partial(_timed, function)
        before = self.task_seconds
        for result, seconds in self.engine.map(timed, n_tasks):
            self.task_seconds += seconds
            yield result
        seconds = time.perf_counter() - start
        stored = Path(function.args[0]).read_bytes()
        self.runs.append((seconds, stored))
        if self.with_numpy and _kind(task := pickle.loads(stored)) == "round":
            summed, filled = task.args
            vectors = summed.func.__self__
            bare = partial(_numpy_round, [vectors._path(bucket) for bucket in filled])
            sizes = list(self.engine.map(bare, n_tasks))
            n_rows, seconds = sum(size[0] for size in sizes), sum(size[2] for size in sizes)
            self.rounds.append((n_rows, sizes[0][1], self.task_seconds - before, seconds))

    @property
    def phases(self) -> dict[str, tuple[int, float]]:
        """Number of runs of each kind of task, and their seconds."""
        found: dict[str, list[float]] = defaultdict(list)
        for seconds, stored in self.runs:
            found[_kind(pickle.loads(stored))].append(seconds)
        return {kind: (len(each), sum(each)) for kind, each in found.items()}


def _kind(task: object) -> str:
    """Return the kind of a task."""
    text = repr(task)
    return next((kind for word, kind in _KINDS.items() if word in text), "other")


def _timed(function: Callable[[int], object], index: int) -> tuple[object, float]:
    start = time.thread_time()
    result = function(index)
    return result, time.thread_time() - start


def _numpy_round(paths: list[str], index: int) -> tuple[int, int, float]:
    """Compute the sums of a round in NumPy alone; return rows, entries of a row, and seconds."""
    stored = StoredRows.load(paths[index])
    n_rows = len(stored.shares)
    table = np.asarray(stored.codes).reshape(n_rows, -1)
    first = table.min(axis=0)
    columns = [
        np.ascontiguousarray(column, dtype=np.min_scalar_type(column.max()))
        for column in (table - first).T
    ]
    rng = np.random.default_rng(0)
    effects = [rng.normal(size=column.max() + 1) / 10 for column in columns]
    targets, shares = np.array(stored.targets), np.array(stored.shares)
    start = time.thread_time()
    sums = [np.zeros(len(effect)) for effect in effects]
    for begin in range(0, n_rows, _NUMPY_ROWS):
        rows = slice(begin, begin + _NUMPY_ROWS)
        scores = np.zeros(len(targets[rows]))
        for column, effect in zip(columns, effects, strict=True):
            scores += effect.take(column[rows])
        residuals = (targets[rows] - 1 / (1 + np.exp(-scores))) * shares[rows]
        for column, effect, total in zip(columns, effects, sums, strict=True):
            total += np.bincount(column[rows], residuals, len(effect))
    return n_rows, len(columns), time.thread_time() - start


def budget() -> PrivacyAccountant:
    return PrivacyAccountant(1.0, 1e-6, unit="owner")


def estimator(kind: str) -> PrivateLogisticRegression | PrivateTeacherEnsemble:
    """Return the estimator of a run."""
    if kind == "ensemble":
        return PrivateTeacherEnsemble(
            GaussianNB(), N_TEACHERS, classes=[0, 1], accountant=budget(), random_state=0
        )
    return PrivateLogisticRegression(classes=[0, 1], accountant=budget(), random_state=0)


def load() -> None:
    """Import what tasks need: the extra's packages are imported where tasks use them."""
    for name in ("secretballot.linear.input", "pyarrow.compute", "pyarrow.parquet"):
        import_module(name)


def peak() -> float:
    """Return the largest memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_parts(
    kind: str, folder: Path, n_workers: int, *, with_numpy: bool = False
) -> dict[str, object]:
    """Fit in parts, and return seconds and memory."""
    pool = PublicData(rows(N_PUBLIC, 99)[COLUMNS])
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = PrivateParts(folder, y="y", owners="owner", engine=client, scratch=folder.parent)
        engine = parts._engine = TimedEngine(parts._engine, with_numpy)
        client.run(load)
        before = time.thread_time()
        start = time.perf_counter()
        model = estimator(kind).fit(parts, X_public=pool)
        seconds = time.perf_counter() - start
        computed = time.thread_time() - before
        workers = client.run(peak)
        result = digest(model)
        if kind == "ensemble":
            model._teachers.folder.delete()
    return {
        "seconds": seconds,
        "cpu": (computed, engine.task_seconds),
        "client": peak(),
        "rounds": engine.rounds,
        "worker": max(workers.values()),
        "phases": engine.phases,
        "digest": result,
    }


def fit_memory(kind: str, folder: Path) -> dict[str, object]:
    """Fit in memory."""
    pool = PublicData(rows(N_PUBLIC, 99)[COLUMNS])
    start = time.perf_counter()
    table = pd.read_parquet(folder)
    y, owners = table.pop("y"), table.pop("owner")
    model = estimator(kind).fit(table, y, X_public=pool, owners=owners)
    return {
        "seconds": time.perf_counter() - start,
        "client": peak(),
        "digest": digest(model),
    }


def digest(model: PrivateLogisticRegression | PrivateTeacherEnsemble) -> str:
    """Return a digest of what was released."""
    values = model.coef_ if hasattr(model, "coef_") else model.pool_labels_.labels
    return blake2b(np.ascontiguousarray(values).tobytes(), digest_size=8).hexdigest()


def hash_rates() -> None:
    """Print owners a second."""
    n = 1_000_000
    key, numbers = bytes(range(16)), np.arange(n)
    texts = [b"patient-%08d" % number for number in range(n)]
    data, offsets = b"".join(texts), np.cumsum([0, *map(len, texts)])
    plain = [str(number).encode() for number in range(n)]
    runs = {
        "blake2b, one call each": lambda: [
            int.from_bytes(blake2b(text, digest_size=8, key=key).digest(), "big") % 1000
            for text in plain
        ],
        "whole numbers": lambda: hash_integers(numbers, key),
        "texts of 16 bytes": lambda: hash_packed(data, offsets, key),
    }
    rates = {}
    for name, run in runs.items():
        best = np.inf
        for _ in range(5):
            start = time.thread_time()
            run()
            best = min(best, time.thread_time() - start)
        rates[name] = n / best
        ratio = rates[name] / rates["blake2b, one call each"]
        print(f"{name:24s}{rates[name] / 1e6:6.1f} million owners a second, {ratio:4.1f} times")


def alone(*arguments: object) -> dict[str, object]:
    """Run one fit in a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def show(name: str, run: dict[str, object], n_rows: int, n_workers: int) -> None:
    """Print one run."""
    rate = n_rows / run["seconds"]
    worker = f", worker {run['worker']:,.0f} MiB" if "worker" in run else ""
    print(
        f"{name:22s}{run['seconds']:7.1f} s, {rate:10,.0f} rows a second, client "
        f"{run['client']:,.0f} MiB{worker}, released {run['digest']}"
    )
    for phase, (times, seconds) in run.get("phases", {}).items():
        each = times * n_rows / seconds / n_workers
        print(
            f"    {phase:10s}{times:3d} x, {seconds:6.1f} s, {each:10,.0f} rows a second and core"
        )


def show_rounds(run: dict[str, object], n_workers: int) -> None:
    """Print the rounds beside those of NumPy."""
    walls = dict(run["phases"])["round"][1] / len(run["rounds"])
    for n_rows, n_entries, ours, bare in run["rounds"]:
        print(
            f"    {n_entries} codes a row: round {n_rows / ours / 1e6:5.2f}, NumPy "
            f"{n_rows / bare / 1e6:5.2f} million rows a second and core, ratio {bare / ours:.2f}"
        )
    tasks = sum(ours for _, _, ours, _ in run["rounds"]) / len(run["rounds"]) / n_workers
    print(f"    messages and waiting: {1 - tasks / walls:.0%} of a round's {walls:.2f} s")


def show_growth(folder: Path, n_rows: int, n_workers: int, n_fits: int = 1) -> float:
    """Print the time of a row, of the fit with the median time, and return it."""
    fits = [alone("logistic", folder, n_workers) for _ in range(n_fits)]
    fitted = sorted(fits, key=lambda each: each["seconds"])[n_fits // 2]
    in_client, in_tasks = fitted["cpu"]
    alone_on_cores = in_client + in_tasks / n_workers
    a_row = 1e6 * fitted["seconds"] / n_rows
    print(
        f"{n_workers} worker(s), {n_rows:,} rows: {fitted['seconds']:.1f} s, "
        f"{a_row:.2f} microseconds a row. CPU: client {in_client:.1f}, "
        f"tasks {in_tasks:.1f} s, client and tasks over workers "
        f"{1e6 * alone_on_cores / n_rows:.2f} microseconds a row. Memory: client "
        f"{fitted['client']:,.0f} MiB, worker {fitted['worker']:,.0f} MiB. Load of the machine: "
        f"{os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return a_row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    runs = ["memory", "logistic", "ensemble", "rounds", "growth", "hash"]
    parser.add_argument("--runs", nargs="+", choices=runs, default=runs)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="200,000 rows in 4 parts")
    parser.add_argument("--long", type=int, nargs="?", const=100_000_000, help="more rows too")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(rows=200_000, parts=4)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.one:
        kind, folder, n_workers = given.one
        fitted = (
            fit_memory("logistic", Path(folder))
            if kind == "memory"
            else fit_parts(kind, Path(folder), int(n_workers), with_numpy=kind == "rounds")
        )
        print(json.dumps(fitted))
        return
    n_rows, n_parts = given.rows, given.parts
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        folder = Path(temporary) / "parts"
        write(folder, n_rows, n_parts)
        if "hash" in given.runs:
            hash_rates()
        for kind in ("memory", "logistic", "ensemble"):
            if kind in given.runs:
                fitted = alone(kind, folder, given.workers)
                show(kind, fitted, n_rows, given.workers)
        if "rounds" in given.runs:
            show_rounds(alone("rounds", folder, given.workers), given.workers)
        if "growth" in given.runs:
            small = Path(temporary) / "small" / "parts"
            write(small, n_rows // 10, max(n_parts // 10, 1))
            for n_workers in (1, 2):
                of_few = show_growth(small, n_rows // 10, n_workers, n_fits=3)
                of_all = show_growth(folder, n_rows, n_workers)
                print(f"    ratio {of_few / of_all:.2f}")
        if given.long:
            long = Path(temporary) / "long" / "parts"
            write(long, given.long, given.long // (n_rows // n_parts))
            show_growth(long, given.long, given.workers)


if __name__ == "__main__":
    main()
