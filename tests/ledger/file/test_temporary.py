"""Unnamed ledgers: private, and gone with their last handle or their process, however it ends."""

import gc
import os
import pickle
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests._fakes import basic_budget, spend
from tests._programs import ROOT, python_environment, run_python, running_program

from secretballot.accounting import LedgerError


def file_of(accountant):
    return Path(accountant._ledger.name)


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
        "print(a._ledger.name, stat.S_IMODE(os.stat(a._ledger.name).st_mode))"
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
file = Path(accountant._ledger.name)
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


WAITING = """
import os, signal, sys, time
from tests._fakes import basic_budget, spend
accountants = [basic_budget() for _ in range(2)]
for accountant in accountants:
    spend(accountant)
if sys.argv[1] == "fork" and not os.fork():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    sys.stdin.readline()
    os._exit(0)
print(accountants[0]._ledger.name, flush=True)
time.sleep(60)
"""
STARTING = "from tests._fakes import basic_budget; basic_budget()"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and POSIX signals")
@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param("alone", "SIGTERM", marks=pytest.mark.slow),
        ("alone", "SIGKILL"),
        ("fork", "SIGTERM"),
    ],
)
def test_the_next_process_deletes_the_folder_of_a_killed_one(tmp_path, kind, number):
    """Python runs no handler then. A forked child that lives on keeps the ledgers."""
    environment = {**python_environment(), "TMPDIR": str(tmp_path)}

    def start_another():
        assert run_python("-c", STARTING, env=environment).returncode == 0
        return folder.exists()

    with running_program(
        *(sys.executable, "-c", WAITING, kind), stdin=subprocess.PIPE, cwd=ROOT, env=environment
    ) as process:
        folder = Path(process.stdout.readline().strip()).parent
        assert len(list(folder.iterdir())) == 5
        assert start_another()
        process.send_signal(getattr(signal, number))
        assert process.wait(60) == -getattr(signal, number)
        assert start_another() == (kind == "fork")
    assert not start_another()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_others_are_not_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "secretballot-new").mkdir()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "lock").touch()
    (tmp_path / "secretballot-link").symlink_to(precious)
    accountant = basic_budget()
    assert len(list(tmp_path.iterdir())) == 4
    del accountant
    assert (precious / "lock").exists()


def test_folders_of_killed_processes_of_another_machine_stay(tmp_path, monkeypatch):
    for name, machine in (("secretballot-here", platform.node()), ("secretballot-there", "other")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lock").write_text(machine)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    accountant = basic_budget()
    names = {path.name for path in tmp_path.iterdir()}
    assert "secretballot-there" in names
    assert "secretballot-here" not in names
    del accountant


def test_a_folder_that_was_cleaned_away_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    accountant = basic_budget()
    folder = file_of(accountant).parent
    assert folder.parent == tmp_path
    spend(accountant)
    del accountant
    gc.collect()
    shutil.rmtree(folder)
    spend(basic_budget())
