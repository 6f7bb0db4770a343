"""Copies of a server, and servers that were set back: refused where more has been seen."""

import os
import re
import shutil

import pytest
from tests._fakes import basic_budget, spend
from tests.ledger._server import Server, needs_server, program, run_as_user, running, seen_mark

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger._guard import read_mark


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Go on as another machine, which has seen other things."""

    def use(name):
        monkeypatch.setenv("SECRETBALLOT_STATE", str(tmp_path / name))

    return use


@pytest.fixture(scope="module")
def original():
    needs_server()
    with running(Server(), "wal_level=replica", "max_wal_senders=4") as server:
        yield server


def seen(accountant):
    return read_mark(str(seen_mark(accountant._ledger.header().ledger_id))).mark


def refused(url, why="restored from a copy.*accept='moved'"):
    with pytest.raises(LedgerError, match=why):
        PrivacyAccountant.open(url)


def copy_of_running(server, folder):
    """A copy by pg_basebackup, which has the same system identifier."""
    data = server.folder / folder
    run_as_user(
        *(program("pg_basebackup"), "-D", data, "-h", server.folder, "-U", "postgres"),
        *("--checkpoint=fast", "-X", "stream", "--no-sync"),
    )
    return data


def copy_of_stopped(server, folder):
    server.stop()
    data = server.folder / folder
    run_as_user("cp", "-a", server.data, data)
    server.start()
    return data


@pytest.mark.parametrize("copy", [copy_of_running, copy_of_stopped])
def test_a_cloned_cluster(original, machine, copy):
    if copy is copy_of_running and not program("pg_basebackup"):
        pytest.skip("needs pg_basebackup")
    ledger = f"cloned-{copy.__name__}"
    machine("one")
    accountant = basic_budget(original.url(ledger))
    spend(accountant, 2)
    machine("two")
    spend(PrivacyAccountant.open(original.url(ledger)))
    data = copy(original, ledger)
    machine("one")
    spend(accountant)
    with running(Server(data=data)) as clone:
        there = clone.url(ledger)
        # The machine that has seen the fourth entry refuses a copy without it.
        refused(there, "4 entries had been recorded")
        with pytest.raises(LedgerError, match="restored from a copy"):
            PrivacyAccountant.open(there)
        # One that has not can't know: a stated limit. It makes another fourth entry.
        machine("two")
        spend(PrivacyAccountant.open(there))
        assert PrivacyAccountant.open(there).spent().n_releases == 4
        # Each of the two now refuses the other server, which has as many entries.
        refused(original.url(ledger))
        machine("one")
        refused(there)
        # Unless the move is declared, which is recorded.
        moves = PrivacyAccountant.open(there, accept="moved")
        assert [entry.is_move for entry in moves.entries()] == [False] * 4 + [True]
        assert seen(moves) == (moves._ledger.header().ledger_id, *moves._ledger.verify())
        spend(PrivacyAccountant.open(there))
        refused(original.url(ledger))


def test_a_server_that_was_set_back(machine):
    needs_server()
    machine("one")
    with running(Server()) as server:
        url = server.url("back")
        accountant = basic_budget(url)
        spend(accountant)
        earlier = copy_of_stopped(server, "earlier")
        spend(accountant)
        server.stop()
        shutil.rmtree(server.data)
        earlier.rename(server.data)
        server.start()
        refused(url)
        # Nor with the handle from before, nor by a pickle of it.
        with pytest.raises(LedgerError, match="entry 2, which was there before"):
            spend(accountant)
        moves = PrivacyAccountant.open(url, accept="moved")
        spend(moves)
        assert PrivacyAccountant.open(url).spent().n_releases == 2


@pytest.mark.skipif(not shutil.which("pg_dump"), reason="needs pg_dump")
def test_a_restored_dump(server, url, machine):
    """The tables of a dump are others, which is noticed by machines that have seen nothing."""
    server.execute("CREATE DATABASE dumped")
    url = url.replace("/postgres?", "/dumped?")
    accountant = basic_budget(url)
    spend(accountant, 3)
    dump = server.folder / "dump.sql"
    run_as_user(
        *(program("pg_dump"), "-d", server.url(database="dumped"), "-f", dump, "-n", "secretballot")
    )
    server.execute("CREATE DATABASE restored")
    run_as_user(
        program("psql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, server.url(database="restored")
    )
    there = url.replace("/dumped?", "/restored?")
    machine("new")
    refused(there, "it is a copy, was restored from one, or was moved")
    moves = PrivacyAccountant.open(there, accept="moved")
    spend(moves)
    assert moves._ledger.verify().n_entries == 5
    digests = [entry.digest for entry in accountant.entries()]
    assert [entry.digest for entry in moves.entries()][:3] == digests
    # It was tried out there: the original goes on, here and on other machines.
    spend(accountant)
    spend(PrivacyAccountant.open(url))
    spend(PrivacyAccountant.open(there))
    # A machine that has seen more of the original takes no copy for it that another accepted.
    machine("seen-more")
    spend(PrivacyAccountant.open(url))
    refused(there, "6 entries had been recorded")
    with pytest.raises(LedgerError, match="6 entries had been recorded"):
        spend(PrivacyAccountant.open(there, accept="clock"))
    spend(PrivacyAccountant.open(there, accept="moved"))
    spend(PrivacyAccountant.open(url))


def test_the_mark_is_in_a_private_folder(url, machine, tmp_path):
    before = os.umask(0)
    try:
        machine("state")
        accountant = basic_budget(url)
        spend(accountant, 2)
    finally:
        os.umask(before)
    state = tmp_path / "state"
    (folder,) = state.iterdir()
    (mark,) = folder.iterdir()
    modes = [each.stat().st_mode & 0o777 for each in (state, folder, mark)]
    assert modes == [0o700, 0o700, 0o600]
    header, entries = accountant._ledger.header(), accountant.entries()
    assert seen(accountant) == (header.ledger_id, 2, entries[-1].digest)


@pytest.mark.parametrize("variable", ["SECRETBALLOT_STATE", "XDG_STATE_HOME", "HOME"])
def test_the_folder_of_a_user(monkeypatch, tmp_path, variable):
    from secretballot.ledger._server_store import state_folder

    for name in ("SECRETBALLOT_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv(variable, str(tmp_path))
    ending = {"SECRETBALLOT_STATE": "", "XDG_STATE_HOME": "secretballot"}
    assert state_folder() == tmp_path / ending.get(variable, ".local/state/secretballot")


def test_a_mark_that_can_not_be_kept(url, monkeypatch, tmp_path):
    """A server that was set back would not be noticed, so nothing is spent."""
    accountant = basic_budget(url)
    (tmp_path / "file").touch()
    monkeypatch.setenv("SECRETBALLOT_STATE", str(tmp_path / "file"))
    with pytest.raises(LedgerError, match="SECRETBALLOT_STATE. Nothing was released"):
        spend(accountant)
    with pytest.raises(LedgerError, match="SECRETBALLOT_STATE. Nothing was released"):
        basic_budget(url + "-other")
    monkeypatch.undo()
    assert accountant.entries() == []
    refused(url + "-other", "does not exist")


def test_a_mark_of_something_else_is_not_written_over(url):
    accountant = basic_budget(url)
    mark = seen_mark(accountant._ledger.header().ledger_id)
    mark.write_text("precious")
    with pytest.raises(LedgerError, match=f"{re.escape(str(mark))}.*something else than a mark"):
        spend(accountant)
    assert mark.read_text() == "precious"


def test_a_mark_never_goes_back(url):
    """Another process may have written a later entry between the commit and the mark."""
    accountant = basic_budget(url)
    spend(accountant)
    first = seen(accountant)
    spend(accountant)
    from secretballot.ledger._server_store import SeenMark

    last = seen(accountant)
    place = accountant._ledger.header().place
    SeenMark(first.ledger_id, place).advance(first, everywhere=False)
    assert seen(accountant) == last
    spend(PrivacyAccountant.open(url))


def test_a_new_machine_says_that_it_has_seen_nothing(url, machine):
    accountant = basic_budget(url)
    spend(accountant)
    assert accountant._ledger.completeness_note() == ""
    machine("new")
    assert "has not used this ledger before" in accountant._ledger.completeness_note()
    spend(accountant)
    assert accountant._ledger.completeness_note() == ""


def test_a_hostile_header_names_no_file(server, url):
    accountant = basic_budget(url)
    server.execute(
        f"UPDATE header SET ledger_id = '../../x' WHERE digest = '{accountant._ledger.genesis}'",
        tampering=True,
    )
    with pytest.raises(LedgerError, match="names no ledger|was altered"):
        PrivacyAccountant.open(url)
    with pytest.raises(LedgerError, match="names no ledger|was altered"):
        spend(accountant)
