"""Rows a second, bytes and messages of a question, on this machine.

    python benchmarks/collaboration/speed.py [--rows 1000] [--parties 10] [--repeat 3] [--quick]

Ten parties are there and one of them asks: all in one process, and each in a process of its own,
over mutual TLS on loopback. A question is timed from `ask` to its answer, ledgers included; bytes
are those of messages before encryption, of all parties together, and an answer to a message is a
message too. Models are small trees: the vote is timed and not they.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import trustme
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

from secretballot.accounting import PrivacyAccountant
from secretballot.collaboration import (
    Agreement,
    Collaboration,
    Credentials,
    Membership,
    Party,
    VoteServer,
)
from secretballot.mechanisms import BinaryVoting, GNMax

N_FEATURES = 20
HOST = "127.0.0.1"


class Task(NamedTuple):
    """What is voted on."""

    name: str
    classes: tuple[int, ...] | None
    labels: tuple[str, ...] | None

    @property
    def kinds(self) -> dict[str, Any]:
        return {"classes": self.classes} if self.classes else {"labels": self.labels}

    def agreement(self, n_parties: int) -> Agreement:
        names = [f"party {index}" for index in range(n_parties)]
        if self.classes:
            return Agreement(mechanism=GNMax(sigma=40.0), parties=names)
        return Agreement(mechanism=BinaryVoting(sigma=40.0, n_votes=n_parties - 1), parties=names)


TASKS = (
    Task("2 classes", tuple(range(2)), None),
    Task("10 classes", tuple(range(10)), None),
    Task("20 labels", None, tuple(map(str, range(20)))),
)


class Cost(NamedTuple):
    """What a question took so far; bytes and messages where there are any."""

    n_messages: int = 0
    n_bytes: int = 0


#: Asks about rows; and what was sent so far.
Asking = tuple[Callable[[Any], Any], Callable[[], Cost]]


def party(task: Task, index: int, folder: str) -> Party:
    """A party with a named ledger, as in earnest."""
    rng = np.random.default_rng(index)
    X = rng.normal(size=(200, N_FEATURES))
    stump = DecisionTreeClassifier(max_depth=3, random_state=0)
    if task.classes:
        y, model = X[:, : len(task.classes)].argmax(axis=1), stump
    else:
        y, model = (X > 0).astype(int), MultiOutputClassifier(stump)
    # Row by row: to price a plan of ten classes takes half a minute, once in each process.
    accountant = PrivacyAccountant(
        1e6, 1e-5, order="renyi", ledger=Path(folder, f"party-{index}.ledger")
    )
    return Party(model, name=f"party {index}", accountant=accountant, **task.kinds).fit(X, y)


@contextmanager
def in_process(task: Task, n_parties: int, folder: str) -> Iterator[Asking]:
    """All parties in this process."""
    parties = [party(task, index, folder) for index in range(n_parties)]
    together, agreement = Collaboration(parties), task.agreement(n_parties)
    yield lambda X: together.ask("party 0", X, agreement), Cost


@contextmanager
def over_tls(task: Task, n_parties: int, folder: str) -> Iterator[Asking]:
    """Each party in a process of its own; the server, and the one that asks, in this one."""
    names, agreement = [f"party {i}" for i in range(n_parties)], task.agreement(n_parties)
    certificates(folder, names)
    server = VoteServer(
        agreement, credentials=credentials(folder, "server"), timeout=300, **task.kinds
    )
    # Forked from one that has imported everything, and has no threads.
    apart = multiprocessing.get_context("forkserver")
    apart.set_forkserver_preload(
        ["sklearn.multioutput", "sklearn.tree", "secretballot.collaboration"]
    )
    with server:
        processes = [
            apart.Process(target=vote, args=(task, n_parties, i, folder, server.address))
            for i in range(1, n_parties)
        ]
        for process in processes:
            process.start()
        assert server.wait_for(names[1:], 300)
        asker = member(task, n_parties, 0, folder, server.address)
        yield asker.ask, lambda: Cost(server.traffic.n_messages, server.traffic.n_bytes)
    for process in processes:
        process.join()


#: What is compared; each yields how to ask, and what was sent so far.
WAYS = {"one process": in_process, "over TLS": over_tls}


def member(task: Task, n_parties: int, index: int, folder: str, address: Any) -> Membership:
    """A party at a server."""
    return Membership(
        party(task, index, folder),
        address,
        credentials=credentials(folder, f"party {index}"),
        agreement=task.agreement(n_parties),
        timeout=300,
    )


def vote(task: Task, n_parties: int, index: int, folder: str, address: Any) -> None:
    """Vote until the server ends; in a process of its own."""
    member(task, n_parties, index, folder, address).serve()


def credentials(folder: str, name: str) -> Credentials:
    """A certificate, its key in the same file, and who signed it."""
    return Credentials(Path(folder, "authority.pem"), Path(folder, f"{name}.pem"))


def certificates(folder: str, names: list[str]) -> None:
    """Write those of an authority, the server and all parties."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(Path(folder, "authority.pem"))
    issued = {name: authority.issue_cert(common_name=name) for name in names}
    issued["server"] = authority.issue_cert(HOST)
    for name, made in issued.items():
        made.private_key_and_cert_chain_pem.write_to_path(Path(folder, f"{name}.pem"))


def measure(how: Any, task: Task, n_parties: int, n_rows: int, repeat: int) -> list[str]:
    """One line of the table."""
    X = np.random.default_rng(1_000).normal(size=(n_rows, N_FEATURES))
    with tempfile.TemporaryDirectory() as folder, how(task, n_parties, folder) as (ask, sent):
        ask(X)  # prices are computed once
        before, seconds = sent(), []
        for _ in range(repeat):
            start = time.perf_counter()
            ask(X)
            seconds.append(time.perf_counter() - start)
        after = sent()
    took = statistics.median(seconds)
    messages, size = ((b - a) / repeat for a, b in zip(before, after, strict=True))
    return [f"{took:.3f}", f"{n_rows / took:,.0f}", f"{size:,.0f}", f"{messages:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--parties", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="100 rows, 4 parties, once")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(parties=4, rows=100, repeat=1)
    chosen = parser.parse_args()
    n_parties, n_rows, repeat = chosen.parties, chosen.rows, chosen.repeat
    print(f"{n_parties} parties, {n_rows:,} rows of {N_FEATURES} numbers, median of {repeat}\n")
    print("| | parties | seconds | rows a second | bytes | messages |\n|---|---|---|---|---|---|")
    for task in TASKS:
        for name, how in WAYS.items():
            cells = [task.name, name, *measure(how, task, n_parties, n_rows, repeat)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
