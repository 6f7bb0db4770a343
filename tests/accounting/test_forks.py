"""Forks while a thread computes a price: the child prices and releases without waiting for it."""

import json
import os

import pytest
from tests._programs import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")

FORKING = """
import json, os, signal, sys, threading, warnings
from dataclasses import dataclass
from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import ConfidentGNMax, GNMax

def check(kind, asked, nth, order):
    settings = {"sigma": 40.0}
    if kind == "ConfidentGNMax":
        settings |= {"threshold": 50, "sigma_threshold": 40.0}
    kind = {"GNMax": GNMax, "ConfidentGNMax": ConfidentGNMax}[kind]
    entered, opened, calls = threading.Event(), threading.Event(), []

    def waiting(name):
        # The thread is inside the computation of whatever asks for this.
        def method(self, *args, **kwargs):
            calls.append(name)
            if len(calls) == nth:
                entered.set()
                opened.wait()
            return getattr(super(Slow, self), name)(*args, **kwargs)
        return method

    Slow = dataclass(frozen=True, kw_only=True)(type("Slow", (kind,), {asked: waiting(asked)}))

    def release(mechanism):
        PrivacyAccountant(4.0, 1e-5, order=order).release(mechanism, [[90, 5, 5]])

    thread = threading.Thread(target=release, args=[Slow(**settings)])
    thread.start()
    entered.wait()
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits
        release(kind(**settings))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    opened.set()
    thread.join()
    assert status == 0, status

for case in json.loads(sys.argv[1]):
    # Each in a process that has computed no price.
    child = os.fork()
    if not child:
        check(*case)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, case
"""
COMPUTATIONS = [("laws", 2, "gaussian"), ("laws", 1, "renyi"), ("max_cost", 1, "renyi")]


@pytest.mark.parametrize("kind", ["GNMax", "ConfidentGNMax"])
def test_a_child_does_not_wait_for_a_price_that_a_thread_computes(kind):
    cases = json.dumps([(kind, *computation) for computation in COMPUTATIONS])
    done = run_python("-c", FORKING, cases)
    assert done.returncode == 0, done.stderr
