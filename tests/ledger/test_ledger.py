"""The ledger: durable, shared, append-only, and never a new budget by accident."""

import contextlib
import copy
import os
import pickle
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path

import joblib
import numpy as np
import pytest
from tests._fakes import Gaussian, Pure, basic_budget, spend, votes

from secretballot.accounting import BudgetExceededError, LedgerError, PrivacyAccountant
from secretballot.ledger import _file_store as ledger_file
from secretballot.ledger._ledger import Transaction, last_time


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def file_of(accountant):
    return Path(accountant._ledger.name)


# Named ledgers


def test_an_opened_ledger_continues_its_budget(name):
    accountant = PrivacyAccountant(
        {"strict": 1.0, "generous": 3.0}, 1e-5, unit="owner", ledger=name, order="renyi"
    )
    accountant.release(Gaussian(sigma=40), votes(5))
    reopened = PrivacyAccountant.open(name)
    assert reopened.ledger == str(name)
    assert reopened.epsilon == {"strict": 1.0, "generous": 3.0}
    assert (reopened.delta, reopened.unit, reopened.relation) == (1e-5, "owner", "replace")
    for level, spent in accountant.spent().items():
        again = reopened.spent()[level]
        assert (again.epsilon, again.amount, again.n_rows) == (spent.epsilon, spent.amount, 5)
        np.testing.assert_array_equal(again.cost.curve, spent.cost.curve)
    assert repr(reopened) == repr(accountant)


def test_a_second_budget_for_a_ledger_is_refused(path):
    basic_budget(path)
    content = path.read_bytes()
    with pytest.raises(LedgerError, match=r"exists already; PrivacyAccountant\.open\("):
        basic_budget(path)
    assert path.read_bytes() == content


def test_a_ledger_that_is_missing_is_no_new_budget(path):
    with pytest.raises(LedgerError, match="does not exist"):
        PrivacyAccountant.open(path)
    accountant = basic_budget(path)
    path.unlink()
    for use in (accountant.spent, accountant.entries, lambda: spend(accountant)):
        with pytest.raises(LedgerError, match=r"does not exist \(any more\).*ledger="):
            use()
    assert not path.exists()
    assert "can't be read" in repr(accountant)
    assert "?" in accountant._repr_html_()


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(LedgerError, match="can't be created.*folder that exists"):
        basic_budget(tmp_path / "nowhere" / "budget.ledger")


def test_opening_with_another_budget(name):
    basic_budget(name)
    assert PrivacyAccountant.open(name, epsilon=4.0, delta=1e-5, unit="row", relation="replace")
    for expected in ({"epsilon": 2.0}, {"delta": 1e-6}, {"unit": "owner"}, {"epsilon": {"a": 4.0}}):
        (word,) = expected
        with pytest.raises(LedgerError, match=f"was opened with {word}="):
            PrivacyAccountant.open(name, **expected)


@pytest.mark.parametrize("content", [b"", b"not a database", b"x" * 5000])
def test_a_file_that_is_no_ledger(path, content):
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="is not a ledger of secretballot"):
        PrivacyAccountant.open(path)
    assert path.read_bytes() == content


def test_another_database_is_no_ledger(path):
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE entry (sequence)")
        other.commit()
    with pytest.raises(LedgerError, match="is not a ledger of secretballot"):
        PrivacyAccountant.open(path)


def test_a_creation_that_fails_leaves_no_file(path, monkeypatch):
    monkeypatch.setattr("secretballot.ledger._file_store.SCHEMA", "CREATE TABLE broken;\n")
    with pytest.raises(LedgerError, match="can't be used"):
        basic_budget(path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("damage", [slice(4096, 8192), slice(0, 4096), slice(None, None, 7)])
def test_a_corrupt_file(path, damage):
    spend(basic_budget(path), 8)
    content = bytearray(path.read_bytes())
    content[damage] = bytes(len(content[damage]))
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=str(path)):
        PrivacyAccountant.open(path)


def test_a_truncated_file(path):
    spend(basic_budget(path), 8)
    os.truncate(path, path.stat().st_size - 4096)
    with pytest.raises(LedgerError, match=str(path)):
        PrivacyAccountant.open(path)


@contextlib.contextmanager
def unprivileged():
    """Drop root's right to write everywhere."""
    if not hasattr(os, "geteuid"):
        pytest.skip("file permissions are not enforced here")
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_ledger_that_is_read_only(what):
    folder = Path(tempfile.mkdtemp())
    try:
        accountant = basic_budget(folder / "budget.ledger")
        spend(accountant)
        (folder / "budget.ledger").chmod(0o444 if what == "file" else 0o666)
        folder.chmod(0o777 if what == "file" else 0o555)
        with unprivileged():
            assert accountant.spent().epsilon == 0.25
            with pytest.raises(LedgerError, match="have to be writable"):
                spend(accountant)
            if what == "folder":
                with pytest.raises(LedgerError, match="can't be created"):
                    basic_budget(folder / "another.ledger")
        assert accountant.spent().n_releases == 1
    finally:
        folder.chmod(0o777)
        shutil.rmtree(folder)


# Durability


def test_a_spend_is_synced_before_it_is_returned(path):
    basic_budget(path)

    def look(opened):
        assert opened.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert opened.execute("PRAGMA journal_mode").fetchone() == ("delete",)

    ledger_file.transact(str(path), look, to="write")


@pytest.mark.parametrize(("is_named", "mode"), [(True, "EXTRA"), (False, "OFF")])
def test_only_a_ledger_that_outlives_its_process_is_synced(path, monkeypatch, is_named, mode):
    accountant = basic_budget(path if is_named else None)
    statements, connect = [], sqlite3.connect

    def traced(*args, **kwargs):
        opened = connect(*args, **kwargs)
        opened.set_trace_callback(statements.append)
        return opened

    monkeypatch.setattr(sqlite3, "connect", traced)
    for handle in (accountant, pickle.loads(pickle.dumps(accountant))):
        statements.clear()
        spend(handle)
        modes = [line.split()[-1] for line in statements if "PRAGMA synchronous" in line]
        assert modes == [mode]


def test_a_full_disk_returns_nothing(path, monkeypatch):
    accountant = basic_budget(path, epsilon=100.0)
    spend(accountant)
    connect = sqlite3.connect

    def full(*args, **kwargs):
        opened = connect(*args, **kwargs)
        pages = opened.execute("PRAGMA page_count").fetchone()[0]
        opened.execute(f"PRAGMA max_page_count = {pages}")
        return opened

    monkeypatch.setattr(ledger_file.sqlite3, "connect", full)
    returned, error = [], ""
    while not error:
        try:
            returned.append(accountant.release(Pure(epsilon=0.25), votes(1)))
        except LedgerError as caught:
            error = str(caught)
    assert "disk is full; nothing was released" in error
    monkeypatch.undo()
    assert accountant.spent().n_releases == 1 + len(returned)
    accountant._ledger.verify()


def test_a_commit_that_fails_returns_nothing(path, monkeypatch):
    accountant = basic_budget(path)

    class Failing(sqlite3.Connection):
        def execute(self, sql, *args):
            if sql == "COMMIT" and self.total_changes:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *args)

    connect = sqlite3.connect
    monkeypatch.setattr(
        ledger_file.sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Failing)
    )
    with pytest.raises(LedgerError, match="disk I/O error"):
        spend(accountant)
    monkeypatch.undo()
    assert accountant.entries() == []
    spend(accountant)
    assert accountant.spent().n_releases == 1


def test_a_ledger_held_too_long_by_another_process(path, monkeypatch):
    accountant = basic_budget(path)
    monkeypatch.setattr("secretballot.ledger._guard.BUSY_TIMEOUT", 0.05)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"locked by another process for more than 0\.05"):
            spend(accountant)
        other.execute("ROLLBACK")
    spend(accountant)
    assert accountant.spent().n_releases == 1


def recorded_before_return(accountant):
    """Whether an answer's entry can be seen in the file by others once the answer is there."""
    before = len(PrivacyAccountant.open(accountant._ledger.name).entries())
    accountant.release(Pure(epsilon=0.25), votes(1))
    return len(PrivacyAccountant.open(accountant._ledger.name).entries()) == before + 1


def test_each_answer_is_recorded(name, monkeypatch):
    accountant = basic_budget(name)
    assert recorded_before_return(accountant)
    # The same check on a door that forgets to record.
    monkeypatch.setattr(Transaction, "append", lambda self, entry, private=None: None)
    assert not recorded_before_return(accountant)


def test_an_entry_that_can_not_be_written_returns_nothing(name, monkeypatch):
    accountant = basic_budget(name)
    spend(accountant)
    head = accountant._ledger.verify()

    def fail(self, entry, private=None):
        raise OSError("planted")

    monkeypatch.setattr(Transaction, "append", fail)
    with pytest.raises(OSError, match="planted"):
        spend(accountant)
    monkeypatch.undo()
    assert accountant._ledger.verify() == head
    spend(accountant)


# Copies of a handle


def test_clone_copy_and_pickle_share_the_budget():
    accountant = basic_budget()
    assert copy.copy(accountant) is accountant
    assert copy.deepcopy([accountant])[0] is accountant
    assert accountant.__sklearn_clone__() is accountant
    other = pickle.loads(pickle.dumps(accountant))
    assert other is not accountant
    spend(accountant, 2)
    spend(other, 3)
    assert accountant.spent().epsilon == other.spent().epsilon == 1.25
    assert other.ledger is None


def spend_and_count(accountant, attempts):
    done = 0
    for _ in range(attempts):
        try:
            spend(accountant)
        except BudgetExceededError:
            break
        done += 1
    return done


def test_joblib_workers_spend_for_real():
    accountant = basic_budget(epsilon=5.0)
    with joblib.parallel_config("loky", n_jobs=2):
        done = joblib.Parallel()(joblib.delayed(spend_and_count)(accountant, 8) for _ in range(4))
    assert sum(done) == 20
    assert accountant.spent().share == 1
    assert file_of(accountant).exists()
    accountant._ledger.verify()


def test_threads_racing_for_a_budget_never_overspend(name):
    accountant, done = basic_budget(name, epsilon=10.0), []
    threads = [
        threading.Thread(target=lambda: done.append(spend_and_count(accountant, 1000)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 40
    assert accountant.spent().amount == 10.0
    assert [entry.sequence for entry in accountant.entries()] == list(range(1, 41))


def test_a_thread_that_is_late_sets_no_sums_back(name, monkeypatch):
    """Between its commit and its return, other threads spend from the same handle."""
    accountant, ledger = basic_budget(name), PrivacyAccountant.open(name)._ledger
    committed, go_on, write = threading.Event(), threading.Event(), type(ledger._store).write

    def write_late(store, act):
        written = write(store, act)
        if threading.current_thread() is late:
            committed.set()
            assert go_on.wait(60)
        return written

    def within_the_transaction(*args):
        if accountant._ledger._totals.sequence == 2:
            go_on.set()
            late.join()
        return last_time(*args)

    late = threading.Thread(target=lambda: spend(accountant))
    monkeypatch.setattr(type(ledger._store), "write", write_late)
    late.start()
    assert committed.wait(60)
    spend(accountant)
    monkeypatch.setattr("secretballot.ledger._ledger.last_time", within_the_transaction)
    spend(accountant)
    assert not late.is_alive()
    assert accountant.spent().n_releases == 3
    ledger.verify()


@pytest.mark.parametrize("depth", [100, 20_000])
def test_a_note_that_is_too_deep_is_refused(name, depth):
    """What can't be read back everywhere must not be written."""
    accountant, note = basic_budget(name), "leaf"
    for _ in range(depth):
        note = [note]
    with pytest.raises(ValueError, match="note must not nest lists and dicts more than 64 deep"):
        accountant.release(Pure(epsilon=0.25), votes(1), note={"deep": note})
    with pytest.raises(ValueError, match="more than 64"):
        accountant.reserve(Pure(epsilon=0.25), 1, note={"deep": {"deep": note}})
    assert accountant.entries() == []
    accountant.release(Pure(epsilon=0.25), votes(1), note={"deep": [[[{}]]]})
    assert accountant.statement().released[0]["note"] == {"deep": [[[{}]]]}
