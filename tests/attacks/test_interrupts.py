"""Ctrl-C wherever the interpreter looks for signals, and at random, in all that is charged."""

import os
import random
import signal
import threading
import time

import pytest
from tests._fakes import Pure, basic_budget, spend, votes
from tests.ledger._interrupted import RECORDING, elsewhere, interrupt_everywhere, n_entries

from secretballot.accounting import CompletedInterrupt, LedgerError, PrivacyAccountant
from secretballot.ledger import _guard

QUARTER = Pure(epsilon=0.25)


@pytest.fixture(autouse=True)
def _not_patient(monkeypatch):
    monkeypatch.setattr(_guard, "BUSY_TIMEOUT", 1.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def release(accountant):
    return accountant.release(QUARTER, votes(2))


def reserve(accountant):
    return accountant.reserve(QUARTER, 2)


@pytest.mark.parametrize("act", [release, reserve])
def test_at_every_moment(path, counts, act):
    """No lock is left, though an interactive session keeps the frames; charge and answer agree."""
    basic_budget(path, 1e6)
    moments = completed = 0
    for answer, error in interrupt_everywhere(path, act, spend, folders=RECORDING):
        moments += error is not None
        completed += isinstance(error, CompletedInterrupt)
        if act is release and (error is None or isinstance(error, CompletedInterrupt)):
            assert answer.tolist() == [0, 0]
        elif isinstance(error, CompletedInterrupt):
            reserved = PrivacyAccountant.open(path).reserved(answer)
            assert reserved.rows_left == 2
    counts(f"interrupts at moments of a {act.__name__}", moments)
    counts(f"interrupts of a {act.__name__} that carried its answer", completed)
    assert moments > 250
    assert completed > 5


def test_at_every_moment_of_making_a_ledger(tmp_path, counts):
    """Nothing is there, or a ledger that is whole."""
    from tests.ledger._interrupted import with_signal

    outcomes = {"made": 0, "nothing left": 0}
    at = 1
    while True:
        path = tmp_path / str(at) / "budget.ledger"
        path.parent.mkdir()
        _, error, seen = with_signal(lambda path=path: basic_budget(path), at, RECORDING)
        files = sorted(each.name for each in path.parent.iterdir())
        if files:
            elsewhere(lambda path=path: spend(PrivacyAccountant.open(path)))
            assert n_entries(path) == 1
        else:
            assert error
        if seen < at:
            break
        outcomes["made" if files else "nothing left"] += 1
        at += 1
    counts("interrupts of a ledger that is made", at - 1)
    assert min(outcomes.values()) > 0


# A file that is dropped while it is opened closes itself, and Python remarks on that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_at_random(path, counts):
    """Real signals, sent by another thread at any moment of releases one after the other."""
    accountant = basic_budget(path, 1e6)
    generator = random.Random(33)
    ends = dict.fromkeys(("nothing charged", "answer kept", "answered"), 0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    entries, n_signals = 0, 1000
    try:
        for _ in range(n_signals):
            pause = generator.uniform(0.0, 0.008)

            def send(pause=pause):
                time.sleep(pause)
                os.kill(os.getpid(), signal.SIGINT)

            thread = threading.Thread(target=send)
            answered = 0
            error = None
            try:
                thread.start()
                while True:
                    release(accountant)
                    answered += 1
            except KeyboardInterrupt as interrupt:
                error = interrupt
            thread.join()
            now = n_entries(path)
            lost = now - entries - answered
            if isinstance(error, CompletedInterrupt):
                assert error.answer.tolist() == [0, 0]
                assert lost == 1
                ends["answer kept"] += 1
            else:
                # The one moment that nobody can guard: `answered += 1` was not run any more.
                assert lost in (0, 1)
                ends["answered" if lost else "nothing charged"] += 1
            entries = now
    except LedgerError as error:
        raise AssertionError("the ledger was locked") from error
    finally:
        signal.signal(signal.SIGINT, before)
    counts("signals at random", n_signals)
    counts("signals at random: the release carried its answer", ends["answer kept"])
    counts("signals at random: between the answer and its caller", ends["answered"])
    assert ends["answered"] < n_signals / 50
