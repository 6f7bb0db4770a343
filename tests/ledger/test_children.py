"""Child budgets in a ledger, on both stores: sums, checkpoints, replay, and processes."""

import pickle
import sqlite3
from dataclasses import replace

import pytest
from joblib import Parallel, delayed

from secretballot.accounting import BudgetExceededError, LedgerError, PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.ledger._entry import Grant
from secretballot.ledger._ledger import ChildLedger, Ledger
from secretballot.mechanisms import GNMax

ROW = GNMax(sigma=400.0)


@pytest.mark.usefixtures("frequent_checkpoints")
def test_sums_are_the_same_from_checkpoints(name):
    whole = PrivacyAccountant(1.0, 1e-5, ledger=name)
    teams = [whole.child(f"team {number}", epsilon=0.4) for number in range(3)]
    idle = whole.child("idle", epsilon=0.1)
    for number in range(14):
        teams[number % 2].release(ROW, [[20, 10]])
    teams[1].close()
    for _ in range(8):
        teams[0].release(ROW, [[20, 10]])
    reopened = PrivacyAccountant.open(name)
    for team, before in zip(reopened.children().values(), [*teams, idle], strict=True):
        assert team.spent().amount == before.spent().amount
        assert team.spent().n_releases == before.spent().n_releases
    assert [team.spent().n_releases for team in teams] == [15, 7, 0]
    ledger = Ledger.open(name)
    assert ledger.verify().n_entries == 4 + 22 + 1
    assert replay(ledger)["everyone"].amount == pytest.approx(whole.spent().amount)
    assert len(teams[0].entries()) == 15
    with pytest.raises(ValueError, match="was closed"):
        reopened.child("team 1").release(ROW, [[20, 10]])


def carve(name, child):
    try:
        PrivacyAccountant.open(name).child(child, epsilon=0.5)
    except BudgetExceededError:
        return "full"
    except ValueError:
        return "taken"
    return "made"


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        (["one"] * 4, ["made", "taken", "taken", "taken"]),
        (list("abcde"), ["full"] * 2 + ["made"] * 3),
    ],
    ids=["one name", "names"],
)
def test_processes_that_carve_at_once(name, children, expected):
    PrivacyAccountant(1.0, 1e-5, ledger=name)
    made = Parallel(n_jobs=4)(delayed(carve)(name, child) for child in children)
    assert sorted(made) == expected
    assert len(PrivacyAccountant.open(name).children()) == made.count("made")
    replay(Ledger.open(name))


def test_replay_finds_a_child_that_overspent(name, monkeypatch):
    whole = PrivacyAccountant(1.0, 1e-5, ledger=name)

    def budget(self, whole):
        return replace(whole, levels=(replace(self.levels[0], amount=1.0),))

    monkeypatch.setattr(Grant, "budget", budget)
    whole.child("team", epsilon=0.5).release(GNMax(sigma=5.0), [[20, 10]])
    monkeypatch.undo()
    ledger = Ledger.open(name)
    ledger.verify()
    with pytest.raises(LedgerError, match="spends more than"):
        replay(ledger)


def test_a_handle_with_other_limits_is_refused(name):
    team = PrivacyAccountant(1.0, 1e-5, ledger=name).child("team", epsilon=0.5)
    larger = replace(team._ledger.budget.levels[0], amount=1.0)
    team._ledger.budget = replace(team._ledger.budget, levels=(larger,))
    with pytest.raises(LedgerError, match="has other limits than this handle"):
        pickle.loads(pickle.dumps(team)).release(GNMax(sigma=5.0), [[20, 10]])
    assert len(PrivacyAccountant.open(name).entries()) == 1


def test_a_changed_row_of_a_child_is_found(tmp_path):
    whole = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "file.ledger")
    team = whole.child("team", epsilon=0.5)
    team.release(ROW, [[20, 10]])
    assert isinstance(team._ledger, ChildLedger)
    with sqlite3.connect(tmp_path / "file.ledger") as opened:
        trigger = opened.execute("SELECT sql FROM sqlite_master WHERE name = 'child_update'")
        (text,) = trigger.fetchone()
        opened.execute("DROP TRIGGER child_update")
        opened.execute("UPDATE child SET path = 'other' WHERE event = 'spend'")
        opened.execute(text)
    opened.close()
    with pytest.raises(LedgerError):
        PrivacyAccountant.open(tmp_path / "file.ledger", accept="moved")
