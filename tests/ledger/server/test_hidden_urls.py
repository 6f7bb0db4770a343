"""Of URLs nothing is shown but what is known to be harmless; and no URL is a file's name."""

import json
import pickle
import traceback
from pathlib import Path

import pytest
from tests._fakes import basic_budget, spend

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant

SECRET = "tr0ub4dor"

#: Parameters that hold a secret, that may, and that no client knows (yet).
HIDDEN = [
    *("password", "passWord", "%70assword", "sslpassword", "scram_client_key", "scram_server_key"),
    *("options", "oauth_client_secret", "sslkey", "replication", "a_later_version", "x"),
]


def texts_of(error):
    """An error as it is printed, with all that it was caused by and their attributes."""
    texts = [*traceback.format_exception(error), str(pickle.dumps(error))]
    while error is not None:
        texts += [repr(error), repr(error.args), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "".join(texts)


@pytest.mark.parametrize("key", HIDDEN)
@pytest.mark.parametrize("use", [PrivacyAccountant.open, basic_budget])
def test_a_parameter_that_is_not_harmless_is_hidden(key, use, capsys):
    # No letter of the path is a folder's, so that no server answers.
    url = f"postgresql://ann@/db?host=/nowhere&{key}={SECRET}&ledger=a"
    with pytest.raises(LedgerError) as refused:
        use(url)
    assert SECRET not in texts_of(refused.value)
    assert main(["ledger", "show", url]) == 1
    assert SECRET not in "".join(capsys.readouterr())


@pytest.mark.parametrize("ending", [f"abc&{SECRET}", f"abc&{SECRET}=x", f"abc&x={SECRET}", SECRET])
def test_the_end_of_a_password_with_an_ampersand_is_hidden(ending):
    with pytest.raises(LedgerError) as refused:
        PrivacyAccountant.open(f"postgresql://ann@/db?host=/nowhere&ledger=a&password={ending}")
    assert SECRET not in texts_of(refused.value)


@pytest.mark.parametrize("use", [PrivacyAccountant.open, basic_budget])
def test_an_error_keeps_nothing_of_the_connection(use):
    with pytest.raises(LedgerError) as refused:
        use(f"postgresql://ann:{SECRET}@/db?host=/nowhere&ledger=a")
    assert SECRET not in texts_of(refused.value)


def test_harmless_parameters_are_shown_and_pickled(server, url):
    asked = f"{url}&application_name=survey&connect_timeout=7&target_session_attrs=read-write"
    accountant = basic_budget(asked)
    assert "connect_timeout=7" in accountant.ledger
    again = pickle.loads(pickle.dumps(accountant))
    spend(again)
    assert again.ledger == accountant.ledger


def test_options_are_shown_nowhere(url, capsys):
    url = f"{url}&options=-capplication_name%3D{SECRET}"
    accountant = basic_budget(url)
    spend(accountant)
    for command in ("show", "verify", "replay", "statement", "children"):
        assert main(["ledger", command, url]) == 0
    pages = (["show", "--html"], ["statement", "--html"])
    for command in (*pages, ["show", "--json"], ["export", "--json"]):
        assert main(["ledger", *command, url]) == 0
    statement = accountant.statement()
    values = [accountant, accountant.ledger, accountant._repr_html_(), statement]
    values += [json.dumps(statement.to_dict()), statement.to_page(), accountant.scope(0.3)]
    texts = [*capsys.readouterr(), *map(repr, values), *map(str, values)]
    texts += [str(pickle.dumps(each)) for each in (accountant, statement)]
    for use in (basic_budget, lambda url: PrivacyAccountant.open(url, epsilon=99.0)):
        with pytest.raises(LedgerError) as refused:
            use(url)
        texts.append(texts_of(refused.value))
    assert [text for text in texts if SECRET in text] == []
    spend(pickle.loads(pickle.dumps(accountant)))


#: What somebody may take for the URL of a ledger. None of it is the name of a file.
NO_URLS = [
    f"mysql://ann:{SECRET}@host/db?ledger=a",
    f"postgresql+psycopg://ann:{SECRET}@host/db?ledger=a",
    f" postgresql://ann:{SECRET}@host/db?ledger=a",
    f"\u00a0postgresql://ann:{SECRET}@host/db?ledger=a",
    f"'postgresql://ann:{SECRET}@host/db?ledger=a'",
    f"<postgresql://ann:{SECRET}@host/db?ledger=a>",
    f"ledger=postgresql://ann:{SECRET}@host/db",
    f"jdbc:postgresql://host/db?user=ann&password={SECRET}",
    f"postgresql:/ann:{SECRET}@host/db?ledger=a",
    f"postgresql:ann:{SECRET}@host/db?ledger=a",
    f"ann:{SECRET}@host/db?ledger=a",
    f"host=host user=ann password={SECRET} dbname=db",
    f"password={SECRET} host=host",
    f"dbname=db sslpassword = '{SECRET}'",
    f"https://ann:{SECRET}@host/a.ledger",
    f"//ann:{SECRET}@host/db?ledger=a",
    f"jdbc:postgresql:db?user=ann&password={SECRET}",
    f"Server=host;User Id=ann;Pwd={SECRET}",
    Path(f"ledger='postgresql://ann:{SECRET}@host/db?ledger=a'"),
    # As the command line has bytes that are not UTF-8.
    f"postgresql://ann:\udce9{SECRET}@host/db?ledger=a",
    f"file:///home/ann/{SECRET}",
    Path(f"postgresql://ann:{SECRET}@host/db?ledger=a"),
    Path(f"mysql://ann:{SECRET}@host/db"),
    # URLs of PostgreSQL in which a password is in the place of something else.
    f"postgresql://ann:{SECRET}/db?ledger=a",
    f"postgresql://ann%3A{SECRET}@host/db?ledger=a",
    f"postgresql://ann%3a{SECRET}:x@host/db?ledger=a",
    f"postgresql://host:1,ann:{SECRET}/db?ledger=a",
    f"postgresql://host/db?ledger=a&user=ann:{SECRET}",
]


@pytest.mark.parametrize("name", NO_URLS)
def test_what_looks_like_a_url_is_neither_shown_nor_made_a_file(
    name, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    basic_budget("budget.ledger")
    before = sorted(tmp_path.rglob("*"))
    for use in (PrivacyAccountant.open, basic_budget):
        with pytest.raises(LedgerError, match="ledger= .*it is not shown") as refused:
            use(name)
        assert SECRET not in texts_of(refused.value)
    commands = [
        *(["show", name], ["verify", name], ["statement", name], ["children", name]),
        ["create", name, "--epsilon", "1", "--delta", "1e-5"],
        *(["carve", name, "x", "--epsilon", "1"], ["price", name, "--mechanism", "GNMax"]),
        *(["move", "budget.ledger", name], ["move", name, name]),
    ]
    for command in commands:
        assert main(["ledger", *map(str, command)]) == 1
    assert SECRET not in "".join(capsys.readouterr())
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", [*NO_URLS, f"postgresql://ann:{SECRET}@host/db?ledger=a"])
def test_a_url_in_the_place_of_something_else_is_not_shown(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    basic_budget("budget.ledger")
    before = sorted(tmp_path.rglob("*"))
    name = str(name)
    commands = [
        *([name], ["show", "budget.ledger", name], ["show", "budget.ledger", f"--{name}"]),
        *(["show", "budget.ledger", "--last", name], ["show", "budget.ledger", f"--json={name}"]),
        ["verify", "budget.ledger", "--head", name],
        *([each, "budget.ledger", "--html", name] for each in ("show", "statement")),
        ["create", "new.ledger", "--epsilon", "1", "--delta", name],
        ["create", "new.ledger", "--epsilon", name, "--delta", "1e-5"],
        ["create", "new.ledger", "--epsilon", "1", "--delta", "1e-5", "--unit", name],
        ["price", "budget.ledger", "--mechanism", name],
        ["price", "budget.ledger", "--mechanism", "GNMax", "--set", f"sigma={name}"],
        ["price", "budget.ledger", "--mechanism", "GNMax", "--set", f"{name}=1"],
        ["carve", "budget.ledger", name, "--epsilon", "1"],
        ["close", "budget.ledger", name],
    ]
    for command in commands:
        with pytest.raises(SystemExit, match="2"):
            main(["ledger", *command])
        assert SECRET not in "".join(capsys.readouterr()), command
    assert sorted(tmp_path.rglob("*")) == before


def test_a_url_as_bytes_is_not_shown():
    for use in (PrivacyAccountant.open, basic_budget):
        with pytest.raises(TypeError, match="not of type bytes") as refused:
            use(f"postgresql://ann:{SECRET}@host/db?ledger=a".encode())
        assert SECRET not in texts_of(refused.value)


@pytest.mark.parametrize(
    "name", ["./ann:x@home", "20:51.ledger", "eps=1,delta=2", "a@b", "x.y:z", "pwd", "a=1 pwd"]
)
def test_files_may_have_names_with_such_letters(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spend(basic_budget(name))
    assert PrivacyAccountant.open(tmp_path / name).spent().n_releases == 1
