"""Owners, spenders and readers of ledgers on a server: what each of them may do."""

import math

import pytest
from tests._fakes import Pure, basic_budget, spend

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger._entry import LedgerEntry

psycopg = pytest.importorskip("psycopg")

TABLES = (
    *("format", "ledger", "header", "level", "entry", "curve", "charge", "reservation"),
    *("checkpoint", "total", "child", "child_total", "private_record"),
)


@pytest.fixture(scope="module")
def database(server):
    """Database on which the script was run, twice."""
    server.execute("CREATE DATABASE roles")
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr("builtins.print", lambda *words, **_: printed.append(" ".join(words)))
        assert main(["ledger", "roles"]) == 0
    for _ in range(2):
        server.execute(printed[0], database="roles")
    for user, role in (("ann", "owner"), ("sam", "spender"), ("ray", "reader")):
        server.execute(f"CREATE ROLE {user} LOGIN", f"GRANT secretballot_{role} TO {user}")
    server.execute("CREATE ROLE nobody_special LOGIN")
    return "roles"


@pytest.fixture
def url_of(server, database, url):
    ledger = url.split("ledger=")[1]
    return lambda user: server.url(ledger, user=user, database=database)


def test_an_owner_makes_a_ledger_from_which_spenders_spend(url_of):
    basic_budget(url_of("ann"))
    accountant = PrivacyAccountant.open(url_of("sam"))
    spend(accountant, 2)
    reader = PrivacyAccountant.open(url_of("ray"))
    assert reader.spent().n_releases == 2
    assert reader._ledger.verify().n_entries == 2
    assert reader.statement().n_entries == 2
    spend(PrivacyAccountant.open(url_of("ann")))
    assert accountant.spent().n_releases == 3


def test_commands_by_role(url_of, tmp_path, capsys):
    path = str(tmp_path / "budget.ledger")
    spend(PrivacyAccountant(4.0, 1e-5, ledger=path))
    before = PrivacyAccountant.open(path)
    for user in ("sam", "ray"):
        assert main(["ledger", "move", path, url_of(user)]) == 1
        assert "no permission" in capsys.readouterr().err
    spend(before)
    assert main(["ledger", "move", path, url_of("ann")]) == 0
    carve = ("team", "--epsilon", "0.1")
    assert main(["ledger", "carve", url_of("ray"), *carve]) == 1
    assert main(["ledger", "carve", url_of("sam"), *carve]) == 0
    for command in ("show", "children", "verify"):
        assert main(["ledger", command, url_of("ray"), "--json"]) == 0
    price = ("--mechanism", "GNMax", "--sigma", "400", "--columns", "2", "--child", "team")
    assert main(["ledger", "price", url_of("ray"), *price]) == 0
    assert main(["ledger", "close", url_of("sam"), "team"]) == 0


def test_readers_do_not_spend_and_spenders_make_no_ledgers(url_of):
    basic_budget(url_of("ann"))
    reader = PrivacyAccountant.open(url_of("ray"))
    with pytest.raises(LedgerError, match="no permission.*'secretballot ledger roles'"):
        spend(reader)
    assert reader.entries() == []
    for user in ("sam", "ray"):
        with pytest.raises(LedgerError, match="no permission.*Nothing was released"):
            basic_budget(url_of(user) + "-other")
    for use in (PrivacyAccountant.open, basic_budget):
        with pytest.raises(LedgerError, match="no permission"):
            use(url_of("nobody_special"))


@pytest.mark.parametrize("user", ["ann", "sam", "ray"])
def test_nobody_changes_what_is_recorded(server, database, url_of, user, monkeypatch):
    monkeypatch.setattr("secretballot.ledger._ledger.CHECKPOINT_EVERY", 2)
    name = url_of("ann")
    accountant = PrivacyAccountant(4.0, 1e-5, accounting="sanitized", order=math.inf, ledger=name)
    accountant.reserve(Pure(epsilon=0.25), 2)
    keep(accountant)
    spend(basic_budget(f"{name}-of-teams").child("team", epsilon=1.0))  # now each table has rows
    head = PrivacyAccountant.open(url_of("ray"))._ledger.verify()
    with psycopg.connect(server.url(user=user, database=database), autocommit=True) as opened:
        opened.execute("SET search_path = secretballot")
        refusals = []
        for table in TABLES:
            changes = [f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"]
            columns = [
                name
                for (name,) in opened.execute(
                    "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
                    "AND attidentity = ''",
                    (table,),
                ).fetchall()
            ]
            changes += [f"UPDATE {table} SET {column} = {column}" for column in columns]
            for change in changes:
                with pytest.raises(psycopg.Error) as refused:
                    opened.execute(change)
                refusals.append((change, refused.value.diag.message_primary))
        assert opened.execute("SELECT count(*) FROM entry").fetchone()[0] > 0
    allowed = [change for change, why in refusals if "permission denied" not in why]
    # The others get past their rights and no further.
    if user == "ann":
        assert {why for _, why in refusals} == {"a ledger is append-only"}
    else:
        expected = ["UPDATE ledger SET lock = lock"] if user == "sam" else []
        assert allowed == expected
    assert PrivacyAccountant.open(url_of("ray"))._ledger.verify() == head


def keep(accountant):
    """Record an entry with a private record."""
    entry = LedgerEntry(
        mechanism='{"mechanism": "Fake"}', n_rows=1, charges=Pure(epsilon=0.01).row_cost()
    )
    accountant._ledger.transact(lambda held: held.append(entry, "gaps 917453"))


def test_private_records_are_the_owners(url_of):
    PrivacyAccountant(1.0, 1e-5, accounting="sanitized", order="renyi", ledger=url_of("ann"))
    accountant = PrivacyAccountant.open(url_of("sam"))
    keep(accountant)
    for user in ("sam", "ray"):
        other = PrivacyAccountant.open(url_of(user))
        assert other._ledger.verify().n_entries == 1
        with pytest.raises(LedgerError, match="no permission"):
            other.private_records()
    assert PrivacyAccountant.open(url_of("ann")).private_records() == {1: "gaps 917453"}


def test_a_script_without_the_trigger_of_statements_would_be_noticed(server, database, url_of):
    """Triggers of rows let TRUNCATE through."""
    basic_budget(url_of("ann"))
    server.execute("DROP TRIGGER refuse_truncate ON private_record", database=database)
    server.execute("TRUNCATE private_record", database=database)
    server.execute("SELECT 1", database=database)
    from secretballot.ledger._server_store import roles_script

    server.execute(roles_script(), database=database)
    with pytest.raises(psycopg.Error, match="append-only"):
        server.execute("TRUNCATE private_record", database=database)
