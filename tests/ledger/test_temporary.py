"""Unnamed ledgers: private, and gone with their last handle or their process, however it ends."""

import gc
import os
import pickle
import signal
import sys
import time
from pathlib import Path

import pytest
from tests._fakes import basic_budget, spend
from tests._programs import ROOT, python_environment, run_python, running_program

from secretballot.accounting import LedgerError


def file_of(accountant):
    return Path(accountant._ledger.path)


def test_a_temporary_ledger_goes_with_its_last_handle():
    accountant = basic_budget()
    file = file_of(accountant)
    other = pickle.loads(pickle.dumps(accountant))
    del accountant
    gc.collect()
    assert file.exists()
    spend(other)
    data = pickle.dumps(other)
    del other
    gc.collect()
    assert not file.exists()
    revived = pickle.loads(data)
    assert revived.epsilon == 4.0
    with pytest.raises(LedgerError, match="name a file with PrivacyAccountant"):
        spend(revived)
    assert not file.exists()


def test_a_temporary_ledger_is_private_and_ends_with_the_process():
    script = (
        "import os, stat; from secretballot.accounting import PrivacyAccountant\n"
        "a = PrivacyAccountant(1.0, 1e-5)\n"
        "print(a._ledger.path, stat.S_IMODE(os.stat(a._ledger.path).st_mode))"
    )
    file, mode = run_python("-c", script).stdout.split()
    assert not Path(file).exists()
    if os.name == "posix":
        assert int(mode) == 0o600


FORKING = """
import gc, os
from pathlib import Path
from tests._fakes import basic_budget, spend
accountant = basic_budget()
file = Path(accountant._ledger.path)
child = os.fork()
if not child:
    spend(accountant, 2)
    del accountant
    gc.collect()
    os._exit(0 if file.exists() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert accountant.spent().n_releases == 2
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_spends_but_never_deletes():
    done = run_python("-c", FORKING)
    assert done.returncode == 0, done.stderr


def gone(path, seconds=20.0):
    """Whether a path goes within a time that no machine needs."""
    end = time.monotonic() + seconds
    while path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    return not path.exists()


WAITING = """
import os, sys, time
from tests._fakes import basic_budget, spend
accountants = [basic_budget() for _ in range(2)]
for each in accountants:
    spend(each)
if sys.argv[1] == "fork" and not os.fork():
    time.sleep(60)
print(accountants[0]._ledger.path, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not os.path.exists("/bin/sh"), reason="needs a shell")
@pytest.mark.parametrize(
    ("how", "number"), [("alone", "SIGTERM"), ("alone", "SIGKILL"), ("fork", "SIGTERM")]
)
def test_a_process_that_is_ended_leaves_nothing(how, number):
    """Python runs no handler then. (A forked child, which may live on, has only borrowed it.)"""
    with running_program(
        sys.executable, "-c", WAITING, how, cwd=ROOT, env=python_environment()
    ) as process:
        folder = Path(process.stdout.readline().strip()).parent
        assert len(list(folder.iterdir())) == 4
        process.send_signal(getattr(signal, number))
        assert process.wait(60) == -getattr(signal, number)
        assert gone(folder)


def test_a_folder_that_was_cleaned_away_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    accountant = basic_budget()
    folder = file_of(accountant).parent
    assert folder.parent == tmp_path
    spend(accountant)
    del accountant
    gc.collect()
    folder.rmdir()
    spend(basic_budget())
