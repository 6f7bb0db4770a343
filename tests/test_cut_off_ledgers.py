"""What the commands say of a ledger whose end may be missing."""

import json
import shutil
from functools import partial

import pytest
from tests._commands import ledger_command, two_releases
from tests._fakes import tamper


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def accountant(path):
    return two_releases(path)


@pytest.fixture
def run(capsys):
    return partial(ledger_command, capsys)


@pytest.mark.parametrize("how", ["copy", "no mark", "in place"])
def test_a_statement_of_what_may_be_cut_says_so(run, accountant, path, tmp_path, how):
    assert accountant.statement().completeness_note == ""
    mark = path.with_name(f"{path.name}.mark")
    kept = mark.read_bytes()
    if how == "copy":
        path = shutil.copy(path, tmp_path / "copy.ledger")
    tamper(path, *(f"DELETE FROM {table} WHERE sequence > 1" for table in ("charge", "entry")))
    if how == "in place":
        mark.write_bytes(kept)
    why = {"copy": "This is a copy", "no mark": "The mark that", "in place": "Entries are mi"}
    note = f"NOTE: {why[how]}"
    status, output, errors = run("statement", path)
    assert (status, errors.split(why[how])[0]) == (0, "note: ")
    text = " ".join(output.split())
    assert text.startswith(f"PRIVACY STATEMENT {note}")
    assert text.index("head digest of a statement") < text.index("Who is protected")
    assert "No entry is missing at the end of the ledger. That could not be checked" in text
    page = run("statement", path, "--html")[1]
    assert page.index(note) < page.index("Who is protected")
    assert json.loads(run("statement", path, "--json")[1])["completeness_note"].startswith(why[how])
    status, output, errors = run("verify", path)
    assert (status, errors.split(why[how])[0]) == (0, "note: ")
    assert output.startswith("unaltered, but not checked at its end: 1 entry")
    assert "released" not in errors
