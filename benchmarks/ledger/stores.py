"""A ledger in a file and on a PostgreSQL server: releases a second, and what reading takes.

    python benchmarks/ledger/stores.py [--seconds 10] [--folder .] [--server URL]
        [--sizes 1000 10000] [--quick]

Durable releases of one row by 1 and by 8 processes, and their latency; then what it takes to open,
verify and replay a ledger of 1,000 and 10,000 entries, in one run on both stores.

`--server` is the URL of a database, with which ledgers are made; by default a server is started in
`--folder`, where the files are too: not on a file system in memory, where nothing is durable.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from secretballot.accounting import PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.ledger._ledger import Ledger, Transaction
from secretballot.mechanisms import GNMax

PLENTY = 1e9
VOTES = [[60, 30, 10]]
MECHANISM = GNMax(sigma=1e4)


@contextmanager
def server(folder: str) -> Iterator[str]:
    """Start a server on a Unix socket in a folder; yield the URL of its database."""
    programs = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
    place, user = Path(folder, "server").absolute(), {}
    place.mkdir()
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(place, "nobody")
        user = {"user": "nobody", "cwd": "/"}

    def run(program: str, *options: str) -> list[str]:
        return [str(Path(programs.stdout.strip(), program)), "-D", str(place / "data"), *options]

    with tempfile.TemporaryDirectory(prefix="sb") as socket:  # its path must be short
        shutil.chown(socket, user.get("user", os.getuid()))
        command = run("initdb", "-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **user)
        command = run("postgres", "-k", socket, "-c", "listen_addresses=")
        log = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=log, stderr=log, **user) as process:
            try:
                while not Path(socket, ".s.PGSQL.5432").exists():
                    time.sleep(0.1)
                time.sleep(1)
                yield f"postgresql://postgres@/postgres?host={socket}"
            finally:
                process.send_signal(signal.SIGINT)


def budget(name: str) -> PrivacyAccountant:
    """Plenty, row by row: no game is priced."""
    return PrivacyAccountant(PLENTY, 1e-5, order="renyi", ledger=name)


def release_for(name: str, seconds: float, barrier: Any, out: Any) -> None:
    """Release as often as possible; put the time that each release took, in milliseconds."""
    accountant, taken = PrivacyAccountant.open(name), []
    for _ in range(5):
        accountant.release(MECHANISM, VOTES)  # the worst-case curve is computed once
    barrier.wait()
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        accountant.release(MECHANISM, VOTES)
        taken.append(1e3 * (time.perf_counter() - start))
    out.put(taken)


def report_rate(store: str, name: str, n_processes: int, seconds: float) -> None:
    budget(name)
    context = multiprocessing.get_context("spawn")
    barrier, out = context.Barrier(n_processes), context.Queue()
    workers = [
        context.Process(target=release_for, args=(name, seconds, barrier, out), daemon=True)
        for _ in range(n_processes)
    ]
    for worker in workers:
        worker.start()
    taken = np.concatenate([out.get(timeout=seconds + 120) for _ in workers])
    for worker in workers:
        worker.join()
    median, late = np.quantile(taken, [0.5, 0.99])
    print(
        f"{store:6s} {n_processes} process{'es' * (n_processes > 1):2s} "
        f"{len(taken) / seconds:6.0f} releases a second, median {median:6.1f} ms, "
        f"p99 {late:6.1f} ms ({late / median:.1f} times)",
        flush=True,
    )


def milliseconds(run: Callable[[], object], times: int = 1) -> float:
    """The median of some times."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(1e3 * (time.perf_counter() - start))
    return float(np.median(taken))


def report_sizes(store: str, name: str, sizes: list[int]) -> None:
    accountant = budget(name)
    scope, note = accountant.scope(), {"n_teachers": 250, "split_by": "row"}
    accountant.release(MECHANISM, VOTES, scope=scope, note=note)
    like = accountant.entries()[0]
    for size in sizes:
        while (n_entries := accountant.spent().n_releases) < size:

            def append(transaction: Transaction, n: int = min(1000, size - n_entries)) -> None:
                for _ in range(n):
                    transaction.append(replace(like, checkpoint=None))

            Ledger.open(name).transact(append, scope.id)
        opening = milliseconds(lambda: PrivacyAccountant.open(name), 9)
        verifying = milliseconds(lambda: Ledger.open(name).verify())
        replaying = milliseconds(lambda: replay(Ledger.open(name)))
        print(
            f"{store:6s} {size:7,} entries: open {opening:.1f} ms, verify {verifying / 1e3:.2f} s, "
            f"replay {replaying / 1e3:.2f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="per measurement")
    parser.add_argument("--folder", default=".", help="where the ledgers are made")
    parser.add_argument("--server", help="URL of a database; by default a server is started")
    parser.add_argument("--quick", action="store_true", help="2 seconds, and 1,000 entries")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000], help="entries")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(seconds=2.0, sizes=[1_000])
    arguments = parser.parse_args()
    why = ""
    if not find_spec("psycopg"):
        why = "psycopg is not installed"
    elif not shutil.which("pg_config"):
        why = "pg_config, which says where PostgreSQL is, is not installed"
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        os.environ["SECRETBALLOT_STATE"] = folder
        os.chmod(folder, 0o711)
        names = {"file": lambda name: str(Path(folder, f"{name}.ledger"))}
        with nullcontext(arguments.server) if why or arguments.server else server(folder) as url:
            if url:
                joint = "&" if "?" in url else "?"
                names["server"] = lambda name: f"{url}{joint}ledger={name}-{os.getpid()}"
            else:
                print(f"no server: {why}", flush=True)
            for n_processes in (1, 8):
                for store, named in names.items():
                    report_rate(store, named(f"rate-{n_processes}"), n_processes, arguments.seconds)
            for store, named in names.items():
                report_sizes(store, named("sizes"), arguments.sizes)


if __name__ == "__main__":
    main()
