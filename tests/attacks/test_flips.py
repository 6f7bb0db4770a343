"""Bits of a ledger and of its mark that flip: no larger budget, and no sound ledger locked."""

import contextlib
import random
import sqlite3
import warnings

import pytest
from tests._fakes import Pure, basic_budget, spend

from secretballot.accounting import BudgetExceededError, LedgerError, PrivacyAccountant
from secretballot.ledger import _guard
from secretballot.ledger._guard import SLOT, SLOTS

#: Entries that fit, of which `SPENT` are there.
AFFORDABLE, SPENT = 70, 66


@pytest.fixture(autouse=True)
def _not_patient(monkeypatch):
    monkeypatch.setattr(_guard, "BUSY_TIMEOUT", 0.5)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """Path, contents and mark of a ledger with a checkpoint and a reservation."""
    path = tmp_path_factory.mktemp("flips") / "budget.ledger"
    accountant = basic_budget(path, 0.25 * AFFORDABLE)
    spend(accountant, SPENT - 2)
    reservation = accountant.reserve(Pure(epsilon=0.25), 2)
    accountant.release(Pure(epsilon=0.25), [[3.0, 1.0]], reservation=reservation)
    return path, path.read_bytes(), path.with_name("budget.ledger.mark")


def affordable(path):
    """Return how many more entries a handle gets."""
    accountant = PrivacyAccountant.open(path)
    for count in range(AFFORDABLE):
        try:
            spend(accountant)
        except BudgetExceededError:
            return count
    return AFFORDABLE


@pytest.mark.parametrize("n_bits", [1, 8])
def test_bits_of_the_ledger(ledger, counts, n_bits):
    """It is refused, or has what was left; raw errors are faults too."""
    path, content, mark = ledger
    mark_content = mark.read_bytes()
    generator = random.Random(n_bits)
    n_flips, refused = 200, 0
    # Half of the bits are where entries were written last, and in the header of the file.
    with contextlib.closing(sqlite3.connect(path)) as opened:
        page = opened.execute("PRAGMA page_size").fetchone()[0]
    for n in range(n_flips):
        flipped = bytearray(content)
        for _ in range(n_bits):
            where = generator.randrange(len(content)) if n % 2 else generator.randrange(8 * page)
            flipped[where] ^= 1 << generator.randrange(8)
        path.write_bytes(flipped)
        mark.write_bytes(mark_content)
        path.with_name("budget.ledger-journal").unlink(missing_ok=True)
        try:
            assert affordable(path) <= AFFORDABLE - SPENT
        except LedgerError:
            refused += 1
        with contextlib.suppress(LedgerError):
            PrivacyAccountant.open(path)._ledger.verify()
    path.write_bytes(content)
    mark.write_bytes(mark_content)
    counts(f"ledgers with {n_bits} flipped bits", n_flips)
    counts(f"ledgers with {n_bits} flipped bits that were refused", refused)
    assert 0 < refused <= n_flips


@pytest.mark.parametrize("n_bits", [1, 8])
def test_bits_of_the_mark(tmp_path, counts, n_bits):
    """A sound ledger is gone on with, and the mark is mended."""
    path, generator = tmp_path / "budget.ledger", random.Random(n_bits)
    accountant, mark = basic_budget(path, 1e6), path.with_name("budget.ledger.mark")
    n_flips, said = 200, 0
    for _ in range(n_flips):
        spend(accountant)
        content = bytearray(mark.read_bytes())
        assert len(content) == SLOTS * SLOT
        for _ in range(n_bits):
            content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        mark.write_bytes(content)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spend(PrivacyAccountant.open(path), 2)
        said += len(caught)
        assert all("count as none" in str(each.message) for each in caught)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            PrivacyAccountant.open(path)
    counts(f"marks with {n_bits} flipped bits", n_flips)
    counts(f"marks with {n_bits} flipped bits of which that was said", said)
    assert said == n_flips


@pytest.mark.parametrize("keeps", [0, 1])
def test_a_backup_beside_a_mark_with_a_flipped_bit(tmp_path, counts, keeps):
    """The slot that is whole still tells, if it is the newest; else that of the write before."""
    path, generator = tmp_path / "budget.ledger", random.Random(7)
    accountant, mark = basic_budget(path, 1e6), path.with_name("budget.ledger.mark")
    n_flips = 150
    for _ in range(n_flips):
        spend(accountant)
        backup = path.read_bytes()
        spend(accountant, 3)
        content = bytearray(mark.read_bytes())
        content[keeps * SLOT + generator.randrange(SLOT)] ^= 1 << generator.randrange(8)
        now = path.read_bytes()
        path.write_bytes(backup)
        mark_now = mark.read_bytes()
        mark.write_bytes(content)
        with pytest.raises(LedgerError, match="restored from a copy"):
            PrivacyAccountant.open(path)
        path.write_bytes(now)
        mark.write_bytes(mark_now)
    counts("backups beside marks with a flipped bit, refused", n_flips)
