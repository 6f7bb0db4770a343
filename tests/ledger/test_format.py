"""The format of ledgers: as it is specified, on other machines, and of other versions."""

import contextlib
import dataclasses
import math
import re
import shutil
import sqlite3
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests._fakes import Grouped, basic_budget, gaussian, spend, tamper, votes
from tests.ledger._independent_reader import IndependentReader, InvalidLedger

from secretballot.__main__ import main
from secretballot.accounting import (
    ORDERS,
    BudgetExceededError,
    LedgerError,
    PrivacyAccountant,
    PrivacyLeakWarning,
)
from secretballot.accounting._report import replay
from secretballot.ledger import _store as header
from secretballot.ledger._budget import Budget, budget_levels
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger, Transaction
from secretballot.mechanisms import ExponentialTopK, GNMax

VOTES = [[90, 10], [20, 80], [55, 45], [70, 30]]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "theory" / "ledger-format.md"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


def grown(path, order):
    """A ledger with entries of every kind, and checkpoints."""
    budget = {"strict": 30.0, "lax é": 90.0}
    accountant = PrivacyAccountant(budget, 1e-5, ledger=path, order=order)
    scopes = [None, accountant.scope(), accountant.scope({"strict": 20.0, "lax é": 80.0})]
    mechanism = ExponentialTopK(k=1, epsilon=0.01) if order == math.inf else GNMax(sigma=400)
    for number in range(6):
        scope, note = scopes[number % 3], {"day": number, "where": "Zürich"}
        reservation = accountant.reserve(mechanism, 3, n_columns=2, scope=scope)
        accountant.release(mechanism, VOTES[:1], reservation=reservation, note=note)
        accountant.settle(reservation)
        accountant.release(mechanism, VOTES[:2], scope=scope)
    return accountant


@pytest.mark.usefixtures("frequent_checkpoints")
@pytest.mark.parametrize("order", ["gaussian", "renyi", math.inf])
def test_the_specification_is_enough_to_read_a_ledger(path, order):
    accountant = grown(path, order)
    moved = path.with_name("moved.ledger")
    for name in (path, moved):
        if name == moved:
            shutil.copy2(path, moved)
            path.unlink()
            accountant = PrivacyAccountant.open(moved, accept="moved")
        ledger = accountant._ledger
        reader = IndependentReader(ledger.name)
        assert reader.head == ledger.verify().digest
        assert reader.ledger_id == ledger.header().ledger_id
        entries = ledger.entries()
        assert sum(entry.checkpoint is not None for entry in entries) == 6
        assert [entry["mechanism"] for entry in reader.entries] == [
            entry.mechanism for entry in entries
        ]


ALTERATIONS = [
    "UPDATE level SET amount = 2 * amount",
    "UPDATE entry SET n_rows = 1 WHERE sequence = 4",
    "UPDATE charge SET delta = 1e-9",
    "UPDATE curve SET value = zeroblob(8)",
    "UPDATE reservation SET state = '[[[2, null]], 0, 0]'",
    "UPDATE total SET delta = 1e-9 WHERE scope_id != ''",
    "DELETE FROM entry WHERE sequence = 24",
    "INSERT INTO private_record VALUES (25, 'x')",
]


@pytest.mark.usefixtures("frequent_checkpoints")
def test_the_independent_reader_detects_alterations(path):
    grown(path, "gaussian")
    mark = path.with_name(f"{path.name}.mark")
    sound, content = path.read_bytes(), mark.read_bytes()
    for statement in ALTERATIONS:
        tamper(path, statement)
        mark.write_bytes(content)
        with pytest.raises(InvalidLedger):
            IndependentReader(path)
        with pytest.raises(LedgerError):
            PrivacyAccountant.open(path)._ledger.verify()
        path.write_bytes(sound)  # the same file, so that it is no copy
        mark.write_bytes(content)
    IndependentReader(path)
    PrivacyAccountant.open(path)._ledger.verify()


def test_the_specification_has_all_tables_and_columns(path):
    basic_budget(path)
    page = PAGE.read_text()
    with contextlib.closing(sqlite3.connect(path)) as opened:
        tables = opened.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        for table, sql in tables.fetchall():
            assert re.search(rf"^### .*\b{table}\b", page, flags=re.M)
            columns = [row[1] for row in opened.execute(f"PRAGMA table_info({table})")]
            assert all(f"`{column}`" in page for column in columns), sql


@pytest.mark.parametrize(
    ("version", "remedy"), [(2, "update secretballot"), (0, "restore it from a copy")]
)
def test_another_format_is_refused_with_a_remedy(path, version, remedy):
    accountant = basic_budget(path)
    with contextlib.closing(sqlite3.connect(path)) as opened:
        opened.execute(f"PRAGMA user_version = {version}")
    content = path.read_bytes()
    for use in (lambda: PrivacyAccountant.open(path), lambda: spend(accountant)):
        with pytest.raises(LedgerError, match=f"it has format {version}.*{remedy}"):
            use()
    assert path.read_bytes() == content
    with pytest.raises(InvalidLedger):
        IndependentReader(path)


def test_a_part_without_a_division_was_never_written(path):
    accountant = PrivacyAccountant({"a": 4.0, "b": 4.0}, 1e-5, ledger=path, order=math.inf)
    accountant.release(Grouped(rates={"a/x/0": 0.0, "b": 0.0}), votes(1))
    tamper(path, "UPDATE charge SET member = '0' WHERE member != ''")
    with pytest.raises(LedgerError, match="'a/0' is of no division"):
        PrivacyAccountant.open(path)


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
    mechanism = ExponentialTopK(k=1, epsilon=0.01) if order == math.inf else GNMax(sigma=400)
    accountant.release(mechanism, VOTES[:1])
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
    """Entries that no release can have made: written by a fault or by another program."""
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant({"strict": 1.0, "lax": 3.0}, 1e-5, ledger=path, order="renyi")
    strict, _ = accountant.levels
    for fit in range(3):
        charges = {
            f"strict/thirds/{part}": gaussian(
                (0.8 if part == fit else 0.1) * strict.amount / strict.order
            )
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
