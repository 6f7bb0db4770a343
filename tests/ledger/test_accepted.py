"""Declarations of a ledger that is refused: that it was moved, or that a clock was ahead."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest
from tests._fakes import basic_budget

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.mechanisms import GNMax


def test_a_clock_that_was_set_back_is_refused(name, monkeypatch):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=name)
    accountant.release(GNMax(sigma=400.0), [[9, 4]])
    earlier = datetime.now(UTC) - timedelta(hours=1)

    class SetBack(datetime):
        @classmethod
        def now(cls, zone):
            return earlier

    monkeypatch.setattr("secretballot.ledger._guard.datetime", SetBack)
    # A move is another declaration, and there is nothing to declare.
    moved = PrivacyAccountant.open(name, accept="moved")
    for handle in (accountant, PrivacyAccountant.open(name), moved):
        with pytest.raises(LedgerError, match="set the clock.*accept='clock'.*Nothing was"):
            handle.release(GNMax(sigma=400.0), [[9, 4]])
    # The clock is right, and was ahead before: whoever says so goes on.
    monkeypatch.setattr("secretballot.ledger._ledger.datetime", SetBack)
    PrivacyAccountant.open(name, accept="clock")
    accountant.release(GNMax(sigma=400.0), [[9, 4]])
    entries = accountant.entries()
    assert [entry.is_release for entry in entries] == [True, False, True]
    assert not any(entry.is_move for entry in entries)
    assert "clock was set back 1 time," in " ".join(str(accountant.statement()).split())
    assert accountant._ledger.verify().n_entries == 3
    assert len(PrivacyAccountant.open(name, accept="clock").entries()) == 3


def test_a_copy_on_a_machine_whose_clock_is_behind(tmp_path, monkeypatch):
    """Both are declared, one after the other."""
    path, copy = tmp_path / "budget.ledger", tmp_path / "copy.ledger"
    PrivacyAccountant(1.0, 1e-5, ledger=path).release(GNMax(sigma=400.0), [[9, 4]])
    path.rename(tmp_path / "away")
    shutil.copy(tmp_path / "away", copy)
    (tmp_path / "away").unlink()
    earlier = datetime.now(UTC) - timedelta(hours=1)

    class SetBack(datetime):
        @classmethod
        def now(cls, zone):
            return earlier

    monkeypatch.setattr("secretballot.ledger._guard.datetime", SetBack)
    monkeypatch.setattr("secretballot.ledger._ledger.datetime", SetBack)
    with pytest.raises(LedgerError, match="it is a copy.*accept='moved'"):
        PrivacyAccountant.open(copy, accept="clock")
    moved = PrivacyAccountant.open(copy, accept="moved")
    with pytest.raises(LedgerError, match="set the clock.*accept='clock'"):
        moved.release(GNMax(sigma=400.0), [[9, 4]])
    PrivacyAccountant.open(copy, accept="clock").release(GNMax(sigma=400.0), [[9, 4]])
    assert [entry.is_release for entry in moved.entries()] == [True, False, False, True]


@pytest.mark.parametrize("accept", [True, "both", "", "Moved"])
def test_an_unknown_declaration(name, accept):
    basic_budget(name)
    with pytest.raises(ValueError, match="accept=.* is unknown; use 'moved' or 'clock'"):
        PrivacyAccountant.open(name, accept=accept)
