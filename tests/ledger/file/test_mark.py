"""The file beside a ledger: no other file is written over, and damage to it locks nobody out."""

import itertools
import os
import random
import shutil
import socket
import warnings

import pytest
from tests._fakes import basic_budget, spend

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger._file_store import read_slots
from secretballot.ledger._guard import SLOT, SLOTS, Mark, parse_slots, slot_bytes

PRECIOUS = b"a letter that nobody has a copy of\n" * 40
#: What SQLite or a ledger would take for its own.
BESIDE = [".mark", "-journal", "-wal", "-shm"]

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "st"


@pytest.fixture
def mark(path):
    return path.with_name("st.mark")


def marks(n, ledger_id="0" * 32):
    return Mark(ledger_id, n, f"{n:064x}")


# Files that are there before a ledger is made


@pytest.mark.parametrize("ending", BESIDE)
def test_a_ledger_can_not_have_the_name_of_a_mark_or_journal(path, ending):
    with pytest.raises(LedgerError, match=f"ends in '{ending}'.*name it otherwise"):
        basic_budget(f"{path}{ending}")
    assert list(path.parent.iterdir()) == []
    basic_budget(path)


@pytest.mark.parametrize("ending", BESIDE)
def test_a_file_that_was_there_is_not_touched(path, ending):
    other = path.with_name(f"st{ending}")
    other.write_bytes(PRECIOUS)
    with pytest.raises(LedgerError, match="its mark|Move it away"):
        basic_budget(path)
    assert other.read_bytes() == PRECIOUS
    assert list(path.parent.iterdir()) == [other]


def a_link(mark, precious):
    mark.symlink_to(precious)


def a_dangling_link(mark, precious):
    mark.symlink_to(precious.with_name("nowhere"))


def a_hard_link(mark, precious):
    mark.hardlink_to(precious)


def a_hard_link_to_a_mark(mark, precious):
    precious.write_bytes(slot_bytes(marks(3), 1))
    mark.hardlink_to(precious)


def a_folder(mark, precious):
    mark.mkdir()


def a_pipe(mark, precious):
    os.mkfifo(mark)


def a_socket(mark, precious):
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(mark.parent)
        try:
            server.bind(mark.name)
        finally:
            os.chdir(here)


def a_text(mark, precious):
    mark.write_bytes(PRECIOUS)


def a_larger_file(mark, precious):
    mark.write_bytes(bytes(SLOTS * SLOT + 1))


LINKS = [a_link, a_dangling_link, a_hard_link, a_hard_link_to_a_mark]
OTHERS = [*LINKS, a_folder, a_pipe, a_socket, a_text, a_larger_file]


@posix
@pytest.mark.parametrize("other", OTHERS)
def test_another_file_in_the_place_of_a_mark_is_not_touched(path, mark, other):
    """Neither when a ledger is made nor when one is spent from; and it can be gone on with."""
    precious = path.with_name("precious")
    precious.write_bytes(PRECIOUS)
    other(mark, precious)
    content, kind = precious.read_bytes(), os.lstat(mark)
    with pytest.raises(LedgerError, match="delete the mark as well"):
        basic_budget(path)
    assert not path.exists()
    mark.rename(mark.with_name("aside"))
    accountant = basic_budget(path)
    spend(accountant)
    shutil.copy2(mark, path.with_name("kept"))
    mark.unlink()
    mark.with_name("aside").rename(mark)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "damaged"
        assert PrivacyAccountant.open(path).spent().n_releases == 1
    with pytest.raises(LedgerError, match="is not written over: .*Move that away"):
        spend(accountant)
    assert precious.read_bytes() == content
    now = os.lstat(mark)
    assert (now.st_ino, now.st_size, now.st_mtime_ns) == (
        kind.st_ino,
        kind.st_size,
        kind.st_mtime_ns,
    )
    if mark.is_dir():
        mark.rmdir()
    else:
        mark.unlink()
    spend(accountant)
    assert read_slots(str(path)).mark.sequence == 2


# A ledger that was deleted


@pytest.mark.parametrize("content", [None, b"", b"secret", b"secretballot damaged", bytes(SLOT)])
def test_a_deleted_ledger_is_no_fresh_budget(path, mark, content):
    spend(basic_budget(path), 3)
    path.unlink()
    if content is not None:
        mark.write_bytes(content)
    reason = "3 entries had been recorded" if content is None else "is no fresh budget"
    with pytest.raises(LedgerError, match=f"{reason}(.|\n)*delete the mark as well"):
        basic_budget(path)
    assert not path.exists()
    assert mark.exists()
    # Where its maker says so, by hand, there is a new one.
    mark.unlink()
    assert basic_budget(path).spent().n_releases == 0


def test_an_emptied_ledger_is_no_fresh_budget(path):
    """Whoever follows the error, word by word, gets no second budget."""
    accountant = basic_budget(path)
    spend(accountant, 3)
    path.write_bytes(b"")
    for use in (lambda: PrivacyAccountant.open(path), lambda: spend(accountant)):
        with pytest.raises(LedgerError, match="was emptied.* 3 entries had been recorded") as error:
            use()
        assert "delete" not in str(error.value)


@pytest.mark.parametrize("content", [None, b"", b"damaged" * 200, b"secretballot mark ?"])
def test_an_empty_file_is_deleted_only_where_no_entry_can_have_been(path, mark, content):
    if content is None:
        basic_budget(path)  # its mark says that there is no entry
    else:
        mark.write_bytes(content)
    path.write_bytes(b"")
    with pytest.raises(LedgerError) as error:
        PrivacyAccountant.open(path)
    is_advised = "creation was interrupted: delete it and its mark" in str(error.value)
    assert is_advised is not bool(content)
    # Both may have been emptied.
    assert ("if nothing was ever released" in str(error.value)) is (content == b"")


def test_a_file_that_is_not_empty_is_not_to_be_deleted(path):
    path.write_bytes(PRECIOUS)
    with pytest.raises(LedgerError, match="not a ledger") as error:
        PrivacyAccountant.open(path)
    assert "delete" not in str(error.value)


def test_a_ledger_that_could_not_be_made_leaves_nothing(path, monkeypatch):
    monkeypatch.setattr("secretballot.ledger._ledger.write_new", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        basic_budget(path)
    assert list(path.parent.iterdir()) == []


# Slots


def test_slots_are_written_in_turns():
    content, seen = b"", []
    for n in range(6):
        slots = parse_slots(content)
        seen.append((slots.mark.sequence if slots.mark else None, slots.target, slots.n_broken))
        new = slot_bytes(marks(n), slots.generation + 1)
        content = content.ljust(SLOTS * SLOT, b"\0")
        place = SLOT * slots.target
        content = content[:place] + new + content[place + SLOT :]
    assert seen == [(None, 0, 0), (0, 1, 0), (1, 0, 0), (2, 1, 0), (3, 0, 0), (4, 1, 0)]


def test_a_write_that_is_cut_off_leaves_the_old_mark_or_the_new():
    """At each byte, and whatever the first bytes of the file were."""
    for before, after in itertools.product((b"", slot_bytes(marks(9), 1)), repeat=2):
        content = before.ljust(SLOT, b"\0") + after if after else before
        slots = parse_slots(content)
        new, place = slot_bytes(marks(10), slots.generation + 1), SLOT * slots.target
        for n_bytes in range(SLOT + 1):
            cut = content[:place].ljust(place, b"\0") + new[:n_bytes]
            read = parse_slots(cut + content[len(cut) :])
            assert read.is_mark
            assert read.mark in (slots.mark, marks(10))
            assert n_bytes < SLOT or read.mark == marks(10)


def test_a_bit_that_flips_leaves_a_mark_that_was_written():
    content = slot_bytes(marks(9), 1) + slot_bytes(marks(10), 2)
    n_broken = 0
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        slots = parse_slots(bytes(flipped))
        assert slots.is_mark
        assert slots.mark == marks(9 if slots.n_broken and bit >= 8 * SLOT else 10)
        n_broken += slots.n_broken
    assert n_broken == 8 * len(content)  # none is overlooked


@pytest.mark.parametrize("seed", range(5))
def test_a_damaged_mark_is_reported_and_repaired(path, mark, capsys, seed):
    accountant = basic_budget(path)
    spend(accountant, 2)
    content = bytearray(mark.read_bytes())
    place = random.Random(seed).randrange(len(content))
    content[place] ^= 16
    mark.write_bytes(content)
    with pytest.warns(UserWarning, match=r"1 of the 2 slots of .*st\.mark.* count as none"):
        spend(PrivacyAccountant.open(path), 2)
    PrivacyAccountant.open(path)
    mark.write_bytes(b"secretballot ?" * 50)
    assert main(["ledger", "verify", str(path)]) == 0
    assert "2 of the 2 slots" in capsys.readouterr().err
    spend(accountant, 2)
    assert main(["ledger", "verify", str(path)]) == 0
    assert capsys.readouterr().err == ""


def test_a_declared_move_overwrites_both_slots(path, mark):
    """Also if the newest slot is damaged then."""
    accountant = basic_budget(path)
    spend(accountant)
    backup = path.read_bytes()
    spend(accountant, 3)
    path.write_bytes(backup)
    PrivacyAccountant.open(path, accept="moved")
    for place in range(SLOTS):
        content = bytearray(mark.read_bytes())
        content[SLOT * place + 40] ^= 1
        mark.write_bytes(content)
        with pytest.warns(UserWarning, match="1 of the 2 slots"):
            spend(PrivacyAccountant.open(path), 2)
