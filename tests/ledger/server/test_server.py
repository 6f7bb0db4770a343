"""A ledger on a server: the tables, the settings that it needs, and the errors it gives."""

import contextlib
import re
import threading
import time
from datetime import datetime

import pytest
from tests._fakes import Grouped, Pure, basic_budget, spend, votes

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger import _guard
from secretballot.ledger._file_store import SCHEMA
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._server_connection import close_unused
from secretballot.ledger._transfer import export

psycopg = pytest.importorskip("psycopg")


def columns(script):
    """Tables of a script with their columns, but for the number of the ledger."""
    tables = {}
    for name, body in re.findall(
        r"CREATE TABLE (?:IF NOT EXISTS secretballot\.)?(\w+) \((.*?)\n?\)[^;\n]*;", script, re.S
    ):
        while "(" in body:
            body = re.sub(r"\([^()]*\)", "", body)
        words = [part.split()[0] for part in body.split(",") if part.strip()]
        keys = ("PRIMARY", "FOREIGN", "UNIQUE", "ledger")
        tables[name] = [word for word in words if word not in keys]
    return tables


def test_tables_are_those_of_a_file(capsys):
    assert main(["ledger", "roles"]) == 0
    on_server = columns(capsys.readouterr().out)
    assert on_server.pop("ledger") == ["number", "name", "lock"]
    on_server.pop("format", None)
    in_file = columns(SCHEMA)
    assert len(in_file) == 11
    assert on_server == in_file


@pytest.fixture
def same_time_and_place(monkeypatch):
    class Noon:
        @classmethod
        def now(cls, zone):
            return cls()

        def isoformat(self, timespec):
            return "2026-01-01T12:00:00.000000+00:00"

    for module in ("_ledger", "_store"):
        noon = type("Noon", (Noon,), {"fromisoformat": staticmethod(datetime.fromisoformat)})
        monkeypatch.setattr(f"secretballot.ledger.{module}.datetime", noon)
    for rows in ("_file_store.FileRows", "_server_store.ServerRows"):
        monkeypatch.setattr(f"secretballot.ledger.{rows}.place", lambda self: "here")
    monkeypatch.setattr(
        "secretballot.ledger._store.uuid.uuid4", lambda: type("Id", (), {"hex": 32 * "a"})
    )
    monkeypatch.setattr("secretballot.ledger._ledger.CHECKPOINT_EVERY", 3)


def test_digests_are_those_of_a_file(url, tmp_path, same_time_and_place):
    exported = []
    for name in (url, tmp_path / "budget.ledger"):
        accountant = PrivacyAccountant({"a": 50.0, "b": 100 / 3}, 1e-5, ledger=name, order="renyi")
        scopes = [accountant.scope(10.1), accountant.scope({"a": 50 / 7, "b": 7.7}), None]
        for number, scope in enumerate([*scopes, *scopes]):
            if scope is not None:
                object.__setattr__(scope, "id", f"fit é {number % 3}")
            rates = {"*": 1e-5 / 3, "a/x/0": 1e-6, "b": 1e-7 * number}
            accountant.release(Grouped(rates=rates), votes(1), scope=scope, note={"é": 0.1})
        reservation = accountant.reserve(Grouped(rates={"*": 1e-6}), 2)
        accountant.settle(reservation)
        exported.append(export(Ledger.open(name)))
        for entry in exported[-1]["entries"]:
            if entry["reservation"]:
                del entry["reservation"]["id"], entry["digest"], entry["previous"]
        del exported[-1]["head"]
    assert exported[0] == exported[1]
    assert sum(entry["checkpoint"] is not None for entry in exported[0]["entries"]) == 2


@pytest.mark.parametrize("order", ["gaussian", "renyi", 20.0, float("inf")])
def test_orders_are_read_as_they_were_written(url, order):
    accountant = PrivacyAccountant(4.0, 1e-5, ledger=url, order=order)
    assert PrivacyAccountant.open(url).levels == accountant.levels


def test_ledgers_of_a_database_are_apart(url):
    one, other = basic_budget(url), basic_budget(url + "-other")
    spend(one, 3)
    spend(other)
    assert (one.spent().n_releases, other.spent().n_releases) == (3, 1)
    assert one._ledger.verify().n_entries == 3
    # Neither waits for the other.
    inside = []
    one._ledger.transact(lambda _: inside.append(spend_in_thread(other)))
    assert inside == [True]


def spend_in_thread(accountant):
    # Of another process, as it were: threads of one wait for each other.
    name = accountant._ledger.name
    with psycopg.connect(name.split("&ledger=")[0]) as opened:
        opened.execute(
            "SELECT 1 FROM secretballot.ledger WHERE name = %s FOR UPDATE NOWAIT",
            (name.split("&ledger=")[1],),
        )
    return True


def test_a_second_budget_for_a_ledger_is_refused(url):
    accountant = basic_budget(url)
    with pytest.raises(LedgerError, match=r"exists already; PrivacyAccountant\.open\("):
        basic_budget(url)
    spend(accountant)


def test_another_ledger_in_its_place(server, url):
    accountant = basic_budget(url)
    ledger = url.split("ledger=")[1]
    server.execute(
        f"UPDATE ledger SET name = name || '-old' WHERE name = '{ledger}'", tampering=True
    )
    with pytest.raises(LedgerError, match="does not exist .any more.*never replaced"):
        spend(accountant)
    basic_budget(url)
    with pytest.raises(LedgerError, match="another ledger is in its place"):
        spend(accountant)


def test_a_ledger_held_too_long_by_another_process(server, url, monkeypatch):
    accountant = basic_budget(url)
    monkeypatch.setattr(_guard, "BUSY_TIMEOUT", 0.1)
    with psycopg.connect(server.url()) as other:
        other.execute("SELECT * FROM secretballot.ledger FOR UPDATE")
        with pytest.raises(LedgerError, match=r"locked by another process for more than 0\.1 sec"):
            spend(accountant)
        # Reading does not wait.
        assert accountant.spent().n_releases == 0
        assert PrivacyAccountant.open(url)
    spend(accountant)
    assert accountant.spent().n_releases == 1


def test_a_transaction_that_is_silent_for_too_long_is_ended(url, monkeypatch):
    """As of a computer that went to sleep: others are not kept waiting."""
    accountant = basic_budget(url)
    close_unused()
    monkeypatch.setattr("secretballot.ledger._server_connection._SILENT", 0.1)
    monkeypatch.setattr(
        Pure, "cost", lambda *_, **__: threading.Event().wait(0.5) or Pure.max_cost(*_)
    )
    with pytest.raises(LedgerError, match="Nothing was released"):
        accountant._ledger.transact(
            lambda held: (threading.Event().wait(0.5), held.reservation("x"))
        )
    monkeypatch.undo()
    assert accountant.entries() == []
    spend(accountant)


def test_a_spend_is_on_the_disk_before_it_is_returned(server, url):
    """Also where the user's setting is another."""
    server.execute("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        close_unused()
        accountant = basic_budget(url)
        settings = []

        def look(held):
            rows = held._rows._connection.execute("SHOW synchronous_commit").fetchone()
            settings.extend(rows)

        accountant._ledger.transact(look)
        assert settings == ["on"]
    finally:
        server.execute("ALTER ROLE postgres RESET synchronous_commit")
        close_unused()


def test_a_setting_that_does_not_hold_is_noticed(url, monkeypatch):
    from secretballot.ledger import _server_connection as _connection

    accountant = basic_budget(url)
    beginning = _connection._beginning
    monkeypatch.setattr(
        _connection,
        "_beginning",
        lambda to_write: beginning(to_write).replace("commit = on", "commit = off"),
    )
    with pytest.raises(LedgerError, match="synchronous_commit = off.*Nothing was released"):
        spend(accountant)
    assert accountant.entries() == []


def test_numbers_have_all_their_digits(server, url):
    """Also where the user's setting is another."""
    server.execute("ALTER ROLE postgres SET extra_float_digits = -5")
    try:
        close_unused()
        accountant = PrivacyAccountant({"a": 100 / 3, "b": 9.0}, 1e-5, ledger=url, order=20)
        scope = accountant.scope({"a": 10 / 3, "b": 1 / 0.3})
        accountant.release(Grouped(rates={"a": 1e-6 / 3, "b": 0.0}), votes(1), scope=scope)
        accountant.release(Grouped(rates={"*": 1e-6}), votes(1), scope=accountant.scope(1 / 0.3))
        close_unused()
        assert PrivacyAccountant.open(url)._ledger.verify().n_entries == 2
    finally:
        server.execute("ALTER ROLE postgres RESET extra_float_digits")
        close_unused()


@contextlib.contextmanager
def configured(server, setting, value):
    """Set a parameter of a server for a block."""

    def reload(statement):
        server.execute(statement, "SELECT pg_reload_conf()")
        deadline = time.monotonic() + 10
        while server.execute(f"SHOW {setting}") == before and time.monotonic() < deadline:
            time.sleep(0.02)

    before = server.execute(f"SHOW {setting}")
    reload(f"ALTER SYSTEM SET {setting} = {value}")
    try:
        close_unused()
        yield
    finally:
        before = server.execute(f"SHOW {setting}")
        reload(f"ALTER SYSTEM RESET {setting}")
        close_unused()


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_a_spend_is_refused(server, url, setting):
    accountant = basic_budget(url)
    with configured(server, setting, "off"):
        with pytest.raises(LedgerError, match=f"{setting} = off.*Nothing was released"):
            spend(accountant)
        with pytest.raises(LedgerError, match=f"{setting} = off"):
            basic_budget(url + "-other")
    assert accountant.entries() == []
    spend(accountant)


def test_a_commit_that_waits_for_no_standby_is_withheld(server, url, monkeypatch):
    """The server has the entry, and could lose it with its disk."""
    accountant = basic_budget(url)
    monkeypatch.setattr("secretballot.ledger._server_store.STATEMENT_TIMEOUT", 0)
    monkeypatch.setattr(_guard, "BUSY_TIMEOUT", 0.5)
    with (
        configured(server, "synchronous_standby_names", "nobody"),
        pytest.raises(LedgerError, match="not safely on all servers.*Count it as charged"),
    ):
        spend(accountant)
    assert accountant.spent().n_releases == 1


def test_another_format(server, url):
    server.execute("CREATE DATABASE old")
    url = url.replace("/postgres?", "/old?")
    accountant = basic_budget(url)
    for version in (0, 2):
        server.execute(f"UPDATE format SET version = {version}", tampering=True, database="old")
        remedy = "update secretballot" if version else "restore it"
        for use in (
            PrivacyAccountant.open,
            lambda _: spend(accountant),
            lambda _: basic_budget(url + "-other"),
        ):
            with pytest.raises(LedgerError, match=f"it has format {version}.*{remedy}"):
                use(url)


def test_a_database_without_tables(server, url):
    server.execute("CREATE DATABASE empty")
    other = url.replace("/postgres?", "/empty?")
    with pytest.raises(LedgerError, match="has no tables of secretballot"):
        PrivacyAccountant.open(other)
    spend(basic_budget(other))
    assert PrivacyAccountant.open(other).spent().n_releases == 1


def test_a_database_of_another_encoding(server, url):
    server.execute(
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    with pytest.raises(LedgerError, match="encoding LATIN1.*UTF8"):
        basic_budget(url.replace("/postgres?", "/latin?"))


def test_a_repeated_number_is_refused_by_the_table(server, url):
    """The last resort: two writers that did not wait for each other."""
    spend(basic_budget(url), 2)
    with pytest.raises(psycopg.Error, match="an entry has the next number"):
        server.execute("INSERT INTO entry SELECT * FROM entry")
    with pytest.raises(psycopg.errors.UniqueViolation):
        server.execute("INSERT INTO entry SELECT * FROM entry", tampering=True)


def connections_at_last(server, goal):
    """Connections that are open, once there are no more than `goal`: a server closes them late."""
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'secretballot'"
    until = time.monotonic() + 30
    while (n_open := server.execute(count)[0][0]) > goal and time.monotonic() < until:
        time.sleep(0.02)
    return n_open


def test_connections_are_few_and_closed(server, url):
    close_unused()
    assert connections_at_last(server, 0) == 0  # those of earlier tests
    handles = [basic_budget(f"{url}-{number}") for number in range(3)]
    handles += [PrivacyAccountant.open(f"{url}-0") for _ in range(5)]
    for handle in handles:
        spend(handle)
    assert connections_at_last(server, 1) == 1
    close_unused()
    assert connections_at_last(server, 0) == 0
