"""The commands that make a ledger, carve its budget, and price a release."""

import json
import re
from functools import partial

import numpy as np
import pytest
from tests._commands import ledger_command
from tests._fakes import votes

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.mechanisms import GNMax, VectorSum


@pytest.fixture
def run(capsys):
    return partial(ledger_command, capsys)


@pytest.fixture
def accountant(name):
    return PrivacyAccountant(1.0, 1e-5, ledger=name)


def facts(run, *arguments):
    """Run a command with ``--json``; return the object that it prints."""
    status, output, errors = run(*arguments, "--json")
    assert (status, errors) == (0, "")
    return json.loads(output)


def digests(accountant):
    return [entry.digest for entry in accountant.entries()]


def only_level(listed):
    ((level,),) = [listed["levels"]]
    return level


def test_create(run, name):
    options = ("--epsilon", "0.5", "--delta", "1e-6", "--unit", "owner")
    status, output, errors = run("create", name, *options, "--relation", "add_remove")
    assert (status, errors) == (0, "")
    accountant = PrivacyAccountant.open(name)
    assert (accountant.epsilon, accountant.delta) == (0.5, 1e-6)
    assert (accountant.unit, accountant.relation) == ("owner", "add_remove")
    assert accountant.levels[0].order == "gaussian"
    assert f"{accountant.ledger}: a new ledger\n" in output
    status, output, errors = run("create", name, *options)
    assert (status, output) == (1, "")
    assert "exists already" in errors
    assert PrivacyAccountant.open(name).unit == "owner"


def test_accept(run, tmp_path):
    path, copy = tmp_path / "budget.ledger", tmp_path / "copy.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    accountant.release(GNMax(sigma=400.0), votes(1))
    copy.write_bytes(path.read_bytes())
    for cause in ("--moved", "--clock"):
        status, output, errors = run("accept", path, cause)
        assert (status, errors) == (0, "")
        assert "nothing was to be accepted" in output
        status, output, errors = run("accept", copy, cause)
        assert (status, output) == (1, "")
        assert "the original still lies at" in errors or "accept FILE --moved" in errors
    assert len(accountant.entries()) == 1
    path.unlink()
    status, output, errors = run("accept", copy, "--moved")
    assert (status, errors) == (0, "")
    assert f"{copy}: recorded\n" in output
    PrivacyAccountant.open(copy).release(GNMax(sigma=400.0), votes(1))
    for causes in ((), ("--moved", "--clock")):
        assert run("accept", copy, *causes)[0] == 2


def test_create_with_levels_and_an_order(run, tmp_path):
    path = tmp_path / "budget.ledger"
    levels = ("--epsilon", "strict=0.5", "--epsilon", "lax=2")
    assert run("create", path, *levels, "--delta", "1e-5", "--order", "renyi")[0] == 0
    accountant = PrivacyAccountant.open(path)
    assert accountant.epsilon == {"strict": 0.5, "lax": 2.0}
    assert all(level.order > 1 for level in accountant.levels)
    path = tmp_path / "pure.ledger"
    assert run("create", path, "--epsilon", 1, "--delta", 0, "--order", "inf")[0] == 0
    assert PrivacyAccountant.open(path).levels[0].order == np.inf


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--epsilon", "x", "--delta", "1e-5"), 2, "'x' is not a number"),
        (("--epsilon", "1", "--epsilon", "a=1", "--delta", "1e-5"), 2, "LEVEL=E once for each"),
        (("--epsilon", "a=1", "--epsilon", "1", "--delta", "1e-5"), 2, "LEVEL=E once for each"),
        (("--epsilon", "a=1", "--epsilon", "a=2", "--delta", "1e-5"), 2, "LEVEL=E once for each"),
        (("--epsilon", "1"), 2, "--delta"),
        (("--epsilon", "1", "--delta", "1e-5", "--order", "x"), 2, "none of gaussian, renyi"),
        (("--epsilon", "-1", "--delta", "1e-5"), 1, "epsilon"),
        (("--epsilon", "1", "--delta", "2"), 1, "--delta 2.0"),
    ],
)
def test_create_refuses(run, tmp_path, arguments, status, message):
    path = tmp_path / "budget.ledger"
    done = run("create", path, *arguments)
    assert done[:2] == (status, "")
    assert message in done[2]
    assert not path.exists()


def test_a_weak_budget_is_a_note(run, tmp_path):
    path = tmp_path / "budget.ledger"
    status, _, errors = run("create", path, "--epsilon", 20, "--delta", "1e-5")
    assert status == 0
    assert errors.startswith("note: --epsilon 20 is a weak guarantee")


def test_children_are_carved_listed_and_closed(run, name, accountant):
    assert run("children", name) == (0, "no children\n", "")
    assert facts(run, "children", name)["children"] == []
    assert run("carve", name, "oncology", "--epsilon", 0.3)[0] == 0
    assert run("carve", name, "cardiology", "--epsilon", 0.5)[0] == 0
    team = accountant.child("cardiology")
    team.release(GNMax(sigma=100.0), votes(1))

    status, output, errors = run("children", name)
    assert (status, errors) == (0, "")
    rows = [row.split() for row in output.splitlines()[2:]]
    share = f"{team.spent().share:.1%}"
    assert rows == [
        ["cardiology", "everyone", "0.5", share, "1", "open"],
        ["oncology", "everyone", "0.3", "0.0%", "0", "open"],
    ]
    listed = {child["name"]: child for child in facts(run, "children", name)["children"]}
    assert list(listed) == ["cardiology", "oncology"]
    assert only_level(listed["cardiology"]) == {
        "level": "everyone",
        "epsilon": 0.5,
        "delta": accountant.delta,
        "share_spent": team.spent().share,
    }

    left = accountant.remaining().share
    for child in listed:
        assert run("close", name, child)[0] == 0
        assert "closed" in run("children", name)[1]
    assert accountant.remaining().share > left
    states = [child["state"] for child in facts(run, "children", name)["children"]]
    assert states == ["closed"] * 2
    # What was drawn never comes back.
    assert accountant.spent().amount == pytest.approx(team.spent().amount)
    assert team.spent().amount > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("carve", "large", "--epsilon", 2), "does not fit what is left"),
        (("carve", "team", "--epsilon", 0.1), "is a child already"),
        (("carve", "a/b", "--epsilon", 0.1), "without '/'"),
        (("close", "nobody"), "no child budget 'nobody'"),
        (("close", ""), "the whole one"),
    ],
)
def test_child_commands_refuse(run, tmp_path, arguments, message):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    accountant.child("team", epsilon=0.2)
    before = digests(accountant)
    command, *rest = arguments
    status, _, errors = run(command, path, *rest)
    assert status == 1
    assert message in errors
    assert digests(accountant) == before


@pytest.mark.parametrize("order", ["gaussian", "inf", "4"])
def test_a_part_of_the_whole_budget_is_carved(run, tmp_path, order):
    path = tmp_path / "budget.ledger"
    amount = ("--epsilon", 4, "--delta", "1e-5", "--order", order)
    assert run("create", path, *amount)[0] == 0
    for quarter in range(4):
        asked = ("--share", "25%") if quarter % 2 else ("--parts", 4)
        assert run("carve", path, f"quarter-{quarter}", *asked)[0] == 0
    children = PrivacyAccountant.open(path).children()
    epsilons = [child.epsilon for child in children.values()]
    assert epsilons == pytest.approx([epsilons[0]] * 4)
    assert PrivacyAccountant.open(path).remaining().share == pytest.approx(0, abs=1e-8)
    status, _, errors = run("carve", path, "one-more", "--share", "0.25")
    assert status == 1
    assert "does not fit what is left" in errors


def test_quarters_of_a_year_are_not_a_quarter_of_epsilon(run, name, accountant):
    assert run("carve", name, "q1", "--parts", 4)[0] == 0
    assert accountant.child("q1").epsilon == pytest.approx(0.4687, abs=1e-4)
    assert accountant.remaining().share == pytest.approx(0.75)


def test_a_part_of_a_budget_with_levels(run, tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant({"low": 1.0, "high": 3.0}, 1e-5, ledger=path)
    assert run("carve", path, "team", "--share", "10%")[0] == 0
    shares = [level.share for level in accountant.remaining().values()]
    assert shares == pytest.approx([0.9, 0.9])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--share", "120%"), "'120%' is no part of the budget: give a percentage up to 100%"),
        (("--share", "25 percent"), "is no part of the budget"),
        (("--share", "0"), "is no part of the budget"),
        (("--parts", "0"), "'0' is not a number from 1 on"),
        (("--parts", "2", "--share", "50%"), "not allowed with argument"),
        ((), "one of the arguments --epsilon --share --parts is required"),
    ],
)
def test_parts_that_are_none(run, name, asked, message):
    status, _, errors = run("carve", name, "team", *asked)
    assert status == 2
    assert message in errors


PRICE = ("price", "--mechanism", "GNMax")


@pytest.mark.parametrize(
    "arguments",
    [
        ("carve", "team", "--epsilon", 0.1),
        ("carve", "large", "--epsilon", 20),
        ("carve", "negative", "--epsilon", -1),
        ("carve", "tiny", "--epsilon", 1e-80),
        ("carve", "a/b", "--epsilon", 0.1),
        ("carve", "levels", "--epsilon", "low=0.1"),
        ("close", ""),
        (*PRICE, "--sigma", -1),
        (*PRICE, "--sigma", 0.001),
        (*PRICE, "--sigma", 40, "--set", "weight=0"),
    ],
    ids=str,
)
def test_errors_are_in_the_words_of_the_command_line(run, tmp_path, arguments):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    accountant.child("team", epsilon=0.2)
    command, *rest = arguments
    status, _, errors = run(command, path, *rest)
    assert status in (1, 2)
    # Neither arguments nor functions of Python.
    assert not re.search(r"\b[a-z_]+=(?!E\b)\S|\(\)|accountant|None|True", errors), errors


@pytest.mark.parametrize(
    "asked",
    [
        ("--epsilon", -1, "--delta", "1e-5"),
        ("--epsilon", 1, "--delta", 2),
        ("--epsilon", 1, "--delta", 0),
        ("--epsilon", 1, "--delta", "1e-5", "--order", -3),
        ("--epsilon", 0.001, "--delta", "1e-9", "--order", "renyi"),
    ],
    ids=str,
)
def test_errors_of_new_ledgers_are_in_its_words_too(run, tmp_path, asked):
    status, _, errors = run("create", tmp_path / "budget.ledger", *asked)
    assert status in (1, 2)
    assert not re.search(r"\b[a-z_]+=(?!E\b)\S|\(\)|accountant|None|True", errors), errors


def test_price(run, name, accountant):
    accountant.release(GNMax(sigma=60.0), votes(3))
    asked = ("price", name, "--mechanism", "GNMax", "--sigma", 40, "--rows", 5, "--columns", 2)
    priced = facts(run, *asked)
    share, left = accountant.price(GNMax(sigma=40), 5, n_columns=2), accountant.remaining().share
    assert priced["fits"] is True
    assert priced["mechanism"]["mechanism"] == "GNMax"
    assert only_level(priced) == {
        "level": "everyone",
        "asked": share,
        "spent": 1 - left,
        "left": left,
        "left_after": left - share,
    }
    status, output, errors = run(*asked)
    assert (status, errors) == (0, "")
    row = ["everyone", *(f"{each:.1%}" for each in (share, 1 - left, left, left - share))]
    assert output.splitlines()[-1].split() == row
    assert len(accountant.entries()) == 1
    # That is what it does cost.
    accountant.release(GNMax(sigma=40), votes(5))
    assert left - accountant.remaining().share == pytest.approx(share, rel=1e-6)


def test_price_of_what_does_not_fit(run, name, accountant):
    accountant.release(GNMax(sigma=60.0), votes(3))
    asked = ("price", name, "--mechanism", "GNMax", "--sigma", 2, "--rows", 50)
    status, output, errors = run(*asked, "--json")
    assert status == 1
    assert errors.startswith("error: ")
    assert "is left" in errors
    level, left = only_level(json.loads(output)), accountant.remaining().share
    assert level["asked"] == accountant.price(GNMax(sigma=2), 50, check_left=False) > 1
    assert (level["spent"], level["left"], level["left_after"]) == (1 - left, left, None)
    assert json.loads(output)["fits"] is False
    status, output, _ = run(*asked)
    assert status == 1
    assert output.splitlines()[-1].endswith("does not fit")
    assert len(accountant.entries()) == 1


def test_price_for_a_child_by_other_parameters(run, tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, relation="add_remove", ledger=path)
    child = accountant.child("team", epsilon=0.5)
    asked = ("price", path, "--mechanism", "VectorSum", "--sigma", 30, "--set", "norm=2")
    share = only_level(facts(run, *asked, "--child", "team"))["asked"]
    mechanism = VectorSum(sigma=30, norm=2, relation="add_remove")
    assert share == child.price(mechanism) > accountant.price(mechanism)


def test_figures_that_depend_on_the_data_say_so(run, tmp_path):
    path = tmp_path / "budget.ledger"
    with pytest.warns(PrivacyLeakWarning):
        PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order="renyi", ledger=path)
    asked = ("--mechanism", "GNMax", "--sigma", 40, "--json")
    status, output, errors = run("price", path, *asked)
    assert status == 0
    assert json.loads(output)["sensitive"] is True
    assert "they are sensitive themselves" in errors


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--mechanism", "Laplace"), 1, "none of BestOfCounts"),
        (("--mechanism", "GNMax"), 1, "GNMax needs sigma"),
        (("--mechanism", "GNMax", "--sigma", 4, "--set", "tau=2"), 1, "GNMax has no tau"),
        (("--mechanism", "GNMax", "--sigma", -4), 1, "sigma"),
        (("--mechanism", "GNMax", "--sigma", "x"), 2, "'x' is not a number"),
        (("--mechanism", "GNMax", "--sigma", 4, "--rows", 0), 2, "'0' is not a number from 1"),
        (("--mechanism", "RoundRobin", "--set", "first_row=1"), 1, "RoundRobin needs mechanism"),
    ],
)
def test_price_refuses(run, tmp_path, arguments, status, message):
    path = tmp_path / "budget.ledger"
    PrivacyAccountant(1.0, 1e-5, ledger=path)
    done = run("price", path, *arguments)
    assert done[:2] == (status, "")
    assert message in done[2]


def test_show_and_verify_as_json(run, name, accountant):
    accountant.release(GNMax(sigma=60.0), votes(3))
    child = accountant.child("team", epsilon=0.2)
    child.release(GNMax(sigma=200.0), votes(2))
    shown, spent = facts(run, "show", name), accountant.spent()
    assert only_level(shown)["share_spent"] == spent.share
    assert only_level(shown)["epsilon_so_far"] == spent.epsilon
    assert [entry["n_rows"] for entry in shown["entries"]] == [3, 0, 2]
    assert [entry["child"] for entry in shown["entries"]] == [None, "team", "team"]
    assert shown["entries"][-1]["shares_after"] == {"everyone": spent.share}
    assert [e["entry"] for e in facts(run, "show", name, "--last", 1)["entries"]] == [3]
    head = accountant.entries()[0].digest
    verified = facts(run, "verify", name, "--head", head)
    assert verified["unaltered"] is verified["complete"] is True
    assert (verified["n_entries"], verified["head"]) == (3, shown["head"])
    assert verified["entry_of_statement"] == 1
    assert "'team': GNMax(" in run("show", name)[1]
