"""Processes that spend at once, and processes that are killed while they spend."""

import os

import pytest
from tests.ledger._processes import run_processes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(params=["file", "server"])
def where(request, tmp_path):
    """Folder of ledger files, or the URL of a server."""
    if request.param == "file":
        return str(tmp_path)
    return request.getfixturevalue("server").url()


def check_race(where, runs):
    result = run_processes("race", where, runs)
    assert result["successes"] == [result["affordable"]] * runs


def check_kills(where, kills):
    result = run_processes("kill", where, kills)
    assert result["kills"] == kills
    # Every other process returned something before it was killed.
    assert result["returned"] > kills / 2
    return result


def test_eight_processes_spend_exactly_the_budget(where):
    check_race(where, 2 if "://" in where else 3)


def test_reading_the_file_while_spending_from_it_drops_no_record(tmp_path):
    """Closing any descriptor on a file drops the POSIX locks that the process has on it."""
    result = run_processes("backup", tmp_path, 40)
    assert result == {"answered": 160, "recorded": 160, "failed": 0, "asked": 160}


@pytest.mark.slow
def test_eight_processes_a_hundred_times(where):
    check_race(where, 100)


def test_killed_at_random(where):
    check_kills(where, 10)


@pytest.mark.slow
def test_killed_at_random_two_hundred_times(where):
    result = check_kills(where, 200)
    # Some were killed in the middle of a write: the next to open the ledger rolled it back.
    assert (result["interrupted_writes"] > 0) is ("://" not in where)


def check_steps(where, every):
    outcomes = [tuple(each) for each in run_processes("step", where, every)["outcomes"]]
    # Never returned without a record.
    assert (True, 0) not in outcomes
    assert {recorded for _, recorded in outcomes} == {0, 1}
    assert outcomes.count((True, 1)) == 2
    assert outcomes.count((False, 0)) > 20 / every
    return outcomes


@pytest.mark.parametrize(
    ("where", "every"),
    [("file", 1), ("server", 7), pytest.param("server", 1, marks=pytest.mark.slow)],
    indirect=["where"],
)
def test_killed_at_statements(where, every):
    outcomes = check_steps(where, every)
    # At some statement a charge was kept for nothing.
    assert every > 1 or (False, 1) in outcomes
