"""Adding a ledger up again: the same epsilon to the last digit, and no entry that overspent."""

import dataclasses
import hashlib
import math

import numpy as np
import pytest
from tests._fakes import Gaussian, Grouped, Pure, basic_budget, spend, tamper, votes

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.ledger._ledger import Ledger
from secretballot.mechanisms import ConfidentGNMax, GNMax


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def test_replay_reproduces_epsilon_exactly(path):
    accountant = PrivacyAccountant({"strict": 2.0, "lax": 5.0}, 1e-5, ledger=path, order="renyi")
    counts = np.random.default_rng(0).multinomial(250, [0.5, 0.3, 0.2], size=40)
    accountant.release(GNMax(sigma=90.0), counts)
    accountant.release(Grouped(rates={"strict": 1e-4 / 3, "lax": 7e-4 / 9}), votes(7))
    vote = ConfidentGNMax(sigma=70.0, threshold=150, sigma_threshold=100.0)
    accountant.release(vote, counts, scope=accountant.scope(1.5))
    # Members take the largest of their charges.
    accountant.release(
        Grouped(rates={"strict": 1e-5, "lax/x/one": 1e-4 / 7, "lax/x/two": 1e-4 / 3}), votes(3)
    )
    again = replay(Ledger.open(path))
    spent = accountant.spent()
    for level in ("strict", "lax"):
        assert again[level].epsilon == spent[level].epsilon > 0
        assert again[level].amount == spent[level].amount
        assert again[level].n_rows == spent[level].n_rows
        np.testing.assert_array_equal(again[level].cost.curve, spent[level].cost.curve)
    assert again["strict"].epsilon != again["lax"].epsilon


def test_history_has_every_release(path):
    accountant = basic_budget(path)
    assert [state["everyone"].epsilon for state in accountant.history()] == [0.0]
    spend(accountant, 3)
    history = accountant.history()
    assert [state["everyone"].epsilon for state in history] == [0.0, 0.25, 0.5, 0.75]
    assert [state["everyone"].n_rows for state in history] == [0, 1, 2, 3]
    assert history[-1]["everyone"].share == accountant.spent().share
    levels = PrivacyAccountant({"strict": 1.0, "lax": 3.0}, 1e-5, order="renyi")
    levels.release(Gaussian(sigma=40), votes(2))
    assert {name: each.share for name, each in levels.history()[-1].items()} == {
        name: each.share for name, each in levels.spent().items()
    }


def forge(path, **changes):
    """Write another last entry, with a digest to match: the chain is as it should be."""
    *_, last = PrivacyAccountant.open(path).entries()
    forged = dataclasses.replace(last, **changes).chained(last.sequence, last.time, last.previous)
    (cost,) = forged.charges.values()
    cap = "NULL" if forged.scope_epsilon is None else forged.scope_epsilon
    curve = cost.curve.astype("<f8").tobytes()
    number = hashlib.sha256(curve).hexdigest()
    tamper(
        path,
        f"INSERT OR IGNORE INTO curve VALUES (NULL, x'{number}', x'{curve.hex()}')",
        f"UPDATE entry SET digest = '{forged.digest}', scope_epsilon = {cap} "
        f"WHERE sequence = {last.sequence}",
        f"UPDATE charge SET curve = (SELECT number FROM curve WHERE digest = x'{number}'), "
        f"delta = {float(cost.delta)!r} WHERE sequence = {last.sequence}",
    )


def overspent(path, match):
    ledger = Ledger.open(path)
    ledger.verify()  # the chain is sound
    with pytest.raises(LedgerError, match=match):
        replay(ledger)


def test_an_entry_over_the_budget(path):
    spend(basic_budget(path), 3)
    assert replay(Ledger.open(path))["everyone"].share == 0.1875
    forge(path, charges=Pure(epsilon=3.75).row_cost())
    overspent(path, "entry 3 spends more than the budget allows for the level 'everyone'")


def test_an_entry_over_the_delta(path):
    accountant = basic_budget(path)
    accountant.release(Pure(epsilon=0.25, delta=9e-6), votes(1))
    spend(accountant)
    replay(Ledger.open(path))
    forge(path, charges=Pure(epsilon=0.25, delta=2e-6).row_cost())
    overspent(path, "entry 2 spends more than the budget allows")


def test_an_entry_over_the_cap_of_its_scope(path):
    accountant = basic_budget(path)
    scope = accountant.scope(0.5)
    accountant.release(Pure(epsilon=0.25), votes(2), scope=scope)
    accountant.release(Pure(epsilon=0.25), votes(1), scope=accountant.scope(0.25))
    replay(Ledger.open(path))
    forge(path, charges=Pure(epsilon=0.375).row_cost())
    overspent(path, "entry 2 spends more than its scope allows")


def test_an_entry_that_changes_the_cap_of_its_scope(path):
    accountant = basic_budget(path)
    scope = accountant.scope(0.5)
    for _ in range(2):
        accountant.release(Pure(epsilon=0.25), votes(1), scope=scope)
    forge(path, scope_epsilon=3.0)
    overspent(path, "entry 2 changes the cap of its scope")


def test_a_budget_used_up_to_the_last_row_is_not_overspent(path):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path, order="renyi")
    mechanism = accountant.calibrate(GNMax, n_rows=1000, n_columns=3)
    accountant.release(mechanism, np.tile([30, 20, 10], (1000, 1)))
    assert accountant.spent().share > 1 - 1e-5
    assert replay(Ledger.open(path))["everyone"].n_rows == 1000
    assert math.isfinite(accountant.spent().epsilon)
