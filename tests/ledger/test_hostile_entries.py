"""Entries that follow in the chain and hold what secretballot never writes are refused in words."""

import hashlib
import json
import math
import re
import sqlite3

import numpy as np
import pytest
from tests._fakes import Pure, basic_budget, votes
from tests.ledger._forging import forging

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant, PrivacyStatement, RenyiCost
from secretballot.accounting._report import replay
from secretballot.ledger._budget import Budget, Scope
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._transfer import export
from secretballot.mechanisms import GNMax

COST = RenyiCost.from_epsilon_delta(0.1, 0.0)


def append(path, **words):
    entry = {"mechanism": '{"mechanism": "GNMax"}', "n_rows": 1, "scope_id": None}
    entry |= {"scope_epsilon": None, "seeded": False, "charges": {"everyone": COST}}
    ledger = basic_budget(path)._ledger
    ledger.transact(lambda held: held.append(LedgerEntry(**entry | words)))
    return ledger


@pytest.mark.parametrize("word", ["mechanism", "note"])
@pytest.mark.parametrize(
    "text",
    [
        "not json",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"a": ' + "[" * 100 + "]" * 100 + "}",
        '{"a": ' + "9" * 5_000 + "}",
    ],
    ids=lambda text: text[:12],
)
def test_texts(tmp_path, word, text):
    path = tmp_path / "budget.ledger"
    ledger = append(path, **{word: text})
    for command in ("show", "verify", "replay", "statement"):
        assert main(["ledger", command, str(path)]) == 1
    for read in (PrivacyStatement.of, replay, export):
        with pytest.raises(LedgerError, match="never wrote"):
            read(ledger)
    with pytest.raises(LedgerError, match="never wrote"):
        PrivacyAccountant.open(path)


def test_an_infinite_cap_is_exported(name):
    ledger = append(name, scope_id="fit", scope_epsilon=np.inf)
    text = json.dumps(export(ledger), allow_nan=False)
    assert json.loads(text)["entries"][0]["scope_epsilon"] == "inf"


@pytest.mark.parametrize("epsilon", ["1", -1.0, np.nan, np.inf, {"a": 1.0}])
def test_scopes_made_by_hand_are_checked(tmp_path, epsilon):
    with pytest.raises(ValueError, match="epsilon="):
        basic_budget(tmp_path / "b").release(
            Pure(epsilon=0.1), votes(1), scope=Scope("fit", epsilon)
        )


def test_the_cap_of_a_scope_is_not_raised_by_editing_it():
    accountant = PrivacyAccountant({"a": 10.0, "b": 10.0}, 1e-5, order=np.inf)
    scope = accountant.scope({"a": 0.3, "b": 0.3})
    accountant.release(Pure(epsilon=0.25), votes(1), scope=scope)
    scope.epsilon["a"] = scope.epsilon["b"] = 5.0
    with pytest.raises(ValueError, match="fixed by its first release"):
        accountant.release(Pure(epsilon=0.25), votes(4), scope=scope)
    assert replay(accountant._ledger)["a"].amount == 0.25


def mu2(amount):
    return {"everyone": (0.0, np.array([amount]).tobytes())}


GRANT = json.dumps(
    {
        "group": None,
        "levels": [["everyone", (0.1).hex(), (1e-5).hex(), (0.0).hex(), "gaussian", (0.01).hex()]],
        "sealed": False,
    }
)

#: Children of kinds that were removed, as drafts wrote them.
REMOVED = {
    "a child of a child": ("team/2026", "carve", GRANT),
    "a release of a child of a child": ("team/2026", "spend", ""),
    "a child of a group": (
        "team",
        "carve",
        GRANT.replace('"group": null', '"group": ["region", "north"]'),
    ),
    "a sealed child": ("team", "carve", GRANT.replace("false", "true")),
    "a sealed child that was begun": ("team", "begin", ""),
}

#: What is inserted in place of the second entry, with a right digest.
INSERTED = {
    "a scope without a name": {"scope_id": "", "n_rows": 1, "charges": mu2(1e-6)},
    "the scope of a child's sums": {"scope_id": "/team", "n_rows": 1, "charges": mu2(1e-6)},
    "a place that is a number": {"mechanism": '{"event": "moved", "place": 5}'},
    "a mechanism that is a number": {"mechanism": "5"},
    "a mechanism that is a text": {"mechanism": '"place"'},
    "an hour that no day has": {"changes": {"time": "2026-11-26T24:00:00.000000+00:00"}},
    "a time without an offset": {"changes": {"time": "2026-11-26T20:00:00.000000"}},
    "a time elsewhere": {"changes": {"time": "9999-12-31T23:59:59.000000-23:59"}},
    "a cost below 0": {"n_rows": 1, "charges": mu2(-1.0)},
    "a cost that is none": {"n_rows": 1, "charges": mu2(math.nan)},
    "no cost at all": {"n_rows": 1, "charges": {"everyone": (0.0, b"")}},
    "another currency": {"n_rows": 1, "charges": {"*": (0.0, COST.curve.tobytes())}},
    "plans that are none": {"reservation": ("r", "reserve", "{}")},
    "a plan of a text": {"reservation": ("r", "reserve", '[[["5", null]], 0, 0]')},
    "a plan below 0": {"reservation": ("r", "reserve", "[[[-5, null]], 0, 0]")},
    "a child of nothing": {"child": ("team", "carve", "{}")},
    "a child without a name": {"child": ("", "carve", GRANT), "charges": mu2(0.01)},
    "a child that seems another": {"child": ("/team", "carve", GRANT), "charges": mu2(0.01)},
    **{name: {"child": child, "charges": mu2(0.01)} for name, child in REMOVED.items()},
}


#: By their triggers, as tests/ledger/server/test_inserts.py has it.
REFUSED_BY_SERVERS = [
    words
    for words in INSERTED.values()
    if words.keys() & {"scope_id", "changes"} or words.get("mechanism", "{")[0] != "{"
]


@pytest.mark.parametrize("words", INSERTED.values(), ids=INSERTED)
def test_a_wrong_entry_is_named(name, words, capsys):
    """The owner of a server removes it, before anybody has spent after it."""
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=name)
    accountant.release(GNMax(sigma=400), votes(1))
    if name.startswith("postgresql") and words in REFUSED_BY_SERVERS:
        pytest.skip("a server does not insert it")
    with forging(name) as forger:
        forger.append(**words)
    for use in (
        lambda: PrivacyAccountant.open(name),
        lambda: accountant.release(GNMax(sigma=400), votes(1)),
        accountant.spent,
        accountant.statement,
        accountant._ledger.verify,
    ):
        with pytest.raises(LedgerError, match="entry 2 "):
            use()
    assert main(["ledger", "verify", name]) == 1
    assert "entry 2 " in capsys.readouterr().err


@pytest.mark.parametrize("behind", [0, 70])
@pytest.mark.parametrize("child", REMOVED.values(), ids=REMOVED)
def test_children_of_removed_kinds_are_refused_in_one_sentence(tmp_path, capsys, child, behind):
    path = str(tmp_path / "budget.ledger")
    PrivacyAccountant(1.0, 1e-5, ledger=path)
    with forging(path) as forger:
        forger.append(child=child, charges={} if child[1] == "begin" else mu2(0.01))
        for _ in range(behind):
            forger.append(n_rows=1, charges=mu2(1e-6))
    reason = "entry 1 is of a kind of child budget that was removed (nested, sealed, begun or of "
    message = f"The ledger {path!r} can't be used: {reason}a group), and only the version"
    with pytest.raises(LedgerError, match=re.escape(message)):
        PrivacyAccountant.open(path)
    for command in ("show", "verify", "replay", "statement", "children"):
        assert main(["ledger", command, path]) == 1
        error = capsys.readouterr().err
        assert message in error
        assert error.count(". ") == 0


@pytest.mark.usefixtures("frequent_checkpoints")
def test_removed_kinds_are_refused_at_a_checkpoint_too(tmp_path):
    """Whoever begins at it does not read the entries before."""
    path = str(tmp_path / "budget.ledger")
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    accountant.child("team", epsilon=0.1)
    for _ in range(10):
        accountant.release(GNMax(sigma=400), votes(1))
    with sqlite3.connect(path) as opened:
        ((trigger,),) = opened.execute("SELECT sql FROM sqlite_master WHERE name = 'child_update'")
        opened.execute("DROP TRIGGER child_update")
        opened.execute("UPDATE child SET given = replace(given, 'false', 'true')")
        opened.execute(trigger)
    with pytest.raises(LedgerError, match="entry 1 is of a kind of child budget that was removed"):
        PrivacyAccountant.open(path)


@pytest.mark.parametrize("order", ["gaussian", math.inf])
def test_budgets_of_removed_kinds_are_refused_in_one_sentence(tmp_path, capsys, monkeypatch, order):
    path = str(tmp_path / "budget.ledger")
    with monkeypatch.context() as earlier:
        earlier.setattr(Budget, "is_sensitive", False)
        PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order=order, ledger=path)
    reason = f"it charges what the actual votes cost at order={order!r}, a kind of budget that was"
    message = f"The ledger {path!r} can't be used: {reason} removed, and only the version"
    with pytest.raises(LedgerError, match=re.escape(message)):
        PrivacyAccountant.open(path)
    for command in ("show", "verify", "replay", "statement"):
        assert main(["ledger", command, path]) == 1
        error = capsys.readouterr().err
        assert message in error
        assert error.count(". ") == 0


@pytest.mark.parametrize("n_rows", [-5, 0.5, 2**63 - 1])
def test_rows_that_no_sum_holds(tmp_path, n_rows):
    path = str(tmp_path / "budget.ledger")
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    with forging(path) as forger:
        forger.append(n_rows=n_rows, charges=mu2(1e-6))
    with pytest.raises(LedgerError, match="entry 1 has no number of rows"):
        accountant.spent()


@pytest.mark.parametrize("word", ["NaN", "Infinity", "true"])
def test_caps_that_no_checkpoint_holds(tmp_path, word):
    path = str(tmp_path / "budget.ledger")
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    cap = f'{{"everyone": {word}}}'
    with forging(path) as forger:
        digits = [["everyone", float(json.loads(word)).hex()]]
        forger.append(scope_id="s", changes={"scope_epsilon": cap}, cap_digits=digits)
    with pytest.raises(LedgerError, match="entry 1 has no cap of a scope"):
        accountant.release(GNMax(sigma=400), votes(1))


def test_a_curve_that_is_another_is_not_charged(tmp_path):
    """A release that is charged with it would be recorded, and no reader would take the entry."""
    path = str(tmp_path / "budget.ledger")
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    charged = PrivacyAccountant(1.0, 1e-5)
    charged.release(GNMax(sigma=400), votes(1))
    ((cost),) = charged.entries()[0].charges.values()
    with forging(path) as forger:
        digest = hashlib.sha256(cost.curve.tobytes()).digest()
        forger.insert("curve", 1, digest, np.zeros(1).tobytes())
    with pytest.raises(LedgerError):
        accountant.release(GNMax(sigma=400), votes(1))
    assert accountant.entries() == []
