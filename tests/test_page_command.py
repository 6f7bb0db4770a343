"""The commands that write a page: to a new file, and over nothing."""

import re
from functools import partial

import pytest
from tests._commands import ledger_command, two_releases

from secretballot.accounting import PrivacyStatement


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def accountant(path):
    return two_releases(path)


@pytest.fixture
def run(capsys):
    return partial(ledger_command, capsys)


def test_statement_as_a_page(run, accountant, path, tmp_path):
    page = accountant.statement().to_page()
    undated = re.compile(r"Page made on \d{4}-\d\d-\d\d")
    for arguments in ((path, "--html"), ("--html", path)):
        status, output, errors = run("statement", *arguments)
        assert (status, errors) == (0, "")
        assert undated.sub("", output) == undated.sub("", page)
    head = accountant.statement().head
    for place, arguments in enumerate([("{0}", "--html", "{1}"), ("--html={1}", "{0}")]):
        file = tmp_path / f"signed {place}.html"
        done = run("statement", *(each.format(path, file) for each in arguments))
        assert done == (0, f"{file}: 2 entries, head digest {head}\n", "")
        assert undated.sub("", file.read_text(encoding="utf-8")) == undated.sub("", page)


def test_the_ledger_as_a_page(run, accountant, path, tmp_path):
    undated = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
    status, page, errors = run("show", path, "--html")
    assert (status, errors) == (0, "")
    assert "Budget of budget.ledger" in page
    for arguments in (("--html", path), ("--last", 2, "--html", path), (path, "--html")):
        assert undated.sub("", run("show", *arguments)[1]) == undated.sub("", page)
    file = tmp_path / "page.html"
    done = run("show", path, "--html", file)
    assert done == (0, f"{file}: 2 entries, head digest {accountant.statement().head}\n", "")
    assert undated.sub("", file.read_text(encoding="utf-8")) == undated.sub("", page)
    assert run("show", path, "--json", "--html")[0] == 2


@pytest.mark.parametrize("command", ["show", "statement"])
def test_a_page_is_written_over_nothing(command, run, accountant, path, tmp_path):
    signed = tmp_path / "signed.html"
    signed.write_text("signed")
    for file in (signed, path, f"{path}.mark", tmp_path):
        content = path.read_bytes()
        status, output, errors = run(command, path, "--html", file)
        assert (status, output) == (1, "")
        assert "exists already, and a statement may be signed: nothing was written" in errors
        assert path.read_bytes() == content
    assert signed.read_text() == "signed"
    status, _, errors = run(command, path, "--html", tmp_path / "nowhere" / "page.html")
    assert status == 1
    assert "can't be written: " in errors
    # The other way round no ledger is written over either.
    status, _, errors = run(command, signed, "--html", path)
    assert status == 1
    assert "is not a ledger" in errors
    for arguments in ((), ("--html",), ("--json",)):
        status, _, errors = run(command, *arguments)
        assert status == 2
        assert "the following arguments are required: FILE" in errors


def test_a_page_that_is_cut_off_is_removed(run, accountant, path, tmp_path, monkeypatch):
    """A letter that can't be written stands for a disk that is full."""
    monkeypatch.setattr(PrivacyStatement, "to_page", lambda self: "a page\ud800")
    status, _, errors = run("statement", path, "--html", tmp_path / "page.html")
    assert status == 1
    assert "can't be written: " in errors
    assert not (tmp_path / "page.html").exists()
