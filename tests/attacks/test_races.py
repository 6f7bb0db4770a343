"""Processes and threads that make, reserve, release, settle at once: one budget, spent once."""

import contextlib
import json
import os
import subprocess
import sys
import threading

import pytest
from tests._fakes import Pure, basic_budget, votes
from tests._programs import ROOT, running_program

from secretballot.accounting import BudgetExceededError, LedgerError, PrivacyAccountant
from secretballot.accounting._report import replay

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
QUARTER = Pure(epsilon=0.25)

WORKER = """
import json, sys
from tests.attacks.test_races import make_or_open, work
path, n_threads, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
made = make_or_open(path)
print(json.dumps([made, *work(path, n_threads, seed)]))
"""
AFFORDABLE = 90


def make_or_open(path):
    """Make the ledger, unless another has; return whether this was the one."""
    try:
        basic_budget(path, 0.25 * AFFORDABLE)
    except LedgerError:
        return False
    return True


def work(path, n_threads, seed):
    """Spend in several threads until nothing is left; return rows answered, and calls."""
    import random

    answered, calls, errors = [], [], []

    def run(number):
        generator = random.Random(1000 * seed + number)
        try:
            while True:  # the ledger is being made by another
                with contextlib.suppress(LedgerError):
                    accountant = PrivacyAccountant.open(path)
                    break
            while True:
                calls.append(1)
                n_rows = generator.randrange(1, 4)
                if generator.random() < 0.5:
                    answered.append(len(accountant.release(QUARTER, votes(1))))
                    continue
                reservation = accountant.reserve(QUARTER, n_rows)
                for _ in range(generator.randrange(n_rows + 1)):
                    drawn = accountant.release(QUARTER, votes(1), reservation=reservation)
                    answered.append(len(drawn))
                accountant.settle(reservation)
        except BudgetExceededError:
            pass
        except BaseException as error:
            errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(answered), len(calls), errors


def test_processes_with_threads(tmp_path, counts):
    n_processes, n_threads, rounds = 4, 3, 4
    total_calls = 0
    for round_ in range(rounds):
        path = tmp_path / f"{round_}.ledger"
        with contextlib.ExitStack() as running:
            processes = [
                running.enter_context(
                    running_program(
                        *(sys.executable, "-c", WORKER, path, n_threads, 10 * round_ + number),
                        cwd=ROOT,
                        stdin=subprocess.PIPE,
                    )
                )
                for number in range(n_processes)
            ]
            for process in processes:
                assert process.stdout.readline() == "ready\n"
            for process in processes:
                process.stdin.write("go\n")
                process.stdin.flush()
            results = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
        assert [errors for *_, errors in results] == [[]] * n_processes
        assert sum(made for made, *_ in results) == 1
        answered = sum(rows for _, rows, *_ in results)
        total_calls += sum(calls for *_, calls, _ in results)
        accountant = PrivacyAccountant.open(path)
        recorded = sum(entry.n_rows for entry in accountant.entries())
        assert recorded == answered <= AFFORDABLE
        assert replay(accountant._ledger)["everyone"].amount == accountant.spent().amount
        # Of a plan that was begun nothing comes back: so not all that is spent was answered.
        assert accountant.spent().amount >= 0.25 * answered
    counts("processes that raced", rounds * n_processes)
    counts("calls of three threads in each", total_calls)


def test_makers_of_one_ledger(tmp_path, counts):
    """Of many who make the same ledger one does, and the others are told that it exists."""
    rounds, n_threads = 60, 8
    for round_ in range(rounds):
        path, barrier = tmp_path / f"{round_}.ledger", threading.Barrier(n_threads)
        outcomes = []

        def make(path=path, barrier=barrier, outcomes=outcomes):
            barrier.wait()
            try:
                outcomes.append(basic_budget(path))
            except LedgerError as error:
                outcomes.append(str(error))

        threads = [threading.Thread(target=make) for _ in range(n_threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        said = [each for each in outcomes if isinstance(each, str)]
        assert len(outcomes) - len(said) == 1
        assert all("exists already" in each for each in said)
        assert PrivacyAccountant.open(path).spent().n_releases == 0
    counts("ledgers that several made at once", rounds)
