"""Copies, moves, and places where locks do not hold: refused where that can be told."""

import os
import shutil

import pytest
from tests._fakes import Pure, basic_budget, spend, votes

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger import _guard as place


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """Pretend that the test's folder is on some file system."""

    def mount(kind, on="/"):
        device = os.stat(tmp_path).st_dev
        table = tmp_path / "mountinfo"
        table.write_text(
            "22 27 0:9999 / /proc rw,relatime - proc proc rw\n"
            f"40 27 {os.major(device)}:{os.minor(device)} / {on} rw shared:1 - {kind} server:/ rw\n"
        )
        monkeypatch.setattr(place, "MOUNTS", table)
        place._mounted.cache_clear()

    yield mount
    place._mounted.cache_clear()


def test_a_copy_can_be_read_but_not_spent_from(path, tmp_path):
    accountant = basic_budget(path)
    spend(accountant)
    copy = tmp_path / "copy.ledger"
    shutil.copy2(path, copy)
    with pytest.raises(LedgerError, match=r"it is a copy.*accept='moved'"):
        PrivacyAccountant.open(copy)
    # Nor with a handle that was made before.
    shutil.copy2(path, tmp_path / "backup")
    path.unlink()
    (tmp_path / "backup").rename(path)
    with pytest.raises(LedgerError, match="it is a copy"):
        spend(accountant)
    assert accountant.spent().n_releases == 1
    assert accountant._ledger.verify().n_entries == 1


def test_a_renamed_ledger_is_the_same(path, tmp_path):
    spend(basic_budget(path))
    (tmp_path / "elsewhere").mkdir()
    renamed = tmp_path / "elsewhere" / "renamed.ledger"
    path.rename(renamed)
    accountant = PrivacyAccountant.open(renamed)
    spend(accountant)
    assert accountant.spent().n_releases == len(accountant.entries()) == 2


def test_a_move_is_declared_and_recorded(path, tmp_path):
    spend(basic_budget(path))
    moved = tmp_path / "moved.ledger"
    shutil.copy2(path, moved)
    path.unlink()
    accountant = PrivacyAccountant.open(moved, accept="moved")
    spend(accountant)
    kinds = [entry.is_release for entry in accountant.entries()]
    assert kinds == [True, False, True]
    assert '"event": "moved"' in accountant.entries()[1].mechanism
    # It is no release, and costs nothing.
    assert (accountant.spent().n_releases, accountant.spent().epsilon) == (2, 0.5)
    assert len(accountant.history()) == 3
    assert "was moved or restored 1 time," in str(accountant.statement())
    # From here on this file is the original.
    again = PrivacyAccountant.open(moved, accept="moved")
    assert len(again.entries()) == 3
    spend(PrivacyAccountant.open(moved))
    back = tmp_path / "back.ledger"
    shutil.copy2(moved, back)
    with pytest.raises(LedgerError, match="it is a copy"):
        PrivacyAccountant.open(back)


def test_a_copy_is_not_accepted_beside_its_original(path, tmp_path):
    """Whether the original is found by its path, or in the folder of the copy."""
    spend(basic_budget(path))
    (tmp_path / "backups").mkdir()
    copies = [tmp_path / "copy.ledger", tmp_path / "backups" / "budget.ledger"]
    for copy in copies:
        shutil.copy2(path, copy)
    renamed = tmp_path / "renamed.ledger"
    for copy, original in ((copies[0], path), (copies[1], path), (copies[0], renamed)):
        if original == renamed:
            path.rename(renamed)
        content = copy.read_bytes()
        with pytest.raises(LedgerError, match=f"the original still lies at '{original}'.*delete"):
            PrivacyAccountant.open(copy, accept="moved")
        assert copy.read_bytes() == content
    spend(PrivacyAccountant.open(renamed))
    renamed.unlink()
    spend(PrivacyAccountant.open(copies[0], accept="moved"))


def test_an_original_that_has_more_is_not_to_be_deleted(path, tmp_path):
    """Whoever follows the error would spend anew what the copy lacks."""
    accountant = basic_budget(path)
    spend(accountant)
    copy = tmp_path / "copy.ledger"
    shutil.copy2(path, copy)
    spend(accountant)
    with pytest.raises(LedgerError, match="the original still lies at") as error:
        PrivacyAccountant.open(copy, accept="moved")
    assert "delete" not in str(error.value)
    assert "entries that this one lacks" in str(error.value)


def test_another_file_at_the_place_is_no_original(path, tmp_path):
    """A number of a deleted file is given again, and a file is restored in its folder."""
    spend(basic_budget(path))
    copy = tmp_path / "elsewhere" / "budget.ledger"
    copy.parent.mkdir()
    shutil.copy2(path, copy)
    path.write_text("notes")
    spend(PrivacyAccountant.open(copy, accept="moved"))


def test_a_name_in_another_encoding(tmp_path):
    path = os.fsencode(tmp_path) + b"/b\xfcdget.ledger"
    accountant = basic_budget(os.fsdecode(path))
    spend(accountant)
    assert PrivacyAccountant.open(os.fsdecode(path)).spent().n_releases == 1


def test_two_names_for_one_file(path, tmp_path):
    accountant = basic_budget(path)
    other = tmp_path / "other.ledger"
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(LedgerError, match="2 names"):
            PrivacyAccountant.open(name)
    with pytest.raises(LedgerError, match="2 names"):
        spend(accountant)
    other.unlink()
    spend(accountant)
    # A symbolic link is one file under one name.
    other.symlink_to(path)
    spend(PrivacyAccountant.open(other))
    assert accountant.spent().n_releases == 2


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "lustre", "fuse.sshfs"])
def test_a_network_file_system_is_refused(path, mounted, monkeypatch, kind):
    accountant = basic_budget(path)
    spend(accountant)
    mounted(kind)
    for use in (lambda: spend(accountant), lambda: PrivacyAccountant.open(path)):
        with pytest.raises(LedgerError, match=f"network file system .{kind}.*local disk"):
            use()
    # What it holds can still be read there.
    assert accountant.spent().n_releases == 1
    another = path.with_name("another.ledger")
    with pytest.raises(LedgerError, match="network file system"):
        basic_budget(another)
    assert not another.exists()
    monkeypatch.setattr("tempfile.tempdir", str(path.parent))
    with pytest.raises(LedgerError, match="set TMPDIR"):
        basic_budget()


@pytest.mark.parametrize("kind", ["ext4", "overlay", "tmpfs", "9p", "fuse.bindfs"])
def test_other_file_systems_are_fine(path, mounted, kind):
    mounted(kind)
    accountant = basic_budget(path)
    spend(accountant)
    assert accountant.spent().n_releases == 1


def test_a_file_that_is_mounted_alone_is_refused(path, mounted):
    accountant = basic_budget(path)
    mounted("ext4", on=path)
    with pytest.raises(LedgerError, match="mount its folder instead"):
        spend(accountant)


def test_systems_without_mount_information(path, mounted, monkeypatch):
    mounted("nfs4")
    monkeypatch.setattr(place, "MOUNTS", path.with_name("nowhere"))
    spend(basic_budget(path))
    with pytest.raises(LedgerError, match="a network share"):
        place.check_file_system("//server/share/budget.ledger", 0)


def test_a_scope_is_not_carried_to_another_ledger():
    """What an ensemble would do that is given a second budget for the same teachers."""
    first, second = basic_budget(), basic_budget()
    scope = first.scope(1.0)
    with pytest.raises(ValueError, match="belongs to another ledger.*Two budgets"):
        second.release(Pure(epsilon=0.25), votes(1), scope=scope)
    assert second.entries() == []
    first.release(Pure(epsilon=0.25), votes(1), scope=scope)
    assert first.spent().epsilon == 0.25
