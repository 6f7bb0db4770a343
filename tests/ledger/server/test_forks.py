"""Connections and forks: a child gets no connection of its parent."""

import sys

import pytest
from tests._programs import run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

FORKING = """
import os, sys
from tests._fakes import basic_budget, spend

def sockets():
    names = []
    for number in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            pass
    return [name for name in names if name.startswith("socket")]

accountant = basic_budget(sys.argv[1])
spend(accountant)
assert len(sockets()) == 1  # it is kept for the next release
child = os.fork()
if not child:
    os._exit(len(sockets()))
assert os.waitpid(child, 0)[1] == 0
spend(accountant)
"""

WITHIN = """
import os, sys
from tests._fakes import basic_budget, spend
from secretballot.accounting import LedgerError
accountant = basic_budget(sys.argv[1])

def fork(transaction):
    if not os.fork():
        try:
            transaction.reservation("x")
        except LedgerError as error:
            os._exit(3 if "forked process" in str(error) else 4)
        os._exit(5)
    return os.waitstatus_to_exitcode(os.wait()[1])

assert accountant._ledger.transact(fork) == 3
spend(accountant)
assert accountant.spent().n_releases == 1
"""


@pytest.mark.parametrize("program", [FORKING, WITHIN], ids=["between", "within"])
def test_a_child_has_no_connection_of_its_parent(url, program):
    done = run_python("-c", program, url)
    assert done.returncode == 0, done.stderr
