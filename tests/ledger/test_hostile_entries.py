"""Entries that follow in the chain and hold what secretballot never writes are refused in words."""

import json

import numpy as np
import pytest
from tests._fakes import Pure, basic_budget, votes

from secretballot.__main__ import main
from secretballot.accounting import (
    LedgerError,
    PrivacyAccountant,
    PrivacyStatement,
    RenyiCost,
    replay,
)
from secretballot.ledger import LedgerEntry, Scope, export

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
