"""A ledger that has grown: what it adds up to is in it, checked, and read from there on."""

import dataclasses
import pickle
import re
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from tests._fakes import Grouped, Pure, basic_budget, spend, tamper, votes

from secretballot.__main__ import main
from secretballot.accounting import BudgetExceededError, LedgerError, PrivacyAccountant
from secretballot.ledger import _ledger as ledger
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._totals import Totals

pytestmark = pytest.mark.usefixtures("frequent_checkpoints")
EVERY = 4


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def digests(monkeypatch):
    """The numbers of the entries whose digests are computed."""
    computed, real = [], LedgerEntry.expected_digest

    def counted(self):
        computed.append(self.sequence)
        return real(self)

    monkeypatch.setattr(LedgerEntry, "expected_digest", counted)
    return computed


def fresh(accountant):
    """A handle that has read nothing yet."""
    return pickle.loads(pickle.dumps(accountant))


def plain(totals, scopes):
    sums = {name: totals.scopes[name].charges for name in scopes}
    return {
        (where, group): (cost.curve.tolist(), float(cost.delta))
        for where, charges in {"": totals.charges, **sums}.items()
        for group, cost in charges.items()
    }


def test_totals_that_were_stored_are_the_sums_to_the_last_digit(name):
    accountant = PrivacyAccountant({"a": 50.0, "b": 80.0}, 1e-5, ledger=name, order="renyi")
    scopes = [accountant.scope(), accountant.scope({"a": 20.0, "b": 30.0}), None]
    rng = np.random.default_rng(0)
    for _ in range(5 * EVERY):
        scope = scopes[rng.integers(3)]
        groups = ("*", "a/x/0", f"a/x/{rng.integers(3)}", "b")
        rates = {group: rng.random() / 1e3 for group in groups}
        accountant.release(Grouped(rates=rates), votes(1), scope=scope)
        added = Totals(digest=accountant._ledger.genesis, levels=accountant.levels)
        for entry in accountant._ledger.entries():
            added = added.after(entry)
        reader = fresh(accountant)._ledger
        stored = reader.totals()
        assert plain(stored, []) == plain(added, [])
        for scope_id, sums in added.scopes.items():
            stored = reader.totals(scope_id)
            assert plain(stored, [scope_id]) == plain(added, [scope_id])
            assert stored.scopes[scope_id].epsilon == sums.epsilon
        assert (stored.n_rows, stored.n_releases) == (added.n_rows, added.n_releases)
    assert [entry.checkpoint is not None for entry in accountant.entries()] == 5 * [
        *(EVERY - 1) * [False], True
    ]  # fmt: skip
    # And a handle that has been left behind by far.
    assert accountant.spent()["a"].amount == PrivacyAccountant.open(name).spent()["a"].amount


def test_a_new_handle_reads_from_the_last_checkpoint(name, digests, capsys):
    accountant = basic_budget(name, epsilon=1000.0)
    spend(accountant, 10 * EVERY + 2)
    last = {10 * EVERY, 10 * EVERY + 1, 10 * EVERY + 2}
    for use in (
        lambda: PrivacyAccountant.open(name),
        lambda: spend(fresh(accountant)),
        lambda: main(["ledger", "show", name, "--last", "3"]),
    ):
        digests.clear()
        use()
        assert {10 * EVERY} <= set(digests) <= last | {10 * EVERY + 3}
    assert capsys.readouterr().out.count("Pure") == 3
    for command in ("verify", "replay", "statement", "show"):
        digests.clear()
        assert main(["ledger", command, name]) == 0
        first = digests.index(1)
        # One walk over all of them.
        assert digests[first:] == list(range(1, 10 * EVERY + 4))


def test_opening_checks_the_end_and_verify_everything(name):
    spend(basic_budget(name), 2 * EVERY + 1)
    tamper(name, "UPDATE entry SET n_rows = 9 WHERE sequence = 2")
    accountant = PrivacyAccountant.open(name)
    spend(accountant)
    for check in (accountant._ledger.verify, accountant.statement, accountant.entries):
        with pytest.raises(LedgerError, match="entry 2 does not follow"):
            check()


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE total SET delta = 1e-9 WHERE sequence = {2 * EVERY}",
        f"DELETE FROM total WHERE sequence = {2 * EVERY}",
        f"UPDATE checkpoint SET n_rows = 1 WHERE sequence = {2 * EVERY}",
        f"UPDATE checkpoint SET digest = 'x' WHERE sequence = {2 * EVERY}",
        f"DELETE FROM checkpoint WHERE sequence = {2 * EVERY}",
        "DELETE FROM curve",
        f"UPDATE entry SET digest = 'x' WHERE sequence = {2 * EVERY}",
    ],
)
def test_totals_that_were_altered_are_detected(name, statement):
    spend(basic_budget(name), 2 * EVERY + 1)
    tamper(name, statement)
    with pytest.raises(LedgerError, match=re.escape(name)):
        PrivacyAccountant.open(name)


def test_an_alteration_is_an_error_each_time(path):
    """A handle that reads on does not get past it by asking again."""
    accountant = basic_budget(path)
    spend(accountant, EVERY - 1)
    other = fresh(accountant)
    assert other.spent().n_rows == EVERY - 1
    spend(accountant, 2)
    tamper(
        path,
        f"UPDATE checkpoint SET digest = 'x' WHERE sequence = {EVERY}",
        f"UPDATE entry SET digest = '{forged_checkpoint(path)}' WHERE sequence = {EVERY}",
    )
    path.with_name("budget.ledger.mark").touch()  # so that it is looked at twice
    for use in (other.spent, other.spent, lambda: spend(other), other.spent):
        with pytest.raises(LedgerError, match=f"stored with entry {EVERY} are not the sums"):
            use()


def forged_checkpoint(path):
    """The digest of an entry whose checkpoint says something else."""
    entry = PrivacyAccountant.open(path).entries()[EVERY - 1]
    forged = dataclasses.replace(entry, checkpoint="x")
    return forged.chained(forged.sequence, forged.time, forged.previous).digest


def test_totals_of_an_old_checkpoint_that_were_altered(name):
    """They are read again if more is asked of a scope, and by `verify`."""
    accountant = basic_budget(name, epsilon=100.0)
    scope = accountant.scope(1.0)
    accountant.release(Pure(epsilon=0.25), votes(4), scope=scope)
    spend(accountant, 3 * EVERY)
    with pytest.raises(BudgetExceededError, match="this part of the run"):
        fresh(accountant).release(Pure(epsilon=0.25), votes(1), scope=scope)
    tamper(name, f"UPDATE total SET delta = 1e-9 WHERE sequence = {EVERY}")
    other = PrivacyAccountant.open(name)
    spend(other)
    for check in (
        lambda: other.release(Pure(epsilon=0.25), votes(1), scope=scope),
        lambda: fresh(accountant).release(Pure(epsilon=0.25), votes(1), scope=scope),
    ):
        with pytest.raises(LedgerError, match=f"stored with entry {EVERY} are not the sums"):
            check()


def test_a_walk_keeps_nobody_from_spending(name, monkeypatch):
    monkeypatch.setattr(ledger, "BATCH", 3)
    monkeypatch.setattr("secretballot.ledger._guard.BUSY_TIMEOUT", 0.0)
    accountant = basic_budget(name, epsilon=100.0)
    scope = accountant.scope()
    spend(accountant, 7)
    accountant.release(Pure(epsilon=0.25), votes(1), scope=scope)
    other, walk, seen = fresh(accountant), accountant._ledger.walk(), []
    for entry in walk:
        seen.append(entry.sequence)
        other.release(Pure(epsilon=0.25), votes(1), scope=scope)
    # It ends where the ledger ended when it began.
    assert seen == list(range(1, 9))
    assert walk.totals.sequence == 8
    assert accountant._ledger.verify().n_entries == 16
    within = accountant._ledger.totals(scope.id).scopes[scope.id]
    assert within.charges["*"].curve[-1] == 9 * 0.25


def test_a_curve_is_kept_once(path):
    accountant = basic_budget(path, epsilon=1000.0)
    spend(accountant, 20 * EVERY)
    for _ in range(EVERY):
        accountant.release(Pure(epsilon=0.25), votes(1), scope=accountant.scope())
    with closing(sqlite3.connect(path)) as opened:
        (curves,) = opened.execute("SELECT count(*) FROM curve").fetchone()
        (pages,) = opened.execute("SELECT count(*) FROM charge").fetchone()
    # One for all releases, and for all scopes; one for the sums at each checkpoint.
    assert curves == 1 + 21
    assert pages == 21 * EVERY
