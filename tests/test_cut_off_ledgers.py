"""What the commands say of a ledger whose end may be missing."""

import json
import shutil

import pytest
from tests._fakes import Gaussian, tamper, votes

from secretballot._cli import main
from secretballot.accounting import PrivacyAccountant


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def accountant(path):
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi", ledger=path)
    for _ in range(2):
        accountant.release(Gaussian(sigma=40), votes(5))
    return accountant


@pytest.fixture
def run(capsys):
    """Run a command; return its exit status, output and errors."""

    def command(*arguments):
        capsys.readouterr()
        try:
            status = main(["ledger", *map(str, arguments)])
        except SystemExit as exit:
            status = exit.code
        return status, *capsys.readouterr()

    return command


@pytest.mark.parametrize("how", ["copy", "no mark", "in place"])
def test_a_statement_of_what_may_be_cut_says_so(run, accountant, path, tmp_path, how):
    assert accountant.statement().doubt == ""
    mark = path.with_name(f"{path.name}.mark")
    kept = mark.read_bytes()
    if how == "copy":
        path = shutil.copy(path, tmp_path / "copy.ledger")
    tamper(path, *(f"DELETE FROM {table} WHERE sequence > 1" for table in ("charge", "entry")))
    if how == "in place":
        mark.write_bytes(kept)
    why = {"copy": "This file is a copy", "no mark": "The mark that", "in place": "Entries are mi"}
    note = f"NOTE: {why[how]}"
    status, output, errors = run("statement", path)
    assert (status, errors.split(why[how])[0]) == (0, "note: ")
    text = " ".join(output.split())
    assert text.startswith(f"PRIVACY STATEMENT {note}")
    assert text.index("head digest of a statement") < text.index("Who is protected")
    assert "No entry is missing at the end of the ledger. That could not be checked" in text
    page = run("statement", path, "--html")[1]
    assert page.index(note) < page.index("Who is protected")
    assert json.loads(run("statement", path, "--json")[1])["doubt"].startswith(why[how])
    status, output, errors = run("verify", path)
    assert (status, errors.split(why[how])[0]) == (0, "note: ")
    assert output.startswith("unaltered, but not checked at its end: 1 entry")
    assert "released" not in errors
