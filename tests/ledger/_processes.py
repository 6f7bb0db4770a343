"""Processes that spend at once, or die while they spend.

Run as a script, ``python -m tests.ledger._processes race|kill|step|backup WHERE TIMES``: in a
fresh interpreter without threads, so that forking is quick and safe. Prints what happened as JSON.
`WHERE` is a folder, or the URL of a server's database.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np
from tests._fakes import Pure, basic_budget, votes
from tests._programs import run_python

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.ledger import _file_store as ledger_file
from secretballot.mechanisms import GNMax

BALLOTS = np.tile([60, 30, 10], (5, 1))


def run_processes(what, where, times, timeout=280):
    """Run one of the functions below in an interpreter of its own."""
    done = run_python("-m", "tests.ledger._processes", what, where, times, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ledger_at(where, name):
    """Return the name of a ledger in a folder, or on a server."""
    if "://" not in where:
        return str(Path(where) / f"{name}.ledger")
    return f"{where}&ledger={name}-{os.getpid()}-{time.time_ns()}"


def fork(child):
    """Run ``child(write_end)`` in a fork; return its id and the read end of a pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    status = 1
    try:
        os.close(read)
        child(write)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def drained(read):
    with open(read, "rb") as pipe:
        return pipe.read().decode()


def race(where, times, n_processes=8, affordable=24):
    """Processes spend from one budget until it is used up; how many got something, each time.

    Every other time the rows are paid for before, and the processes draw them.
    """
    successes = []
    for run in range(times):
        path = ledger_at(where, f"race-{run}")
        accountant, reservation = basic_budget(path, epsilon=affordable * 0.25), None
        if run % 2:
            reservation = accountant.reserve(Pure(epsilon=0.25), affordable)
        start, go = os.pipe()

        def spend_all(write, path=path, start=start, go=go, reservation=reservation):
            os.close(go)
            accountant, done = PrivacyAccountant.open(path), 0
            os.write(write, b"r")
            os.read(start, 1)  # until the parent lets all of them go
            with contextlib.suppress(BudgetExceededError):
                while True:
                    done += len(
                        accountant.release(Pure(epsilon=0.25), votes(1), reservation=reservation)
                    )
            os.write(write, f" {done}".encode())

        children = [fork(spend_all) for _ in range(n_processes)]
        for _, read in children:
            assert os.read(read, 1) == b"r"
        os.close(go)
        os.close(start)
        counts = [int(drained(read)) for _, read in children]
        for pid, _ in children:
            assert os.waitpid(pid, 0)[1] == 0
        accountant = PrivacyAccountant.open(path)
        assert accountant.spent().amount <= affordable * 0.25
        n_entries = sum(counts) + (reservation is not None)
        assert [entry.sequence for entry in accountant.entries()] == [*range(1, n_entries + 1)]
        successes.append(sum(counts))
    return {"affordable": affordable, "successes": successes}


def kill(where, times):
    """Kill processes that spend at random moments; check the ledger after each."""
    path = ledger_at(where, "kill")
    accountant = PrivacyAccountant(1000.0, 1e-5, ledger=path, order="renyi")
    accountant.release(GNMax(sigma=400.0), BALLOTS, note={"id": "first"})
    generator = random.Random(times)
    printed, kept, interrupted = ["first"], 0, 0
    for round_ in range(times):

        def spend_on(write, round_=round_):
            mine = PrivacyAccountant.open(path)
            os.write(write, b"ready\n")
            for count in range(100_000):
                name = f"{round_}-{count}"
                answer = mine.release(GNMax(sigma=400.0), BALLOTS, note={"id": name})
                os.write(write, f"{name} {answer.tolist()}\n".encode())

        pid, read = fork(spend_on)
        assert os.read(read, 6) == b"ready\n"
        # Half of them are let to return something first, however slow the machine is.
        received = os.read(read, 1) if round_ % 2 else b""
        time.sleep(generator.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        interrupted += os.path.exists(f"{path}-journal")
        # A line that was cut was not received either.
        lines = (received.decode() + drained(read)).splitlines(True)
        printed += [line.split()[0] for line in lines if "\n" in line]
        entries = PrivacyAccountant.open(path).entries()  # checks the chain
        recorded = [json.loads(entry.note)["id"] for entry in entries]
        lost = set(printed) - set(recorded)
        assert not lost, lost
        charged = len(recorded) - len(printed)
        # One release at most was under way; its charge may be kept.
        assert kept <= charged <= kept + 1
        kept = charged
    return {
        "kills": times,
        "returned": len(printed),
        "charged_not_returned": kept,
        "interrupted_writes": interrupted,
    }


def backup(where, times, n_processes=4):
    """Processes spend while they read the file in another thread, as a backup would."""
    path = Path(ledger_at(where, "backup"))
    basic_budget(path, epsilon=1e6)

    def spend_on(write):
        mine, done = PrivacyAccountant.open(path), threading.Event()

        def read_it():
            while not done.is_set():
                path.read_bytes()
                Path(f"{path}.mark").read_bytes()

        reader = threading.Thread(target=read_it)
        reader.start()
        try:
            for _ in range(times):
                mine.release(Pure(epsilon=0.25), votes(1))
                os.write(write, b"x")
        finally:
            done.set()
            reader.join()

    children = [fork(spend_on) for _ in range(n_processes)]
    answered = sum(len(drained(read)) for _, read in children)
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid, _ in children)
    return {
        "answered": answered,
        "recorded": len(PrivacyAccountant.open(path).entries()),
        "failed": failed,
        "asked": n_processes * times,
    }


def die_at(statement, after, where):
    """Kill this process before or after its n-th statement."""
    left = statement

    def dying(execute):
        def execute_or_die(*arguments):
            nonlocal left
            left -= 1
            if left == 0 and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = execute(*arguments)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return execute_or_die

    if "://" in where:
        import psycopg

        psycopg.Connection.execute = dying(psycopg.Connection.execute)
        return
    connect = sqlite3.connect

    class Dying(sqlite3.Connection):
        execute = dying(sqlite3.Connection.execute)

    ledger_file.sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Dying)


def step(where, every):
    """Kill a process at statements of a release in turn, until one survives them all."""
    path = ledger_at(where, "step")
    basic_budget(path, epsilon=100.0)
    outcomes = []
    for after in (False, True):
        for statement in range(1, 100, every):

            def spend_once(write, statement=statement, after=after):
                mine = PrivacyAccountant.open(path)
                die_at(statement, after, where)
                mine.release(Pure(epsilon=0.25), votes(1))
                os.write(write, b"returned")

            before = len(PrivacyAccountant.open(path).entries())
            pid, read = fork(spend_once)
            returned = drained(read) == b"returned".decode()
            survived = os.waitpid(pid, 0)[1] == 0
            recorded = len(PrivacyAccountant.open(path).entries()) - before
            outcomes.append((returned, recorded))
            if survived:
                break
        assert survived
    return {"outcomes": outcomes}


if __name__ == "__main__":
    _, what, where, times = sys.argv
    print(
        json.dumps(
            {"race": race, "kill": kill, "step": step, "backup": backup}[what](where, int(times))
        )
    )
