"""What a spender may add by hand: nothing that stops a ledger by its place or its form."""

import hashlib
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests._fakes import Pure, basic_budget, spend, votes
from tests.ledger._forging import Forger, forging

from secretballot.accounting import LedgerError, PrivacyAccountant

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def database(server):
    """Database with roles; sam is a spender."""
    from secretballot.ledger._server_store import roles_script

    server.execute("CREATE DATABASE inserts")
    server.execute(roles_script(), database="inserts")
    for user, role in (("olga", "owner"), ("sid", "spender")):
        server.execute(f"CREATE ROLE {user} LOGIN", f"GRANT secretballot_{role} TO {user}")
    return "inserts"


@pytest.fixture
def owned(server, database, url):
    return server.url(url.split("ledger=")[1], user="olga", database=database)


@pytest.fixture
def spent(owned, monkeypatch):
    """URL of the spender: a ledger with rows in each table, of which the last entry is no more."""
    monkeypatch.setattr("secretballot.ledger._ledger.CHECKPOINT_EVERY", 2)
    accountant = basic_budget(owned)
    reservation = accountant.reserve(Pure(epsilon=0.25), 2)
    accountant.release(Pure(epsilon=0.25), votes(1), reservation=reservation)
    spend(accountant.child("team", epsilon=1.0))
    accountant.release(Pure(epsilon=0.125), votes(1), scope=accountant.scope(1.0))
    return owned.replace("olga", "sid")


def entry(forger, **columns):
    """Insert an entry whose digest is right, with other columns than the next one has."""
    forger.append(charges={"everyone": (0.0, forger.charges(1)["*"][1])}, n_rows=1, changes=columns)


def ahead(forger):
    time = datetime.now(UTC) + timedelta(hours=1)
    entry(forger, time=time.isoformat(timespec="microseconds"))


CURVE = b"\0" * 8
LONG = random.Random(0).randbytes(1000).hex()
NEXT, BEFORE = "the next number", "the digest of the one before"
WITH = "rows are added with their entry"

#: Each stopped a ledger, or spoiled what follows: the insert, and the reason of its refusal.
INSERTS = {
    "number 0": (lambda f: entry(f, sequence=0), NEXT),
    "a gap": (lambda f: entry(f, sequence=7), NEXT),
    "the last number": (lambda f: entry(f, sequence=2**63 - 1), NEXT),
    "a negative number": (lambda f: entry(f, sequence=-1), NEXT),
    "another digest before": (
        lambda f: entry(f, previous="0" * 64),
        BEFORE,
    ),
    "a digest of an earlier one": (
        lambda f: entry(f, previous=f.fetch("digest", "entry", "sequence = 1")[0][0]),
        BEFORE,
    ),
    "no digest": (
        lambda f: f.insert(
            "entry",
            *(6, datetime.now(UTC).isoformat(timespec="microseconds"), "{}", 0, None, None, 0),
            *("{}", f.fetch("digest", "entry", "sequence = 5")[0][0], "none"),
        ),
        "never writes",
    ),
    "fewer rows than none": (lambda f: entry(f, n_rows=-5), "never writes"),
    "more rows than a sum holds": (lambda f: entry(f, n_rows=2**62), "never writes"),
    "a seed": (lambda f: entry(f, seeded=7), "never writes"),
    "no time": (lambda f: entry(f, time="yesterday"), "a time"),
    "a time to come": (ahead, "ahead of the clock"),
    "no JSON": (lambda f: entry(f, mechanism="GNMax"), "json"),
    "a note that is none": (lambda f: entry(f, note="[1"), "json"),
    "a number that is none": (lambda f: entry(f, note='{"a": NaN}'), "json"),
    "a mechanism that is a list": (lambda f: entry(f, mechanism="[1]"), "an object of JSON"),
    "an hour that no day has": (
        lambda f: entry(f, time="2026-01-01T24:00:00.000000+00:00"),
        "a time",
    ),
    # Sums are stored by scope and group later, where others would be in the way.
    "a scope without a name": (lambda f: entry(f, scope_id=""), "the name of a scope"),
    "the scope of a child's sums": (lambda f: entry(f, scope_id="/team"), "the name of a scope"),
    "a scope of a long name": (lambda f: entry(f, scope_id=LONG), "the name of a scope"),
    "a part of a long name": (
        lambda f: f.append(charges={f"everyone/x/{LONG}": (0.0, f.charges(1)["*"][1])}, n_rows=1),
        "the names of a level",
    ),
    "a child of a long name": (
        lambda f: f.append(
            charges=f.charges(3),
            child=(LONG, "carve", f.fetch("given", "child", "event = 'carve'")[0][0]),
        ),
        "the name of a child",
    ),
    "no cap": (lambda f: entry(f, scope_id="x", scope_epsilon="much"), "json"),
    "a charge of an older entry": (lambda f: f.insert("charge", 2, "everyone", "", 0.0, 1), WITH),
    "a charge of the newest": (lambda f: f.insert("charge", 5, "everyone", "", 0.0, 1), WITH),
    "a charge of the next": (lambda f: f.insert("charge", 6, "everyone", "", 0.0, 1), WITH),
    "a reservation of an older entry": (
        lambda f: f.insert("reservation", 4, "x", "reserve", "[[[1, null]], 0, 0]"),
        WITH,
    ),
    "a child of an older entry": (lambda f: f.insert("child", 1, "team", "spend", ""), WITH),
    "a child of the newest": (lambda f: f.insert("child", 5, "team", "spend", ""), WITH),
    "a checkpoint of an older entry": (
        lambda f: f.insert("checkpoint", 3, 1, 1, None, "0" * 64),
        WITH,
    ),
    "a checkpoint of the newest": (lambda f: f.insert("checkpoint", 5, 1, 1, None, "x"), WITH),
    "sums of an older checkpoint": (
        lambda f: f.insert("total", 2, "", "everyone", "", 0.0, 1, None),
        WITH,
    ),
    "a child's sums": (lambda f: f.insert("child_total", 4, "other", 1, 1), WITH),
    "a private record": (lambda f: f.insert("private_record", 2, "x"), WITH),
    "the last curve": (
        lambda f: f.insert("curve", 2**63 - 1, hashlib.sha256(CURVE).digest(), CURVE),
        NEXT,
    ),
    "a curve before the first": (
        lambda f: f.insert("curve", -1, hashlib.sha256(CURVE).digest(), CURVE),
        NEXT,
    ),
    # The next release whose curve has that digest would be charged with another one.
    "a curve that is another": (
        lambda f: f.insert(
            "curve",
            f.fetch("max(number) + 1", "curve")[0][0],
            hashlib.sha256(Pure(epsilon=0.5).row_cost()["*"].curve.tobytes()).digest(),
            CURVE,
        ),
        "the digest of its value",
    ),
}


@pytest.mark.parametrize("insert", INSERTS.values(), ids=INSERTS)
def test_a_spender_does_not_stop_a_ledger(spent, insert):
    accountant = PrivacyAccountant.open(spent)
    assert len(accountant.entries()) == 5
    head = accountant._ledger.verify()
    act, reason = insert
    with pytest.raises(psycopg.Error, match=reason), forging(spent) as forger:
        act(forger)
    assert accountant._ledger.verify() == head
    accountant.release(Pure(epsilon=0.5), votes(1))
    assert PrivacyAccountant.open(spent)._ledger.verify().n_entries == 6


def test_an_entry_by_hand_that_is_right_is_one(spent):
    """What is refused above is refused for what is wrong with it."""
    with forging(spent) as forger:
        entry(forger)
    assert PrivacyAccountant.open(spent)._ledger.verify().n_entries == 6


def test_honest_long_names_stop_nothing(owned):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=owned)
    with pytest.raises(LedgerError, match="the name of a scope has 1 to 1000"):
        accountant.child(LONG, epsilon=0.1)
    assert accountant.entries() == []


@pytest.mark.parametrize("mechanism", ['{"event": "moved"}', '{"event": "moved", "to": 5}'])
def test_a_move_to_nowhere_keeps_no_machine_out(spent, tmp_path, monkeypatch, mechanism):
    """A machine that has not seen the ledger looks for the places where it was."""
    with forging(spent) as forger:
        forger.append(mechanism=mechanism)
    monkeypatch.setenv("SECRETBALLOT_STATE", str(tmp_path / "another"))
    accountant = PrivacyAccountant.open(spent)
    accountant.release(Pure(epsilon=0.5), votes(1))
    assert accountant._ledger.verify().n_entries == 7


@pytest.mark.parametrize("n_parts", [1, 2])
def test_a_move_to_a_part_of_the_place_is_one_to_another(spent, n_parts):
    """A restored dump would be in the same place."""
    accountant = PrivacyAccountant.open(spent)
    place = accountant._ledger.header().place.split("@")
    with forging(spent) as forger:
        part = "@".join(place[:n_parts])
        forger.append(mechanism=f'{{"event": "moved", "place": "{part}"}}')
    with pytest.raises(LedgerError, match="it is a copy"):
        accountant.release(Pure(epsilon=0.5), votes(1))


def curve(forger):
    number = forger.fetch("max(number) + 1", "curve")[0][0]
    forger.insert("curve", number, hashlib.sha256(CURVE).digest(), CURVE)


@pytest.mark.parametrize("insert", [entry, curve])
def test_a_spender_waits_for_another(spent, insert):
    """Whoever spends would find the next number taken."""
    accountant = PrivacyAccountant.open(spent)

    def act(transaction):
        refused = pytest.raises(psycopg.errors.LockNotAvailable)
        with refused, forging(spent) as forger:
            forger._opened.execute("SET lock_timeout = 100")
            insert(forger)

    accountant._ledger.transact(act)
    accountant.release(Pure(epsilon=0.5), votes(1))


def test_functions_of_a_session_are_not_looked_at(spent):
    with forging(spent) as forger:
        assert isinstance(forger, Forger)
        forger._opened.execute(
            "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS "
            "'SELECT NULL::bytea'"
        )
        forger._opened.execute("SET search_path = pg_temp, secretballot, pg_catalog")
        with pytest.raises(psycopg.Error, match="the digest of its value"):
            forger.insert("curve", forger.fetch("max(number) + 1", "curve")[0][0], b"x" * 32, CURVE)
        forger._opened.rollback()


def test_what_a_spender_can_still_stop_its_owner_mends(server, database, owned, spent):
    """An entry in its place whose digest is wrong: nobody spends until the owner has removed it."""
    accountant = PrivacyAccountant.open(spent)
    with forging(spent) as forger:
        entry(forger)
    spend(accountant)
    head = accountant._ledger.verify()
    with forging(spent) as forger:
        ((digest,),) = forger.fetch("digest", "entry", "sequence = 7")
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        forger.insert(
            "entry", *(8, time, "{}", 0, None, None, 0, "{}", digest, hashlib.sha256().hexdigest())
        )
    for use in (lambda: spend(accountant), lambda: PrivacyAccountant.open(spent)):
        with pytest.raises(LedgerError, match="entry 8 does not follow"):
            use()
    (number,) = server.execute(
        f"SELECT number FROM ledger WHERE name = '{spent.split('ledger=')[1]}'", database=database
    )[0]
    with psycopg.connect(server.url(user="olga", database=database)) as opened:
        opened.execute(owners_remedy().replace("NUMBER", str(number)).replace("ENTRY", "8"))
    assert PrivacyAccountant.open(spent)._ledger.verify() == head
    spend(accountant)
    with pytest.raises(psycopg.Error, match="append-only"):
        server.execute(f"DELETE FROM entry WHERE ledger = {number}", database=database)


def owners_remedy():
    """Return the SQL that the documentation has for the owner."""
    page = Path(__file__).parents[3] / "docs" / "topics" / "ledger-on-a-server.md"
    text = page.read_text(encoding="utf-8").partition("the owner removes it")[2]
    return text.partition("```postgres")[2].partition("```")[0]


def test_the_script_adds_the_checks_to_tables_without_them(server, url):
    """Databases of earlier drafts have none."""
    from secretballot.ledger._server_store import roles_script

    server.execute("CREATE DATABASE drafts")
    there = url.replace("/postgres?", "/drafts?")
    accountant = PrivacyAccountant(4.0, 1e-5, order=math.inf, ledger=there)
    spend(accountant)
    for function in ("check_entry", "check_row", "check_curve"):
        server.execute(f"DROP FUNCTION {function} CASCADE", database="drafts")
    server.execute(roles_script(), database="drafts")
    with pytest.raises(psycopg.Error, match=WITH), forging(there) as forger:
        forger.insert("charge", 1, "everyone", "", 0.0, 1)
    spend(accountant)
