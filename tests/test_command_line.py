"""The command line: a ledger shown, checked, added up and handed on."""

import hashlib
import json
import math
import os
import re
import shutil
import sys
import tomllib
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests._commands import ledger_command
from tests._fakes import (
    Gaussian,
    Grouped,
    Known,
    Pure,
    basic_budget,
    spend,
    tamper,
    votes,
)
from tests._programs import python_environment, run_program, run_python, running_program

from secretballot import __version__
from secretballot.__main__ import main
from secretballot.accounting import (
    ORDERS,
    PrivacyAccountant,
    PrivacyLeakWarning,
    PrivacyStatement,
    RenyiCost,
)
from secretballot.mechanisms import GNMax

SOURCE = Path(__file__).resolve().parents[1] / "src"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def accountant(path):
    budget = {"strict": 1.0, "lax": 3.0}
    accountant = PrivacyAccountant(budget, 1e-5, unit="owner", order="renyi", ledger=path)
    accountant.release(Gaussian(sigma=40), votes(5))
    accountant.release(Grouped(rates={"strict": 1e-4, "lax": 3e-4}), votes(2))
    return accountant


@pytest.fixture
def run(capsys):
    return partial(ledger_command, capsys)


def cells(output, first):
    """Return the cells of the line of a table that begins with a word."""
    lines = [line.split() for line in output.splitlines() if "head digest" not in line]
    (row,) = [line for line in lines if line[:1] == [first]]
    return row


def test_show(run, accountant, path):
    status, output, errors = run("show", path)
    assert (status, errors) == (0, "")
    spent = accountant.spent()
    for level, epsilon in (("strict", "1"), ("lax", "3")):
        share, reading = f"{spent[level].share:.1%}", f"{spent[level].epsilon:.4g}"
        order = f"{spent[level].order:g}"
        assert cells(output, level) == [level, epsilon, "1e-05", order, share, reading]
    # Each entry, with its own charge and the share of each level's budget after it.
    for number, (before, state) in enumerate(pairwise(accountant.history()), start=1):
        line = cells(output, str(number))
        assert line[-2:] == [f"{state[level].share:.1%}" for level in ("strict", "lax")]
        charges = [state[level].amount - before[level].amount for level in ("strict", "lax")]
        assert [float(cell) for cell in line[-4:-2]] == pytest.approx(charges, rel=1e-3)
    assert "Gaussian(sigma=40)" in output
    assert "protects one owner (replace)" in output
    assert f"2 entries, head digest {accountant._ledger.verify().digest}" in output


def test_show_charges_of_reservations(run, path):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    reservation = accountant.reserve(GNMax(sigma=40.0), 4, n_columns=2)
    accountant.release(GNMax(sigma=40.0), votes(1), reservation=reservation)
    accountant.settle(reservation)
    _, output, _ = run("show", path)
    assert "A charge is the entry's own, in mu^2." in output
    charges = [float(cells(output, str(number))[-2]) for number in (1, 2, 3)]
    paid, _, back = (entry.charges.get("everyone") for entry in accountant.entries())
    assert charges == pytest.approx([float(paid.mu2), 0, -float(back.mu2)], rel=1e-3)


def test_one_entry_is_counted_in_the_singular(run, path):
    spend(basic_budget(path), 1)
    assert "\n1 entry, head digest" in run("show", path)[1]
    assert run("verify", path)[1].startswith("ok: 1 entry, head digest")


def test_show_the_last_entries(run, path):
    spend(basic_budget(path), 4)
    _, whole, _ = run("show", path)
    _, some, _ = run("show", path, "--last", 1)
    assert "3 earlier entries are not shown" in some
    assert cells(some, "4") == cells(whole, "4")
    assert "Pure" in whole
    assert [whole.count("Pure"), some.count("Pure")] == [4, 1]
    assert run("show", path, "--last", 0)[1].count("Pure") == 0
    assert run("show", path, "--last", 9)[1] == whole
    for wrong in (-1, "x"):
        status, _, errors = run("show", path, "--last", wrong)
        assert status == 2
    assert "'x' is not a number of entries" in errors


def test_show_marks_seeds_moves_and_sensitive_figures(run, path, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant = PrivacyAccountant(
            *(1.0, 1e-5), order="renyi", ledger=path, allow_seeded=True, accounting="data_dependent"
        )
        accountant.release(Known(most=1.0), [[5.0, 1e-4]], random_state=0)
        copy = tmp_path / "copy.ledger"
        shutil.copy(path, copy)
        path.unlink()
        PrivacyAccountant.open(copy, accept="moved")
    _, output, _ = run("show", copy)
    assert "SEEDED" in output
    assert "sensitive themselves" in output
    assert "moved(place=" in output


def test_verify(run, accountant, path):
    head = accountant._ledger.verify()
    assert run("verify", path) == (0, f"ok: 2 entries, head digest {head.digest}\n", "")


def test_verify_a_statement(run, accountant, path):
    statement = accountant.statement()
    status, output, _ = run("verify", path, "--head", statement.head)
    assert status == 0
    assert "is entry 2; 0 were recorded since" in output
    # More was released since: the statement is still of this ledger.
    accountant.release(Gaussian(sigma=40), votes(5))
    status, output, _ = run("verify", path, "--head", statement.head.upper())
    assert status == 0
    assert "is entry 2; 1 was recorded since" in output
    empty = basic_budget(path.with_name("empty.ledger")).statement()
    status, output, _ = run("verify", path.with_name("empty.ledger"), "--head", empty.head)
    assert "is entry 0; 0 were recorded since" in output


def printed_head(statement):
    """Return the head as the statement prints it."""
    return re.search(r"verify FILE --head (\S+)$", str(statement), flags=re.M)[1]


def test_verify_the_head_as_a_statement_prints_it(run, accountant, path, tmp_path):
    statement = accountant.statement()
    head = printed_head(statement)
    assert head == f"2:{statement.head}"
    for option in (["--head", head], [f"--head={head}"], ["--head", head.upper()]):
        status, output, _ = run("verify", path, *option)
        assert (status, output.splitlines()[0]) == (
            *(0, "the statement's head is entry 2; 0 were recorded since"),
        )
    empty = tmp_path / "empty.ledger"
    assert run("verify", empty, "--head", printed_head(basic_budget(empty).statement()))[0] == 0
    # A child's statement is checked against the whole ledger.
    parent = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "parent.ledger")
    child = parent.child("team", epsilon=0.2)
    parent.release(GNMax(sigma=100.0), votes(1))
    head = printed_head(child.statement())
    assert head.startswith("2:")
    assert run("verify", parent.ledger, "--head", head)[0] == 0


@pytest.mark.parametrize("number", ["1", "3", "02", "-2", "x", "", "2:2", "\u0662", "9" * 5000])
def test_another_number_than_that_of_the_entry_is_refused(run, accountant, path, number):
    head = f"{number}:{accountant.statement().head}"
    status, output, errors = run("verify", path, f"--head={head}")
    assert (status, output) == (1, "")
    assert f"this is the digest of entry 2, not of entry '{number}'" in errors
    assert "or one of them was altered" in errors


def test_a_ledger_restored_with_its_mark_is_detected_by_the_head(run, path, tmp_path):
    """Nothing on its machine remembers the entry, and another one takes its place."""
    accountant = basic_budget(path)
    spend(accountant)
    files = [path, path.with_name(f"{path.name}.mark")]
    backup = [file.read_bytes() for file in files]
    spend(accountant)
    head = printed_head(accountant.statement())
    for file, content in zip(files, backup, strict=True):
        file.write_bytes(content)
    for _ in range(2):
        assert run("verify", path)[0] == 0
        status, output, errors = run("verify", path, "--head", head)
        assert (status, output) == (1, "")
        assert f"none of its entries has the digest {head[2:]}" in errors
        spend(PrivacyAccountant.open(path))


def test_a_shortened_head_is_refused(run, accountant, path):
    status, _, errors = run("verify", path, "--head", accountant.statement().head[:12])
    assert status == 1
    assert "a digest has 64 letters, and this has 12. Give it whole" in errors


def test_a_cut_off_tail_is_detected_by_the_head(run, accountant, path):
    head = accountant.statement().head
    tamper(path, "DELETE FROM charge WHERE sequence = 2", "DELETE FROM entry WHERE sequence = 2")
    # The chain alone can't know; and the mark, which could, is gone.
    assert run("verify", path)[0] == 0
    status, output, errors = run("verify", path, "--head", head)
    assert (status, output) == (1, "")
    assert "Its end was cut off, or it was written anew" in errors


def test_a_chain_written_anew_is_detected_by_the_head(run, accountant, path):
    """Every digest fits, and the cheaper history is not the one that was signed."""
    head = accountant.statement().head
    first, _ = accountant.entries()
    cheaper = Gaussian(sigma=4000)
    second = PrivacyAccountant.open(path).entries()[1]
    tamper(path, "DELETE FROM charge WHERE sequence > 0", "DELETE FROM entry WHERE sequence > 0")
    forger = PrivacyAccountant.open(path)
    for n_rows in (first.n_rows, second.n_rows):
        forger.release(cheaper, votes(n_rows))
    assert run("verify", path)[0] == 0
    assert run("replay", path)[0] == 0
    assert run("verify", path, "--head", head)[0] == 1
    assert run("verify", path, "--head", forger.statement().head)[0] == 0


def test_an_altered_ledger(run, accountant, path):
    tamper(path, "UPDATE entry SET n_rows = n_rows + 1 WHERE sequence = 2")
    for command in ("show", "verify", "replay", "statement"):
        status, output, errors = run(command, path)
        assert (status, output) == (1, "")
        assert errors.startswith("error: The ledger")
        assert "entry 2 does not follow" in errors
    assert run("export", path, "--json")[0] == 1


def test_replay_prints_every_digit(run, accountant, path):
    status, output, _ = run("replay", path)
    assert status == 0
    for level, spent in accountant.spent().items():
        assert f"{level}: epsilon {spent.epsilon!r} at delta 1e-05, " in output
        assert f"divergence {spent.amount!r} at order {spent.order!r}" in output
    assert "7 answers in 2 releases" in output


def digest(content):
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def test_an_export_can_be_checked_without_this_library(run, accountant, path):
    accountant.release(Pure(epsilon=0.01), votes(1), scope=accountant.scope(0.5), note={"a": 1})
    status, output, _ = run("export", path, "--json")
    assert status == 0
    exported = json.loads(output, parse_constant=pytest.fail)
    previous = exported["genesis"]
    for place, entry in enumerate(exported["entries"], start=1):
        scope_epsilon = entry["scope_epsilon"]
        charges = [
            [
                charge["group"],
                charge["delta"].hex(),
                np.array([float(v) for v in charge["curve"]], "<f8").tobytes().hex(),
            ]
            for charge in entry["charges"]
        ]
        assert entry["digest"] == digest(
            [
                "secretballot entry",
                place,
                entry["time"],
                json.dumps(entry["mechanism"], sort_keys=True),
                entry["n_rows"],
                entry["scope_id"],
                None if scope_epsilon is None else scope_epsilon.hex(),
                int(entry["seeded"]),
                json.dumps(entry["note"], sort_keys=True),
                charges,
                None,  # no reservation
                None,  # no checkpoint
                None,  # no child
                previous,
            ]
        )
        previous = entry["digest"]
    assert (exported["head"], exported["n_entries"]) == (previous, 3)
    assert [float(order) for order in exported["orders"]] == ORDERS.tolist()
    # And its curves give the epsilon that the accountant reports.
    costs = [
        RenyiCost(np.array([float(v) for v in charge["curve"]]), charge["delta"])
        for entry in exported["entries"]
        for charge in entry["charges"]
        if charge["group"] in ("*", "strict")
    ]
    groups = [c["group"] for e in exported["entries"] for c in e["charges"]]
    assert groups == ["*", "lax", "strict", "*"]
    everyone, own = costs[0] + costs[2], costs[1]
    assert float((everyone + own).epsilon(1e-5)) == accountant.spent()["strict"].epsilon
    (strict, lax) = exported["levels"]
    assert (strict["epsilon"], lax["epsilon"], strict["delta"]) == (1.0, 3.0, 1e-5)


def test_export_of_infinite_numbers(run, path):
    spend(basic_budget(path))
    exported = json.loads(run("export", path, "--json")[1], parse_constant=pytest.fail)
    assert exported["levels"][0]["order"] == "inf"
    assert float(exported["orders"][-1]) == math.inf


def test_statement(run, accountant, path):
    statement = accountant.statement()
    assert run("statement", path) == (0, f"{statement}\n", "")
    printed = json.loads(run("statement", path, "--json")[1])
    assert PrivacyStatement.from_dict(printed) == statement
    assert run("statement", path, "--json", "--html")[0] == 2


def test_a_copy_may_be_looked_at(run, accountant, path, tmp_path):
    copy = tmp_path / "copy.ledger"
    shutil.copy(path, copy)
    for command in ("show", "verify"):
        status, output, errors = run(command, copy)
        assert status == 0
        assert accountant._ledger.verify().digest in output
        assert "note: This is a copy" in errors
        assert "released" not in errors
        assert run(command, path)[2] == ""
    assert run("replay", copy)[0] == 0
    assert run("verify", path)[1].startswith("ok: ")
    assert run("verify", copy)[1].startswith("unaltered, but not checked at its end: 2 entries")
    head = accountant.statement().head
    assert run("verify", copy, "--head", head)[1].splitlines()[1].startswith("ok: ")


@pytest.mark.parametrize("command", ["show", "verify", "replay", "statement"])
def test_looking_changes_nothing(run, accountant, path, command):
    content = path.read_bytes()
    assert run(command, path)[0] == 0
    assert path.read_bytes() == content
    assert {each.name for each in path.parent.iterdir()} == {path.name, f"{path.name}.mark"}


def test_no_ledger(run, path):
    status, output, errors = run("show", path)
    assert (status, output) == (1, "")
    assert "does not exist" in errors
    assert not path.exists()
    path.write_text("something else")
    assert "is not a ledger of secretballot" in run("verify", path)[2]


@pytest.mark.usefixtures("accountant")
def test_errors_of_ledgers_advise_no_python(run, path, tmp_path):
    for arguments in (
        ("create", path, "--epsilon", "1", "--delta", "1e-6"),
        ("carve", tmp_path / "missing.ledger", "team", "--epsilon", "0.5"),
    ):
        status, _, errors = run(*arguments)
        assert status == 1
        assert "PrivacyAccountant" not in errors
        assert "ledger=" not in errors


@pytest.mark.parametrize("wrong", [[], ["show"], ["export", "x"], ["nonsense", "x"]])
def test_a_wrong_command(run, wrong):
    status, _, errors = run(*wrong)
    assert status == 2
    assert "usage: secretballot" in errors


WITHOUT = (
    "import sys, runpy; sys.modules['sklearn'] = sys.modules['matplotlib'] = None; "
    "runpy.run_module('secretballot', run_name='__main__', alter_sys=True)"
)


@pytest.mark.usefixtures("accountant")
def test_as_a_module_without_scikit_learn(path):
    done = run_python("-c", WITHOUT, "ledger", "verify", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ok: 2 entries")


def test_modules_of_the_current_folder_are_not_run(tmp_path):
    """`python -m` would look there first; the command and `__main__` do not."""
    for name in ("argparse", "numpy", "sqlite3", "scipy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run from the current folder')\n")
    # An empty part of the path would be the current folder, asked for.
    parts = [str(SOURCE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    path = os.pathsep.join(filter(None, parts))
    script = "import sys; from secretballot.__main__ import main; sys.exit(main())"
    for how in (["-m", "secretballot"], ["-P", "-c", script]):
        environment = {**os.environ, "PYTHONPATH": path}
        done = run_python(*how, "--version", cwd=tmp_path, env=environment)
        assert (done.stdout, done.stderr) == (f"secretballot {__version__}\n", "")
    # The command is that function, by its name.
    scripts = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"secretballot": f"{main.__module__}:{main.__name__}"}


def test_a_reader_that_has_read_enough(path):
    spend(basic_budget(path, epsilon=100.0), 100)  # more than a pipe holds
    script = f"{sys.executable} -m secretballot ledger export --json {path}"
    done = run_program("sh", "-c", f"{script} | head -c 10")
    assert done.stdout.startswith("{")
    assert done.stderr == ""


SPENDING = """
import sys, time
from tests._fakes import basic_budget, spend
accountant = basic_budget(sys.argv[1], epsilon=10_000.0)
spend(accountant)
print("spending", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    spend(accountant)
    time.sleep(0.003)
"""


def test_while_another_process_spends(run, path, tmp_path):
    script = tmp_path / "spending.py"
    script.write_text(SPENDING)

    def counted():
        return int(run("verify", path)[1].split()[1])

    with running_program(sys.executable, script, path, env=python_environment()) as spender:
        assert spender.stdout.readline() == "spending\n"
        counts = []
        for command in ("show", "verify", "replay", "export --json", "statement"):
            status, output, errors = run(*command.split(), path)
            assert (status, errors) == (0, "")
            assert output
            counts.append(counted())
        assert counts == sorted(counts)
        while counted() == counts[0]:  # until it has spent since the first, however slow it is
            assert spender.poll() is None
    assert run("verify", path)[0] == 0
