"""Private rows in parts on Dask: seconds, and the largest memory of each process.

    python benchmarks/distributed/parts.py [--rows 10_000_000] [--parts 40] [--workers 2] [--quick]
        [--runs memory logistic ensemble] [--folder FOLDER]

20 columns of numbers, a class and an owner of two rows on average. Memory is `ru_maxrss` of each
process, which a run has for itself. Workers have imported the library and pyarrow before the clock
starts, which takes each of them about 2 seconds, once. ``memory``: the same fit of rows in memory.
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
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

from secretballot import (
    PrivacyAccountant,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.tables import PrivateParts

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


def estimator(kind: str) -> PrivateLogisticRegression | PrivateTeacherEnsemble:
    """Return the estimator of a run."""
    budget = PrivacyAccountant(1.0, 1e-6, unit="owner")
    if kind == "ensemble":
        return PrivateTeacherEnsemble(
            GaussianNB(), N_TEACHERS, classes=[0, 1], accountant=budget, random_state=0
        )
    return PrivateLogisticRegression(classes=[0, 1], accountant=budget, random_state=0)


def load() -> None:
    """Import what tasks need: the extra's packages are imported where tasks use them."""
    for name in ("secretballot.linear", "pyarrow.compute", "pyarrow.parquet"):
        import_module(name)


def peak() -> float:
    """Return the largest memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def digest(model: PrivateLogisticRegression | PrivateTeacherEnsemble) -> str:
    """Return a digest of what was released."""
    values = model.coef_ if hasattr(model, "coef_") else model.pool_labels_.labels
    return blake2b(np.ascontiguousarray(values).tobytes(), digest_size=8).hexdigest()


def fit_parts(kind: str, folder: Path, n_workers: int) -> dict[str, object]:
    """Fit in parts, and return seconds and memory."""
    from distributed import Client, LocalCluster

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
        client.run(load)
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
        "digest": result,
    }


def fit_memory(folder: Path) -> dict[str, object]:
    """Fit in memory."""
    pool = PublicData(rows(N_PUBLIC, 99)[COLUMNS])
    start = time.perf_counter()
    table = pd.read_parquet(folder)
    y, owners = table.pop("y"), table.pop("owner")
    model = estimator("logistic").fit(table, y, X_public=pool, owners=owners)
    return {
        "seconds": time.perf_counter() - start,
        "client": peak(),
        "digest": digest(model),
    }


def alone(*arguments: object) -> dict[str, object]:
    """Run one fit in a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    runs = ["memory", "logistic", "ensemble"]
    parser.add_argument("--runs", nargs="+", choices=runs, default=runs)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="40,000 rows in 4 parts")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(rows=40_000, parts=4)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if find_spec("distributed") is None or find_spec("pyarrow") is None:
        print("left out: distributed or pyarrow is not installed")
        return
    if given.one:
        kind, folder, n_workers = given.one
        in_memory = kind == "memory"
        path = Path(folder)
        print(json.dumps(fit_memory(path) if in_memory else fit_parts(kind, path, int(n_workers))))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        folder = Path(temporary) / "parts"
        write(folder, given.rows, given.parts)
        for kind in given.runs:
            run = alone(kind, folder, given.workers)
            worker = f", worker {run['worker']:,.0f} MiB" if "worker" in run else ""
            print(
                f"{kind:10s}{run['seconds']:7.1f} s, client {run['client']:,.0f} MiB{worker}, "
                f"released {run['digest']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
