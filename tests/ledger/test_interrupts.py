"""Ctrl-C during a spend: no lock is left behind, and what was paid for is not lost."""

import os
import pickle
import signal
import sqlite3
import threading

import pytest
from tests._fakes import Noisy, Pure, basic_budget, spend, votes
from tests._programs import interrupts_arrive, run_python
from tests.ledger._interrupted import RECORDING, elsewhere, interrupt_everywhere, n_entries

from secretballot.accounting import CompletedInterrupt, LedgerError, PrivacyAccountant
from secretballot.ledger import _file_store, _guard

try:
    import psycopg
except ImportError:
    psycopg = None

CONNECT = sqlite3.connect
EXECUTE = psycopg and psycopg.Connection.execute
QUARTER = Pure(epsilon=0.25)


@pytest.fixture(autouse=True)
def _not_patient(monkeypatch):
    monkeypatch.setattr(_guard, "BUSY_TIMEOUT", 0.3)


@pytest.fixture(autouse=True)
def _interrupts_arrive():
    with interrupts_arrive():
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def press(number=signal.SIGINT):
    signal.raise_signal(number)


@pytest.fixture
def pressed_at(monkeypatch):
    """Press Ctrl-C after the first statement of a writer that begins with a word."""

    def at(word):
        left = [word]

        def pressing(execute):
            def execute_and_press(self, *arguments):
                result = execute(self, *arguments)
                text = str(arguments[0]).replace("secretballot.", "")
                if text.startswith("BEGIN"):
                    writers[id(self)] = "IMMEDIATE" in text or "READ WRITE" in text
                if writers.get(id(self)) and left and text.startswith(left[0]):
                    left.clear()
                    press()
                return result

            return execute_and_press

        writers = {}

        class Pressing(sqlite3.Connection):
            execute = pressing(sqlite3.Connection.execute)

        monkeypatch.setattr(
            _file_store.sqlite3, "connect", lambda *a, **k: CONNECT(*a, **k, factory=Pressing)
        )
        if psycopg is not None:
            monkeypatch.setattr(psycopg.Connection, "execute", pressing(EXECUTE))

    return at


def test_at_some_moments_of_a_release(name):
    """All of them, on a file: `tests/attacks/test_interrupts.py`."""
    basic_budget(name, 1e6)

    def release(accountant):
        return accountant.release(QUARTER, votes(2))

    for answer, error in interrupt_everywhere(
        name, release, spend, folders=RECORDING, first=7, step=71
    ):
        if error is None or isinstance(error, CompletedInterrupt):
            assert answer.tolist() == [0, 0]


def test_a_lock_that_was_just_taken_is_given_back(path, monkeypatch):
    accountant = basic_budget(path)
    try_lock = _guard.try_lock
    monkeypatch.setattr(_guard, "try_lock", lambda file: (try_lock(file), press())[0])
    with pytest.raises(KeyboardInterrupt) as interrupt:
        spend(accountant)
    monkeypatch.setattr(_guard, "try_lock", try_lock)
    elsewhere(lambda: spend(accountant))
    assert n_entries(path) == 1
    del interrupt


def test_an_interrupt_before_the_commit_charges_nothing(name, pressed_at):
    accountant = basic_budget(name)
    pressed_at("INSERT INTO entry")
    with pytest.raises(KeyboardInterrupt) as interrupt:
        spend(accountant)
    assert not isinstance(interrupt.value, CompletedInterrupt)
    elsewhere(lambda: spend(accountant))
    assert n_entries(name) == 1


def test_an_interrupt_after_the_commit_has_the_answer(name, pressed_at):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=name, order="renyi")
    pressed_at("COMMIT")
    noisy = Noisy(sigma=400)
    with pytest.raises(CompletedInterrupt, match="recorded before the interrupt") as interrupt:
        accountant.release(noisy, votes(3))
    assert interrupt.value.answer.shape == (3,)
    assert n_entries(name) == 1
    again = pickle.loads(pickle.dumps(interrupt.value))
    assert again.answer.tolist() == interrupt.value.answer.tolist()


def test_reservations_are_not_lost(name, pressed_at):
    accountant = basic_budget(name)
    pressed_at("COMMIT")
    with pytest.raises(CompletedInterrupt) as interrupt:
        accountant.reserve(QUARTER, 4)
    reservation = interrupt.value.answer
    assert accountant.reserved(reservation).rows_left == 4
    for act, expected in (
        (lambda: accountant.top_up(reservation, n_rows=2), None),
        (lambda: accountant.record(reservation, 1), None),
        (lambda: accountant.release(QUARTER, votes(2), reservation=reservation), [0, 0]),
        (lambda: accountant.settle(reservation), None),
    ):
        before = n_entries(name)
        pressed_at("COMMIT")
        with pytest.raises(CompletedInterrupt) as interrupt:
            act()
        answer = interrupt.value.answer
        assert (answer if answer is None else answer.tolist()) == expected
        assert n_entries(name) == before + 1


def test_a_note_that_is_interrupted_is_paid_for(name):
    """Who was shown an outcome does not get out of paying for it."""
    accountant = basic_budget(name)
    shown = []

    def note(outcome):
        shown.append(outcome)
        press()

    with pytest.raises(CompletedInterrupt) as interrupt:
        accountant.release(QUARTER, votes(2), note=note)
    assert interrupt.value.answer.tolist() == shown[0].tolist()
    assert n_entries(name) == 1
    with pytest.raises(SystemExit):
        accountant.release(QUARTER, votes(2), note=lambda outcome: exit(3))
    assert n_entries(name) == 2


def test_a_handler_of_the_program_is_asked_and_stays(name, pressed_at):
    """Such as that of an event loop, which ends at the next occasion."""
    accountant, calls = basic_budget(name), []

    def handler(number, frame):
        calls.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        pressed_at("COMMIT")
        assert accountant.release(QUARTER, votes(2)).tolist() == [0, 0]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [signal.SIGINT]


def test_ignored_signals_and_threads_are_not_delayed(name):
    accountant = basic_budget(name)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        spend(accountant)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    thread = threading.Thread(target=spend, args=(accountant,))
    thread.start()
    thread.join()
    assert n_entries(name) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_failure_is_not_hidden_by_an_interrupt(path, monkeypatch):
    """Nothing was recorded, and that is still told."""
    accountant = basic_budget(path)

    class Failing(sqlite3.Connection):
        def execute(self, *arguments):
            if arguments[0] == "COMMIT" and self.total_changes:
                press()
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(*arguments)

    monkeypatch.setattr(
        _file_store.sqlite3, "connect", lambda *a, **k: CONNECT(*a, **k, factory=Failing)
    )
    with pytest.raises(KeyboardInterrupt) as interrupt:
        spend(accountant)
    assert not isinstance(interrupt.value, CompletedInterrupt)
    assert isinstance(interrupt.value.__context__, LedgerError)
    monkeypatch.setattr(_file_store.sqlite3, "connect", CONNECT)
    assert n_entries(path) == 0


def test_an_interrupted_creation_is_complete(path, pressed_at):
    pressed_at("CREATE TABLE entry")
    with pytest.raises(KeyboardInterrupt):
        basic_budget(path)
    # It is there: Ctrl-C came too late.
    spend(PrivacyAccountant.open(path))
    assert n_entries(path) == 1


FORKING = """
import os, signal, sys, threading, time
from tests._fakes import basic_budget, spend
from secretballot.ledger import _guard
_guard.BUSY_TIMEOUT = 0.3
accountant = basic_budget(sys.argv[1])
held, done = threading.Event(), threading.Event()

def hold():
    with _guard.PROCESS_LOCK:
        held.set()
        done.wait(10)

def interrupt():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    done.set()

threads = [threading.Thread(target=act) for act in (hold, interrupt)]
threads[0].start()
held.wait(10)
threads[1].start()
child = os.fork()
if not child:
    signal.alarm(10)
    spend(accountant)
    os._exit(0)
for thread in threads:
    thread.join()
assert os.waitpid(child, 0)[1] == 0
spend(accountant)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_that_was_interrupted_while_a_thread_spends(path):
    """The child is not locked out for ever, and the parent goes on."""
    done = run_python("-W", "ignore::DeprecationWarning", "-c", FORKING, path)
    assert done.returncode == 0, done.stderr
    assert "KeyboardInterrupt" in done.stderr  # Python can't raise what interrupts a fork
    assert n_entries(path) == 2
