"""The tests keep what they have seen of ledgers out of the user's folder."""

import os
import sys
from pathlib import Path

import pytest
from tests._programs import ROOT, python_environment, run_python
from tests.ledger._server import needs_server

from secretballot.ledger._server_store import state_folder

#: Workers are started before the first test of a ledger, and make one.
TESTS = """
from joblib import Parallel, delayed

def test_workers_begin():
    assert Parallel(n_jobs=4)(delayed(abs)(-1) for _ in range(8)) == [1] * 8
"""
IN_WORKERS = "tests/ledger/test_children.py::test_processes_that_carve_at_once"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_workers_that_are_started_early_write_no_mark_into_the_home_folder(tmp_path):
    needs_server()
    early, home = tmp_path / "test_early.py", tmp_path / "home"
    early.write_text(TESTS)
    marks = home / ".local" / "state" / "secretballot" / "ledgers"
    marks.mkdir(parents=True)
    (marks / f"{'0' * 32}.mark").touch()
    before = sorted(home.rglob("*"))
    environment = {**python_environment(), "HOME": str(home)}
    for name in ("SECRETBALLOT_STATE", "XDG_STATE_HOME"):
        environment.pop(name, None)
    without = ("-p", "no:randomly", "-p", "no:cacheprovider")
    done = run_python(
        *("-m", "pytest", "-q", "-n", "0", *without, "-k", "early or server"),
        *("--rootdir", ROOT, "-c", ROOT / "pyproject.toml", early, IN_WORKERS),
        env=environment,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    assert sorted(home.rglob("*")) == before


def test_programs_inherit_the_folder():
    folder = Path(os.environ["SECRETBALLOT_STATE"])
    assert Path.home() not in folder.parents
    program = f"from {state_folder.__module__} import state_folder; print(state_folder())"
    assert run_python("-c", program).stdout.strip() == str(folder) == str(state_folder())
