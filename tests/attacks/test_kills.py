"""Writers that are killed at random moments: nothing that was acknowledged is lost or doubled."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import warnings

import pytest
from tests._fakes import basic_budget, spend
from tests._programs import ROOT, running_program

from secretballot.accounting import LedgerError, PrivacyAccountant

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

WRITER = """
import sys, os
from pathlib import Path
from tests._fakes import Pure, basic_budget, votes
from secretballot.accounting import PrivacyAccountant
QUARTER = Pure(epsilon=0.25)

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def work(path):
    accountant = PrivacyAccountant.open(path)
    while True:
        reservation = accountant.reserve(QUARTER, 2)
        say("entry")
        accountant.release(QUARTER, votes(1), reservation=reservation)
        say("entry")
        accountant.settle(reservation)
        say("entry")
        accountant.release(QUARTER, votes(3))
        say("entry")

def make(folder):
    for number in range(10**6):
        path = Path(folder) / f"{os.getpid()}-{number}"
        accountant = basic_budget(path)
        say("made", path.name)

what, where = sys.stdin.readline().split()
while sys.stdin.readline():
    # One warm interpreter, of which each writer is a fork.
    pid = os.fork()
    if not pid:
        {"work": work, "make": make}[what](where)
    say("pid", pid)
    os.waitpid(pid, 0)
    say("dead")
"""


class Writers:
    """Writers one after the other, from one interpreter."""

    def __init__(self, what, where):
        self._running = running_program(
            sys.executable, "-c", WRITER, cwd=ROOT, stdin=subprocess.PIPE
        )
        self.process = self._running.__enter__()
        self._say(f"{what} {where}")

    def _say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def kill_after(self, pause, n_lines):
        """Kill the next writer a moment after some lines; return all that it acknowledged."""
        self._say("begin")
        lines, pid = [], None
        while pid is None or len(lines) < n_lines:
            line = self.process.stdout.readline()
            if line.startswith("pid"):
                pid = int(line.split()[1])
            else:
                lines.append(line)
        time.sleep(pause)
        os.kill(pid, signal.SIGKILL)
        while (line := self.process.stdout.readline()) != "dead\n":
            lines.append(line)
        return lines

    def close(self):
        self._running.__exit__(None, None, None)


def test_writers_of_one_ledger(tmp_path, counts):
    path = tmp_path / "budget.ledger"
    spend(basic_budget(path, 1e6))
    generator, writers = random.Random(33), Writers("work", path)
    acknowledged, unanswered, journals, n_kills = 1, 0, 0, 200
    try:
        for n in range(n_kills):
            # Some have written an entry or more before, however slow the machine is.
            lines = writers.kill_after(generator.uniform(0, 0.03), n % 3)
            acknowledged += lines.count("entry\n")
            journals += os.path.exists(f"{path}-journal")
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # nor is the mark damaged
                accountant = PrivacyAccountant.open(path)
            recorded = accountant._ledger.totals().sequence
            # One call of each writer at most was under way: its charge may stand.
            assert acknowledged + unanswered <= recorded <= acknowledged + unanswered + 1
            unanswered = recorded - acknowledged
            rows = 0.25 * sum(
                entry.n_rows
                for entry in accountant.entries()[-50:]
                if entry.is_release and entry.reservation is None
            )
            assert accountant.spent().amount >= rows
    finally:
        writers.close()
    accountant._ledger.verify()
    counts("kills of writers", n_kills)
    counts("kills that left a journal", journals)
    counts("charges without an answer", unanswered)
    assert journals > 0
    assert acknowledged >= n_kills - 1


def test_makers_of_ledgers(tmp_path, counts):
    """What was made is there; what was not is no budget, and none that can be made in silence."""
    generator, writers = random.Random(34), Writers("make", tmp_path)
    n_kills, cut_off, made = 100, 0, 0
    try:
        for n in range(n_kills):
            lines = writers.kill_after(generator.uniform(0, 0.02), n % 3)
            names = {line.split()[1] for line in lines if line.startswith("made")}
            for name in names:
                PrivacyAccountant.open(tmp_path / name)
            there = {each.name for each in tmp_path.iterdir()}
            ledgers = {name.split(".")[0].removesuffix("-journal") for name in there} - names
            for name in ledgers:
                path = tmp_path / name
                with contextlib.suppress(LedgerError):
                    spend(PrivacyAccountant.open(path))
                    continue
                cut_off += 1
                with pytest.raises(LedgerError, match="creation was interrupted|does not exist"):
                    PrivacyAccountant.open(path)
                with pytest.raises(LedgerError, match="exists already|delete the mark"):
                    basic_budget(path)
            made += len(names)
            for each in tmp_path.iterdir():
                each.unlink()
    finally:
        writers.close()
    counts("kills of makers", n_kills)
    counts("ledgers made before", made)
    counts("ledgers cut off while they were made", cut_off)
    assert made >= n_kills - 1
