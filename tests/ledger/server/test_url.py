"""URLs of ledgers: what is wrong with them is said, and a password never is."""

import copy
import json
import logging
import pickle
import sys
import traceback

import pytest
from tests._fakes import Pure, basic_budget, spend, votes
from tests.ledger._server import Server, needs_server, running, seen_mark

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger._server_connection import ServerUrl
from secretballot.ledger._transfer import export

SECRET = "tr0ub4dor&3:@/#é"
QUOTED = "tr0ub4dor%263%3A%40%2F%23%C3%A9"


def texts_of(error):
    """An error as it is printed, with all that it was caused by."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(pickle.dumps(error))


def hides(text):
    return not any(form in text for form in (SECRET, QUOTED, "tr0ub4dor"))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"postgresql://ann:{QUOTED}@host/db?ledger=a", "postgresql://ann@host/db?ledger=a"),
        (f"postgres://ann:{QUOTED}@a:1,b:2/db?x=y&ledger=a", "postgresql://ann@a:1,b:2/db?ledger=a"),
        (f"postgresql://host/db?password={QUOTED}&ledger=a", "postgresql://host/db?ledger=a"),
        (f"postgresql://host/db?ledger=a&sslPassword={QUOTED}", "postgresql://host/db?ledger=a"),
        (f"POSTGRESQL:///?host=/run&ledger=%C3%A9&passWord={QUOTED}", "postgresql:///?host=/run&ledger=%C3%A9"),
    ],
)  # fmt: skip
def test_a_name_has_no_password(url, name):
    parsed = ServerUrl.parse(url)
    assert parsed.name == name
    assert "ledger=" not in parsed.conninfo
    assert QUOTED in parsed.conninfo
    assert hides(repr(parsed))
    again = pickle.loads(pickle.dumps(parsed))
    assert again.name == name
    assert hides(repr(vars(again)))
    assert hides(parsed.redacted(f"failed with {SECRET} and {QUOTED}"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:tr0ub4dor@3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor/3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor?3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor#3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor[3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor%3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor 3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor\n3@host/db?ledger=a",
        "postgresql://ann:tr0ub4dor%00@host/db?ledger=a",
    ],
)
@pytest.mark.parametrize("use", [PrivacyAccountant.open, basic_budget])
def test_a_url_that_could_be_misread_is_not_shown(url, use):
    with pytest.raises(LedgerError, match="no valid URL.*it is not shown.*%40") as refused:
        use(url)
    assert hides(texts_of(refused.value))


@pytest.mark.parametrize(
    "ending", ["", "?host=/x", "?ledger=", "?ledger=a&ledger=b", "?ledger=" + 201 * "a"]
)
def test_a_url_names_one_ledger(ending):
    with pytest.raises(LedgerError, match=r"end it with \?ledger=NAME"):
        PrivacyAccountant.open(f"postgresql://host/db{ending}")


def test_without_psycopg(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for use in (PrivacyAccountant.open, basic_budget):
        with pytest.raises(LedgerError, match="the extra `postgres` of this package"):
            use("postgresql://host/db?ledger=a")


@pytest.fixture(scope="module")
def locked():
    """A server that asks for passwords."""
    needs_server()
    server = Server()
    with running(server):
        quoted = SECRET.replace("'", "''")
        server.execute(f"CREATE ROLE ann LOGIN SUPERUSER PASSWORD '{quoted}'")
        server.execute("CREATE ROLE bob LOGIN")
        hba = server.data / "pg_hba.conf"
        hba.write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        server.execute("SELECT pg_reload_conf()")
        yield server


def with_password(server, ledger, password=QUOTED):
    return server.url(ledger).replace("postgres@", f"ann:{password}@")


def test_a_password_is_shown_nowhere(locked, tmp_path, capsys, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    url = with_password(locked, "secret")
    accountant = basic_budget(url)
    spend(accountant, 2)
    scope = accountant.scope(0.3)
    accountant.release(Pure(epsilon=0.25), votes(1), scope=scope, note={"id": "x"})
    opened = PrivacyAccountant.open(url)._ledger
    for command in ("show", "verify", "replay", "statement"):
        assert main(["ledger", command, url]) == 0
    pages = (["show", "--html"], ["statement", "--html"])
    for command in (*pages, ["statement", "--json"], ["export", "--json"]):
        assert main(["ledger", *command, url]) == 0
    values = [accountant, accountant.ledger, accountant._repr_html_(), accountant.statement()]
    values += [accountant.statement().to_dict(), accountant.statement().to_page()]
    values += [export(opened), opened.header(), vars(opened), vars(opened._store), scope]
    pickles = [
        pickle.dumps(each) for each in (accountant, opened, opened._store, opened._store._url)
    ]
    texts = [*capsys.readouterr(), caplog.text, *map(repr, values), *map(str, values)]
    texts += [str(each) for each in pickles]
    for use in (basic_budget, lambda url: PrivacyAccountant.open(url, epsilon=99.0)):
        with pytest.raises(LedgerError) as refused:
            use(url)
        texts.append(texts_of(refused.value))
    texts.append(seen_mark(opened.header().ledger_id).read_text())
    stored = locked.execute(
        *(
            f"SELECT string_agg(t::text, '') FROM {table} AS t"
            for table in ("entry", "header", "ledger", "level")
        )
    )
    texts.append(str(stored))
    assert [text for text in texts if not hides(text)] == []
    assert "secret" in opened.name  # the same search finds what is there
    # A pickle has no password, and a worker takes it from a file.
    orphan = pickle.loads(pickle.dumps(accountant))
    assert orphan.ledger == accountant.ledger == opened.name
    with pytest.raises(LedgerError, match="refuses the login.*PGPASSFILE") as refused:
        spend(copy.copy(orphan))
    assert hides(texts_of(refused.value))
    passwords = tmp_path / "passwords"
    escaped = SECRET.replace(":", "\\:")
    passwords.write_text(f"*:*:*:ann:{escaped}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    spend(orphan)
    assert accountant.spent().n_releases == 4


@pytest.mark.parametrize("password", [f"{QUOTED}x", "", "x"])
def test_a_wrong_password(locked, password):
    basic_budget(with_password(locked, f"wrong-{password}"))
    url = with_password(locked, f"wrong-{password}", password)
    with pytest.raises(LedgerError, match="refuses the login") as refused:
        PrivacyAccountant.open(url)
    assert hides(texts_of(refused.value).replace(f"wrong-{QUOTED}", ""))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("/postgres?", "/nowhere?"), "no database of that name"),
        (("ledger=", "ledger=other-"), "does not exist .any more.*no ledger 'other-"),
        (("host=", "host=/nowhere"), "can't be reached.*URL"),
        (("host=", "port=1&host="), "can't be reached.*URL"),
        (("host=", "unknown=1&host="), "can't be used"),
        (("postgres@", "somebody@"), "refuses the login"),
    ],
)
def test_a_wrong_url(server, url, change, why):
    accountant = basic_budget(url)
    with pytest.raises(LedgerError, match=why):
        PrivacyAccountant.open(url.replace(*change))
    assert accountant.entries() == []


def test_the_command_line_says_what_is_wrong(url, capsys):
    assert main(["ledger", "show", url]) == 1
    assert "does not exist" in capsys.readouterr().err
    assert main(["ledger", "show", url.split("&")[0]]) == 1
    assert "?ledger=NAME" in capsys.readouterr().err
    spend(basic_budget(url))
    for command in (["show"], ["verify"], ["replay"], ["export", "--json"]):
        assert main(["ledger", *command, url]) == 0
    assert json.loads("{" + capsys.readouterr().out.split("{", 1)[1])["n_entries"] == 1
