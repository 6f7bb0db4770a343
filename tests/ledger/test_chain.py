"""The hash chain: what was recorded can't be changed unseen, and gives the same totals again."""

import contextlib
import dataclasses
import math
import pickle
import re
import shutil
import sqlite3

import pytest
from tests._fakes import (
    Gaussian,
    Pure,
    Thresholded,
    basic_budget,
    spend,
    tamper,
    votes,
)

from secretballot.accounting import LedgerError, PrivacyAccountant


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


TAMPERING = {
    "cost lowered": ["UPDATE charge SET curve = zeroblob(1200) WHERE sequence = 2"],
    "delta lowered": ["UPDATE charge SET delta = 1e-9 WHERE sequence = 2"],
    "level changed": ["UPDATE charge SET level = 'everyone' WHERE sequence = 2"],
    "member changed": ["UPDATE charge SET member = 'one' WHERE sequence = 2"],
    "charge removed": ["DELETE FROM charge WHERE sequence = 2"],
    "charge added": ["INSERT INTO charge VALUES (2, 'everyone', 'x', 0.0, zeroblob(1200))"],
    "mechanism altered": ["UPDATE entry SET mechanism = '{}' WHERE sequence = 2"],
    "rows altered": ["UPDATE entry SET n_rows = n_rows + 1 WHERE sequence = 2"],
    "time altered": ["UPDATE entry SET time = '2000' WHERE sequence = 2"],
    "seeding hidden": ["UPDATE entry SET seeded = 1 - seeded WHERE sequence = 2"],
    "scope altered": ["UPDATE entry SET scope_id = 'other' WHERE sequence = 2"],
    "scope cap altered": ["UPDATE entry SET scope_epsilon = 9.0 WHERE sequence = 2"],
    "note altered": ["""UPDATE entry SET note = '{"a": 1}' WHERE sequence = 2"""],
    "entry removed": [
        "DELETE FROM charge WHERE sequence = 2",
        "DELETE FROM entry WHERE sequence = 2",
    ],
    "entry removed, gap closed": [
        "DELETE FROM charge WHERE sequence = 2",
        "DELETE FROM entry WHERE sequence = 2",
        "UPDATE charge SET sequence = 2 WHERE sequence = 3",
        "UPDATE entry SET sequence = 2 WHERE sequence = 3",
    ],
    "first entry removed": [
        "DELETE FROM charge WHERE sequence = 1",
        "DELETE FROM entry WHERE sequence = 1",
    ],
    "last entry removed, charge kept": ["DELETE FROM entry WHERE sequence = 3"],
    "reordered": [
        *(f"UPDATE {t} SET sequence = 9 WHERE sequence = 1" for t in ("entry", "charge")),
        *(f"UPDATE {t} SET sequence = 1 WHERE sequence = 2" for t in ("entry", "charge")),
        *(f"UPDATE {t} SET sequence = 2 WHERE sequence = 9" for t in ("entry", "charge")),
    ],
    "budget raised": ["UPDATE level SET epsilon = 100.0, amount = 100.0"],
    "order changed": ["UPDATE level SET gate_order = 2.0"],
    "unit changed": ["UPDATE header SET unit = 'owner'"],
    "level added": ["INSERT INTO level VALUES (1, 'more', 1.0, 1e-5, 0.0, 2.0, 1.0)"],
    "header removed": ["DELETE FROM header"],
    "nonsense written": ["UPDATE entry SET n_rows = 'many' WHERE sequence = 2"],
    "curve cut": ["UPDATE charge SET curve = x'00' WHERE sequence = 2"],
}


@pytest.fixture
def three_entries(name):
    accountant = PrivacyAccountant(4.0, 1e-5, ledger=name, order=math.inf)
    scope = accountant.scope(3.0)
    for mechanism in (Pure(epsilon=0.25), Pure(epsilon=0.5, delta=1e-7), Pure(epsilon=0.125)):
        accountant.release(mechanism, votes(1), scope=scope)
    return accountant


@pytest.mark.parametrize("statements", TAMPERING.values(), ids=TAMPERING)
def test_an_altered_ledger_is_detected(three_entries, name, statements):
    if "://" in name and "'many'" in statements[0]:
        pytest.skip("columns of the server have types")
    fresh = pickle.loads(pickle.dumps(three_entries))
    assert PrivacyAccountant.open(name)._ledger.verify().n_entries == 3
    tamper(name, *statements)
    with pytest.raises(LedgerError, match=re.escape(name)):
        PrivacyAccountant.open(name)
    for handle in (three_entries, fresh):
        with pytest.raises(LedgerError, match=re.escape(name)):
            handle._ledger.verify()
    # A handle that has not read the altered entries yet does not spend on them either.
    with pytest.raises(LedgerError, match=re.escape(name)):
        spend(fresh)


@pytest.mark.parametrize("change", [{"n_rows": 0}, {"charges": {}}, {"sequence": 7}])
def test_an_altered_entry_with_a_digest_to_match_is_detected(three_entries, name, change):
    """Every entry binds the one before it, and its place."""
    place = 3 if "sequence" in change else 2
    forged = dataclasses.replace(three_entries.entries()[place - 1], **change)
    forged = forged.chained(forged.sequence, forged.time, forged.previous)
    # The forged entry is right on its own.
    assert forged.digest == forged.expected_digest()
    tamper(
        name,
        f"UPDATE entry SET n_rows = {forged.n_rows}, digest = '{forged.digest}' "
        f"WHERE sequence = {place}",
        *([] if forged.charges else [f"DELETE FROM charge WHERE sequence = {place}"]),
        f"UPDATE charge SET sequence = {forged.sequence} WHERE sequence = {place}",
        f"UPDATE entry SET sequence = {forged.sequence} WHERE sequence = {place}",
    )
    with pytest.raises(LedgerError, match=r"entry \d does not follow"):
        PrivacyAccountant.open(name)


def test_a_handle_notices_lost_entries_that_it_has_read(three_entries, name):
    tamper(name, *(f"DELETE FROM {table} WHERE sequence = 3" for table in ("charge", "entry")))
    for use in (three_entries.spent, three_entries._ledger.verify, lambda: spend(three_entries)):
        with pytest.raises(LedgerError, match="entry 3, which was there before"):
            use()


def test_another_ledger_in_its_place(path, tmp_path):
    accountant, other = basic_budget(path), tmp_path / "other.ledger"
    basic_budget(other)
    shutil.copy(other, path)
    with pytest.raises(LedgerError, match="another ledger is in its place"):
        spend(accountant)


def test_a_budget_comes_from_the_file_and_never_from_a_pickle(three_entries, name):
    """Whoever edits a pickle does not lift the budget."""
    kind, (_, budget, genesis, temporary) = three_entries._ledger.__reduce__()
    lifted = dataclasses.replace(
        budget, levels=tuple(dataclasses.replace(each, amount=1e9) for each in budget.levels)
    )
    forged = PrivacyAccountant.__new__(PrivacyAccountant)
    for other_budget in (lifted, dataclasses.replace(budget, allow_seeded=True)):
        forged._ledger = kind(name, other_budget, genesis, temporary)
        for use in (lambda: spend(forged, epsilon=100.0), forged.spent, forged.statement):
            with pytest.raises(LedgerError, match="another budget than this handle has"):
                use()
    forged._ledger = kind(name, budget, genesis, temporary)
    spend(forged)
    assert len(three_entries.entries()) == 4


@pytest.mark.parametrize(
    ("table", "column"),
    [("header", "unit"), ("level", "epsilon"), ("entry", "n_rows"), ("charge", "delta")],
)
def test_the_file_itself_refuses_changes(path, table, column):
    spend(basic_budget(path))
    with contextlib.closing(sqlite3.connect(path)) as opened:
        for statement in (f"UPDATE {table} SET {column} = 0", f"DELETE FROM {table}"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                opened.execute(statement)


def test_entries_have_mechanism_time_and_cost(name):
    accountant = PrivacyAccountant(4.0, 1e-5, ledger=name, allow_seeded=True, order="renyi")
    scope = accountant.scope(2.0)
    accountant.release(
        Thresholded(bit=0.001, vote=0.01), [[3, 1], [0, 1]], scope=scope, note={"classes": "public"}
    )
    (entry,) = accountant.entries()
    assert (
        entry.mechanism == '{"bit": 0.001, "mechanism": "tests._fakes:Thresholded", "vote": 0.01}'
    )
    assert (entry.sequence, entry.n_rows, entry.seeded) == (1, 2, False)
    assert (entry.scope_id, entry.scope_epsilon) == (scope.id, 2.0)
    assert entry.note == '{"classes": "public"}'
    assert entry.time.endswith("+00:00")
    assert float(entry.charges["*"].at(10.0)) == pytest.approx(0.012 * 10)
    assert entry.digest == accountant._ledger.verify().digest


def test_replaying_the_entries_gives_the_same_epsilon():
    accountant = PrivacyAccountant(4.0, 1e-5, order="renyi")
    for sigma in (30, 40, 50):
        accountant.release(Gaussian(sigma=sigma), votes(3))
    first, *others = (entry.charges["*"] for entry in accountant.entries())
    total = sum(others, start=first)
    assert float(total.epsilon(1e-5)) == accountant.spent().epsilon
    # A charge that went missing would show.
    assert float(first.epsilon(1e-5)) < accountant.spent().epsilon
