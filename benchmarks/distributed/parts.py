"""Private rows in parts on Dask: seconds, and the largest memory of each process.

    python benchmarks/distributed/parts.py [--rows 10_000_000] [--parts 40] [--workers 2]
        [--runs memory logistic ensemble growth hash] [--folder FOLDER] [--quick]

20 columns of numbers, a class and an owner of two rows on average. Memory is `ru_maxrss` of each
process, which a run has for itself. ``memory``: the same fit of rows in memory. ``growth``: rows a
second at a tenth of the rows, and at all of them, with 1 worker and with 2. ``hash``: owners a
second, beside one call of blake2b each.

Later rounds read codes of bins from files; their rows a second and core are beside those of a bare
round in NumPy: scores by looking up codes of one byte, residuals, and a `bincount` a column.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from hashlib import blake2b
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

COLUMNS = [f"x{place}" for place in range(20)]
N_PUBLIC, N_TEACHERS = 400, 1_000


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


class TimedEngine:
    """Engine that adds up the seconds of each kind of task."""

    def __init__(self, engine: object) -> None:
        self.engine = engine
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def map(self, function: Callable[[int], object], n_tasks: int) -> Iterator[object]:
        """Yield the results of tasks."""
        import pickle

        start = time.perf_counter()
        yield from self.engine.map(function, n_tasks)
        with open(function.args[0], "rb") as file:
            text = repr(pickle.load(file))
        kinds = {
            "write_part": "exchange",
            "function _store>": "encoding",
            "residual_sums": "round",
            "pair_sums": "pairs",
            "_train_bucket": "training",
        }
        kind = next((kind for word, kind in kinds.items() if word in text), "other")
        self.seconds[kind].append(time.perf_counter() - start)


def budget() -> PrivacyAccountant:
    return PrivacyAccountant(1.0, 1e-6, unit="owner")


def estimator(kind: str) -> PrivateLogisticRegression | PrivateTeacherEnsemble:
    """Return the estimator of a run."""
    if kind == "ensemble":
        return PrivateTeacherEnsemble(
            GaussianNB(), N_TEACHERS, classes=[0, 1], accountant=budget(), random_state=0
        )
    return PrivateLogisticRegression(classes=[0, 1], accountant=budget(), random_state=0)


def peak() -> float:
    """Return the largest memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_parts(kind: str, folder: Path, n_workers: int) -> dict[str, object]:
    """Fit in parts, and return seconds and memory."""
    pool = PublicData(rows(N_PUBLIC, 99)[COLUMNS])
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = PrivateParts(folder, y="y", owners="owner", engine=client, scratch=folder.parent)
        engine = parts._engine = TimedEngine(parts._engine)
        start = time.perf_counter()
        model = estimator(kind).fit(parts, X_public=pool)
        seconds = time.perf_counter() - start
        workers = client.run(peak)
        result = digest(model)
        if kind == "ensemble":
            model._teachers.folder.delete()
    return {
        "seconds": seconds,
        "client": peak(),
        "worker": max(workers.values()),
        "phases": {kind: (len(each), sum(each)) for kind, each in engine.seconds.items()},
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


def numpy_rows_a_second() -> float:
    """Return the rows a second of a bare round over codes of one byte: scores and sums."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 16, size=(len(COLUMNS), 1_000_000), dtype=np.uint8)
    effects, y = rng.normal(size=(len(COLUMNS), 16)), rng.integers(2, size=codes.shape[1])
    start = time.perf_counter()
    scores = np.zeros(codes.shape[1])
    for column, effect in zip(codes, effects, strict=True):
        scores += effect[column]
    residuals = y - 1 / (1 + np.exp(-scores))
    for column in codes:
        np.bincount(column, residuals, 16)
    return codes.shape[1] / (time.perf_counter() - start)


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
        for _ in range(3):
            start = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - start)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    runs = ["memory", "logistic", "ensemble", "growth", "hash"]
    parser.add_argument("--runs", nargs="+", choices=runs, default=runs)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="200,000 rows in 4 parts")
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
            else fit_parts(kind, Path(folder), int(n_workers))
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
        if "logistic" in given.runs:
            print(f"bare sums             {numpy_rows_a_second():10,.0f} rows a second and core")
        if "growth" in given.runs:
            small = Path(temporary) / "small" / "parts"
            write(small, n_rows // 10, max(n_parts // 10, 1))
            for n_workers in (1, 2):
                for place, size in ((small, n_rows // 10), (folder, n_rows)):
                    fitted = alone("logistic", place, n_workers)
                    print(
                        f"{n_workers} worker(s), {size:,} rows: "
                        f"{1e6 * fitted['seconds'] / size:.2f} microseconds a row"
                    )


if __name__ == "__main__":
    main()
