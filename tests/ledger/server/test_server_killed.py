"""A server that is killed while programs spend: what they were given is recorded."""

import json
import sys
import time

import pytest
from tests._fakes import basic_budget
from tests._programs import ROOT, python_environment, running_program
from tests.ledger._server import Server, needs_server, running

from secretballot.accounting import PrivacyAccountant

N_WRITERS = 4


def check_kills(folder, kills):
    needs_server()
    with running(Server()) as server:
        ledger = server.url("killed")
        budget = basic_budget(ledger, epsilon=1e6)
        program = (sys.executable, "-m", "tests.ledger.server._writers", ledger, folder, N_WRITERS)
        with running_program(*program, cwd=ROOT, env=python_environment()) as writers:
            try:
                for kill in range(kills):
                    before = budget.spent().n_releases
                    deadline = time.monotonic() + 30
                    while budget.spent().n_releases < before + 20:
                        assert time.monotonic() < deadline, "nobody spends"
                        time.sleep(0.01)
                    time.sleep(0.003 * (kill % 7))
                    server.kill()
                    server.start()
            finally:
                (folder / "stop").touch()
            assert writers.wait(100) == 0
        entries = budget.entries()
        assert budget._ledger.verify().n_entries == len(entries)
        assert PrivacyAccountant.open(ledger).spent().amount == 0.25 * len(entries)
    lines = [line for log in folder.glob("*.log") for line in log.read_text().splitlines()]
    outcomes = {"returned": set(), "refused": set(), "unknown": set()}
    for line in lines:
        kind, name = line.split()[:2]
        outcomes[kind].add(name)
    recorded = {json.loads(entry.note)["id"] for entry in entries}
    assert len(recorded) == len(entries)
    assert outcomes["returned"] <= recorded
    assert not outcomes["refused"] & recorded
    assert recorded <= outcomes["returned"] | outcomes["unknown"]
    assert len(outcomes["returned"]) >= 20 * kills
    return outcomes


def test_killed_under_writers(tmp_path):
    check_kills(tmp_path, 1)


@pytest.mark.slow
def test_killed_under_writers_twenty_times(tmp_path):
    outcomes = check_kills(tmp_path, 20)
    assert outcomes["refused"]
