"""Ledgers of the format before, of other machines, and of versions that let them overspend."""

import contextlib
import dataclasses
import gzip
import math
import sqlite3
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests._fakes import Grouped, gaussian, spend, tamper, votes

from secretballot._cli import main
from secretballot.accounting import (
    ORDERS,
    BudgetExceededError,
    LedgerError,
    PrivacyAccountant,
    PrivacyLeakWarning,
    RenyiCost,
)
from secretballot.accounting._replay import replay
from secretballot.ledger import Budget, Ledger, LedgerEntry, Scope, Transaction, budget_levels
from secretballot.ledger import _header as header
from secretballot.ledger import _ledger as ledger
from secretballot.mechanisms import GNMax, RoundRobin

OLD = Path(__file__).parent / "old"
VOTES = [[90, 10], [20, 80], [55, 45], [70, 30]]


@pytest.fixture
def old(tmp_path):
    """Return a copy of a ledger that was written in format 2, 3, 4 or 5."""

    def copied(name):
        path = tmp_path / "old.ledger"
        (written,) = OLD.glob(f"{name}.format*.gz")
        path.write_bytes(gzip.decompress(written.read_bytes()))
        return path

    return copied


def read(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as opened:
        return opened.execute(statement).fetchone()[0]


def version(path):
    return read(path, "PRAGMA user_version")


@pytest.mark.parametrize("name", ["levels", "plan", "checkpoint", "reservation"])
def test_a_ledger_of_the_format_before_goes_on(old, name, capsys):
    path = old(name)
    content = path.read_bytes()
    # It can be looked at, which changes nothing.
    for command in ("show", "verify", "replay", "statement"):
        assert main(["ledger", command, str(path)]) == 0
    assert path.read_bytes() == content
    assert ("TakingTurns(" in capsys.readouterr().out) == (name == "levels")
    with pytest.raises(LedgerError, match="it is a copy"):
        PrivacyAccountant.open(path)
    accountant = PrivacyAccountant.open(path, moved=True)
    before = accountant.spent()
    n_entries = len(accountant.entries())
    assert version(path) == 5
    accountant.release(GNMax(sigma=400), VOTES[:1])
    again = PrivacyAccountant.open(path)
    entries = again.entries()
    assert len(entries) == n_entries + 1
    assert [entry.sequence for entry in entries] == list(range(1, n_entries + 2))
    if name == "levels":
        assert '"mechanism": "TakingTurns"' in entries[1].mechanism
        assert set(entries[1].charges) == {"generous", "strict/0", "strict/1"}
        assert all(again.spent()[level].amount > before[level].amount for level in before)
        assert "TakingTurns" in str(again.statement())
    elif name == "checkpoint":
        assert n_entries == 68  # the move is one
        assert entries[63].checkpoint is not None
        assert again.spent()["strict"].amount > before["strict"].amount > 0
    elif name == "reservation":
        (number,) = {entry.reservation.id for entry in entries if entry.reservation}
        before_it = again.resume(number, GNMax(sigma=400))
        again.release(GNMax(sigma=400), VOTES[:1], reservation=before_it)
        assert again.reserved(before_it).rows_left == 1
        assert again.spent().amount > before.amount > 0
    else:
        assert again.levels[0].order == math.inf
        assert again.spent().amount > before.amount > 0
    # What newer versions add can be done in it, but for what its budget is not for.
    assert list(again._ledger.private_records()) == []
    with pytest.raises(ValueError, match="sanitized"):
        again._ledger.transact(lambda opened: opened.append(entries[0], private="secret"))
    reservation = again.reserve(GNMax(sigma=400), 2, n_columns=2)
    again.release(GNMax(sigma=400), VOTES[:1], reservation=reservation)
    again.settle(reservation)
    assert replay(again._ledger).keys() == {level.name for level in again.levels}


def test_parts_whose_division_was_not_recorded_add_up(old):
    """Who was in which part is not known, so each release had people of its own."""
    path = old("turns")
    with pytest.raises(LedgerError, match="it is a copy"):
        PrivacyAccountant.open(path)
    accountant = PrivacyAccountant.open(path, moved=True)
    order, entries = accountant.levels[0].order, accountant.entries()
    assert any(entry.checkpoint for entry in entries)

    def amount(charges, combine):
        parts = [float(cost.at(order)) for name, cost in charges.items() if "strict/" in name]
        return combine(parts, default=0.0) + float(charges.get("*", RenyiCost.zero()).at(order))

    truth = sum(
        -amount(each.charges, min) if each.is_refund else amount(each.charges, max)
        for each in entries
    )
    assert accountant.spent()["strict"].amount == pytest.approx(truth)
    # Earlier versions read the most of all parts of one name.
    n_turns = sum("strict/0" in entry.charges for entry in entries)
    assert n_turns == 8
    # It goes on, beyond the next sums that are stored, in whichever way it is read.
    (scope,) = {each.scope_id for each in entries if each.scope_id}
    cap = next(each.scope_epsilon for each in entries if each.scope_id)
    within = Scope(scope, cap, accountant._ledger.genesis)
    turns = RoundRobin(mechanism=GNMax(sigma=100.0), turns={"strict": (1, 2), "generous": (1, 1)})
    row = float(turns.max_cost(2)[turns.part("strict", 0)].at(order))
    n_releases = 70
    for _ in range(n_releases):
        accountant.release(turns, VOTES[:1], scope=within)
    paid = truth + n_releases * row
    for handle in (accountant, PrivacyAccountant.open(path)):
        assert handle.spent()["strict"].amount == pytest.approx(paid)
        totals = handle._ledger.totals(scope)
        assert float(totals.scopes[scope].charges[turns.part("strict", 0)].at(order)) == (
            pytest.approx(n_releases * row)
        )
    assert sum(entry.checkpoint is not None for entry in accountant.entries()) == 2
    assert replay(accountant._ledger)["strict"].amount == pytest.approx(paid)
    assert accountant._ledger.verify().n_entries == len(entries) + n_releases
    # Reservations of such parts can't go on: what was paid for is not known.
    reserved = next(each.reservation.id for each in entries if each.reservation)
    with pytest.raises(ValueError, match="is not what was reserved"):
        accountant.resume(reserved, RoundRobin(mechanism=GNMax(sigma=100.0), turns=turns.turns))


def test_an_altered_ledger_of_unknown_divisions_is_detected(old):
    for statement in (
        "UPDATE charge SET delta = 1e-9 WHERE member != ''",
        "UPDATE charge SET member = '7' WHERE member = '0'",
        "DELETE FROM charge WHERE sequence = 2",
    ):
        path = old("turns")
        tamper(path, statement)
        with pytest.raises(LedgerError, match="does not follow from"):
            PrivacyAccountant.open(path, moved=True)


def test_a_ledger_of_the_format_before_in_its_place(old, monkeypatch):
    """It recorded the number of its file only. A refusal changes nothing, a spend the format."""
    path = old("plan")
    number = read(path, "SELECT place FROM header")
    monkeypatch.setattr(ledger, "place_of", lambda path: f"{number}@1700000000")
    accountant = PrivacyAccountant.open(path)
    assert len(accountant.entries()) == 1
    content = path.read_bytes()
    with pytest.raises(BudgetExceededError):
        spend(accountant, epsilon=0.9)
    assert (path.read_bytes(), version(path)) == (content, 2)
    spend(accountant, epsilon=0.01)
    assert version(path) == 5
    assert PrivacyAccountant.open(path).spent().amount == accountant.spent().amount
    assert len(accountant.entries()) == accountant._ledger.verify().n_entries == 2


@pytest.mark.parametrize("order", ["renyi", 18, math.inf])
def test_a_ledger_of_another_machine(tmp_path, monkeypatch, order):
    """Elsewhere the orders were computed, and rounded in another way."""
    path, theirs = tmp_path / "budget.ledger", ORDERS.copy()
    theirs[:-1] *= 1 + np.finfo(float).eps * np.resize([-2, 0, 1, 2], 149)
    levels = tuple(
        dataclasses.replace(level, order=level.order * (1 + np.finfo(float).eps))
        for level in budget_levels({"strict": 1.0, "lax": 3.0}, 1e-5, order)
    )
    with monkeypatch.context() as there:
        there.setattr(header, "_ORDERS", theirs.astype("<f8").tobytes())
        Ledger.create(path, Budget(levels=levels))
    accountant = PrivacyAccountant.open(path)
    assert {level.order for level in accountant.levels} <= set(ORDERS)
    accountant.release(GNMax(sigma=400), VOTES[:1])
    again = PrivacyAccountant.open(path)
    assert again.spent()["lax"].amount == accountant.spent()["lax"].amount > 0
    # Five of the last place are another order.
    theirs[100] = ORDERS[100] + 5 * np.spacing(ORDERS[100])
    monkeypatch.setattr(header, "_ORDERS", theirs.astype("<f8").tobytes())
    Ledger.create(path.with_name("other.ledger"), Budget(levels=levels))
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="other Renyi orders"):
        PrivacyAccountant.open(path.with_name("other.ledger"))


def test_a_ledger_that_overspent_says_so(tmp_path, capsys):
    """Parts of a level paid anew in every fit, and the door then was too wide."""
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant({"strict": 1.0, "lax": 3.0}, 1e-5, ledger=path, order="renyi")
    strict, _ = accountant.levels
    for fit in range(3):
        charges = {
            f"strict/{part}": gaussian((0.8 if part == fit else 0.1) * strict.amount / strict.order)
            for part in range(3)
        }
        entry = LedgerEntry(
            mechanism="{}",
            n_rows=4,
            scope_id=f"fit {fit}",
            scope_epsilon=None,
            seeded=False,
            charges={**charges, "lax": gaussian(1e-6)},
        )
        accountant._ledger.transact(partial(Transaction.append, entry=entry))
    with pytest.warns(
        PrivacyLeakWarning, match=r"has overspent: 240\.0% of the budget of 'strict'"
    ):
        again = PrivacyAccountant.open(path)
    assert again.spent()["strict"].share == pytest.approx(2.4)
    assert again.history()[-1]["strict"].share == pytest.approx(2.4)
    assert again.remaining()["strict"].share == again.remaining()["strict"].amount == 0
    for rates in ({"strict": 1e-9, "lax": 1e-9}, {"strict": 0.0, "lax": 1e-9}):
        with pytest.raises(BudgetExceededError, match="level 'strict'"):
            again.release(Grouped(rates=rates), votes(1))
    assert "THE BUDGET OF 'strict' IS OVERSPENT (240.0%)" in " ".join(
        str(again.statement()).split()
    )
    with pytest.raises(LedgerError, match="entry 2 spends more than the budget allows"):
        replay(again._ledger)
    assert main(["ledger", "show", str(path)]) == 0
    assert "THE BUDGET OF 'strict' IS OVERSPENT" in capsys.readouterr().out
