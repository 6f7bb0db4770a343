"""A ledger file that is moved to a server: the chain goes on there, and the file does not."""

import signal
from functools import partial

import pytest
from tests._commands import ledger_command
from tests._fakes import votes
from tests._programs import interrupts_arrive

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._server_store import ServerRows, ServerStore
from secretballot.ledger._transfer import move
from secretballot.mechanisms import GNMax


@pytest.fixture
def run(capsys):
    return partial(ledger_command, capsys)


def digests(accountant):
    return [entry.digest for entry in accountant.entries()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def filled(path):
    """A ledger with levels, private records, a child, reservations and checkpoints."""
    accountant = PrivacyAccountant(
        {"a": 1.0, "b": 2.0}, 1e-5, accounting="sanitized", order="renyi", ledger=path
    )
    for _ in range(70):
        scope = accountant.scope({"a": 0.5, "b": 1.0})
        accountant.release(GNMax(sigma=900.0), votes(1), scope=scope)
    return accountant


def test_the_chain_is_kept(run, path, filled, url):
    before, records = digests(filled), filled.private_records()
    assert records
    status, output, errors = run("move", path, url)
    assert (status, errors) == (0, "")
    moved = PrivacyAccountant.open(url)
    assert digests(moved)[:-1] == before
    (last,) = moved.entries()[len(before) :]
    assert last.is_move
    assert f"71 entries, head digest {last.digest}" in output
    assert moved.private_records() == records
    assert moved.spent()["a"].amount == filled.spent()["a"].amount > 0
    assert run("verify", url, "--head", before[-1])[0] == 0
    assert run("replay", url)[0] == 0
    moved.release(GNMax(sigma=900.0), votes(1))
    assert len(moved.entries()) == 72


def test_the_file_is_not_spent_from(run, path, filled, url):
    assert run("move", path, url)[0] == 0
    # Neither by a handle that was open, nor by a new one.
    with pytest.raises(LedgerError, match="was moved"):
        filled.release(GNMax(sigma=900.0), votes(1))
    with pytest.raises(LedgerError, match="was moved"):
        PrivacyAccountant.open(path)
    status, _, errors = run("move", path, f"{url}-again")
    assert status == 1
    assert "was moved" in errors
    assert run("verify", path)[0] == 0


def test_children_go_on(run, path, url, monkeypatch):
    monkeypatch.setattr("secretballot.ledger._ledger.CHECKPOINT_EVERY", 2)
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    child = accountant.child("team", epsilon=0.5)
    child.release(GNMax(sigma=100.0), votes(1))
    reservation = accountant.reserve(GNMax(sigma=100.0), 2, n_columns=2)
    assert run("move", path, url)[0] == 0
    moved = PrivacyAccountant.open(url)
    assert moved.child("team").spent().amount == child.spent().amount > 0
    moved.child("team").release(GNMax(sigma=100.0), votes(1))
    moved.release(GNMax(sigma=100.0), votes(2), reservation=reservation)
    assert run("replay", url)[0] == 0


def test_a_target_that_exists_is_refused(run, path, filled, url):
    other = PrivacyAccountant(1.0, 1e-5, ledger=url)
    before = digests(filled)
    status, _, errors = run("move", path, url)
    assert status == 1
    assert "exists already" in errors
    assert digests(filled) == before
    assert other.entries() == []
    filled.release(GNMax(sigma=900.0), votes(1))


def test_a_copy_that_differs_moves_nothing(path, filled, url, monkeypatch):
    insert = ServerRows.insert

    def damaged(rows, table, values):
        if table == "private_record":
            values = (values[0], "another")
        insert(rows, table, values)

    monkeypatch.setattr(ServerRows, "insert", damaged)
    before = digests(filled)
    with pytest.raises(LedgerError, match="the copy is not the same"):
        move(Ledger.open(path), url)
    assert digests(filled) == before
    filled.release(GNMax(sigma=900.0), votes(1))
    with pytest.raises(LedgerError, match="does not exist"):
        PrivacyAccountant.open(url)


def test_a_commit_that_fails_after_the_file_says_so(
    run,
    path,
    filled,
    url,
    monkeypatch,
):
    def refused(store, connection, written):
        raise LedgerError("the server is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(ServerStore, "_commit", refused)
        status, _, errors = run("move", path, url)
    assert status == 1
    assert "has the entry of its move already" in errors
    with pytest.raises(LedgerError, match="was moved"):
        filled.release(GNMax(sigma=900.0), votes(1))
    PrivacyAccountant.open(path, accept="moved").release(GNMax(sigma=900.0), votes(1))
    assert run("move", path, url)[0] == 0
    assert run("verify", url)[0] == 0


def test_files_and_servers_are_not_moved_to_files(run, path, filled, tmp_path):
    for source in (path, "postgresql://host/db?ledger=x"):
        status, _, errors = run("move", source, tmp_path / "other.ledger")
        assert status == 1
    status, _, errors = run("move", path, tmp_path / "other.ledger")
    assert "from a file to the URL of a server" in errors
    filled.release(GNMax(sigma=900.0), votes(1))


@pytest.mark.parametrize(("kind", "name"), [(ServerRows, "insert"), (ServerStore, "_commit")])
def test_ctrl_c_moves_all_or_nothing(path, filled, url, monkeypatch, kind, name):
    """While rows are copied nothing is moved; at the commit of the server all is."""
    before, original = digests(filled), getattr(kind, name)

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    with interrupts_arrive(), monkeypatch.context() as patch:
        patch.setattr(kind, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            move(Ledger.open(path), url)
    if kind is ServerRows:
        assert digests(filled) == before
        filled.release(GNMax(sigma=900.0), votes(1))
    else:
        assert digests(PrivacyAccountant.open(url))[:-1] == before
        with pytest.raises(LedgerError, match="was moved"):
            filled.release(GNMax(sigma=900.0), votes(1))


def test_the_file_is_closed_before_the_copy_is_committed(path, filled, url, monkeypatch):
    commit, refused = ServerStore._commit, []

    def checked(*arguments):
        with pytest.raises(LedgerError, match="was moved") as caught:
            filled.release(GNMax(sigma=900.0), votes(1))
        refused.append(caught)
        commit(*arguments)

    monkeypatch.setattr(ServerStore, "_commit", checked)
    move(Ledger.open(path), url)
    assert len(refused) == 1
