"""Those who wait for a ledger file: in line, and not kept by one who was stopped."""

import sys
import threading
import time

import pytest
from tests._fakes import basic_budget, spend

from secretballot._base._files import try_lock, try_turn, unlock
from secretballot.ledger import _guard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="waiting in line is for Linux")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def mark_of(path):
    return open(f"{path}.mark", "r+b")


def test_the_place_of_the_first_is_taken_once_and_given_back(path):
    basic_budget(path)
    with mark_of(path) as one, mark_of(path) as other:
        assert try_turn(one.fileno())
        assert not try_turn(other.fileno())
        # It is no lock on the ledger.
        assert try_lock(other.fileno())
        unlock(other.fileno())
        mark_of(path).close()
        assert not try_turn(other.fileno())
        one.close()
        assert try_turn(other.fileno())


def test_who_comes_back_waits_for_who_waits(path):
    """A release does not get in between while somebody else has the first place."""
    accountant = basic_budget(path)
    with mark_of(path) as waiting:
        assert try_turn(waiting.fileno())
        thread = threading.Thread(target=spend, args=(accountant,))
        thread.start()
        time.sleep(0.3)
        assert thread.is_alive()
    thread.join(20)
    assert not thread.is_alive()
    assert accountant.spent().n_releases == 1


def test_a_program_that_was_stopped_keeps_nobody(path, monkeypatch):
    monkeypatch.setattr(_guard, "_TURN", 0.1)
    accountant = basic_budget(path)
    with mark_of(path) as waiting:
        assert try_turn(waiting.fileno())
        spend(accountant)
    assert accountant.spent().n_releases == 1
