"""A backup that is put in a ledger's place: noticed by the file's birth, or by the mark."""

import contextlib
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests._fakes import basic_budget, spend
from tests._programs import run_program

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger import _guard as place
from secretballot.ledger._file_store import read_slots
from secretballot.ledger._guard import Mark, slot_bytes


def in_place(backup, path):
    path.write_bytes(backup.read_bytes())


def removed_first(backup, path):
    path.unlink()
    shutil.copy2(backup, path)


def renamed_over(backup, path):
    shutil.copy2(backup, path.with_name("new"))
    path.with_name("new").replace(path)


def from_tar(backup, path):
    with tarfile.open(path.with_name("b.tar"), "w") as archive:
        archive.add(backup, arcname=path.name)
    with tarfile.open(path.with_name("b.tar")) as archive:
        archive.extractall(path.parent, filter="data")


def from_zip(backup, path):
    with zipfile.ZipFile(path.with_name("b.zip"), "w") as archive:
        archive.write(backup, arcname=path.name)
    path.unlink()
    with zipfile.ZipFile(path.with_name("b.zip")) as archive:
        archive.extractall(path.parent)


def from_git(backup, path):
    def git(*command):
        user = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        assert run_program("git", *user, *command, cwd=path.parent).returncode == 0

    now = path.read_bytes()
    path.write_bytes(backup.read_bytes())
    git("init", "-q")
    git("add", path.name)
    git("commit", "-qm", "backup")
    path.write_bytes(now)
    git("checkout", "-q", "--", path.name)


WAYS = [in_place, removed_first, renamed_over, from_tar, from_zip, from_git]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "budget.ledger"


def backed_up(path, times=1):
    """A budget of which a backup was made, and that spent more since."""
    path.parent.mkdir(exist_ok=True)
    accountant = PrivacyAccountant.open(path) if path.exists() else basic_budget(path, 1000.0)
    spend(accountant, times)
    backup = path.parent.parent / "backup"
    shutil.copy2(path, backup)
    spend(accountant)
    return accountant, backup


def opened(path, *, is_damaged):
    """Open a ledger; where its mark is damaged, that is said."""
    warned = pytest.warns(UserWarning, match="damaged and count as none")
    with warned if is_damaged else contextlib.nullcontext():
        return PrivacyAccountant.open(path)


@pytest.mark.parametrize("restore", WAYS)
def test_a_backup_is_not_spent_from(path, restore):
    if restore is from_git and not shutil.which("git"):
        pytest.skip("needs git")
    for _ in range(2 if restore is from_git else 4):
        accountant, backup = backed_up(path)
        if restore is from_git:
            shutil.rmtree(path.parent / ".git", ignore_errors=True)
        restore(backup, path)
        with pytest.raises(LedgerError, match=r"restored from.*accept='moved'"):
            PrivacyAccountant.open(path)
        # Nor with the handle from before.
        with pytest.raises(LedgerError, match="restored from|which was there before"):
            spend(accountant)
        # It can be read, and gone on with if that is declared.
        moves = PrivacyAccountant.open(path, accept="moved")
        assert "moved or restored" in str(moves.statement())
        assert [entry.is_release for entry in moves.entries()][-1] is False


def test_the_mark_alone_notices(path):
    """Where files have no birth and the number of a deleted file is given to the next."""
    accountant, backup = backed_up(path)
    in_place(backup, path)
    assert place.place_of(str(path)) == accountant._ledger.header().place
    with pytest.raises(LedgerError, match=r"2 entries had been recorded.*budget\.ledger\.mark"):
        PrivacyAccountant.open(path)
    moved = PrivacyAccountant.open(path, accept="moved")
    spend(moved)
    assert PrivacyAccountant.open(path).spent().n_releases == 2


def test_another_history_of_the_same_length_is_noticed(path):
    accountant, backup = backed_up(path)
    mark = path.with_name("budget.ledger.mark").read_bytes()
    in_place(backup, path)
    path.with_name("budget.ledger.mark").unlink()
    spend(PrivacyAccountant.open(path), 3)  # nothing tells any more
    path.with_name("budget.ledger.mark").write_bytes(mark)
    with pytest.raises(LedgerError, match="restored from a copy"):
        PrivacyAccountant.open(path)
    del accountant


def test_the_birth_alone_notices(path):
    _, backup = backed_up(path)
    if place._birth(str(path)) is None:
        pytest.skip("births of files are not recorded here")
    for _ in range(4):
        removed_first(backup, path)
        path.with_name("budget.ledger.mark").unlink(missing_ok=True)
        with pytest.raises(LedgerError, match="it is a copy"):
            PrivacyAccountant.open(path)
        PrivacyAccountant.open(path, accept="moved")
        shutil.copy2(path, backup)


@pytest.mark.parametrize("content", [None, b"", bytes(700), b"secret", b"secretballot x y z"])
def test_an_empty_mark_is_written_again(path, content):
    """It was lost, perhaps in a power failure; the ledger may have been renamed."""
    accountant, _ = backed_up(path)
    mark = path.with_name("budget.ledger.mark")
    mark.unlink()
    if content is not None:
        mark.write_bytes(content)
    spend(opened(path, is_damaged=bool((content or b"").strip(b"\0"))))
    assert read_slots(str(path)).mark[1:] == (3, accountant.entries()[-1].digest)


def test_a_mark_that_is_behind_or_of_another_ledger_is_moved_on(path):
    """Behind: a process was killed between the commit and the mark."""
    accountant, _ = backed_up(path)
    mark = path.with_name("budget.ledger.mark")
    genesis = accountant._ledger.header()
    for written in (Mark(genesis.ledger_id, 0, genesis.digest), Mark("0" * 32, 99, "f" * 64)):
        mark.write_bytes(slot_bytes(written, 9))
        spend(PrivacyAccountant.open(path))
        assert read_slots(str(path)).mark.sequence == accountant.spent().n_releases


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_a_mark_is_not_written_through_a_link(path):
    accountant, _ = backed_up(path)
    other = path.with_name("other")
    other.write_text("precious")
    path.with_name("budget.ledger.mark").unlink()
    path.with_name("budget.ledger.mark").symlink_to(other)
    with pytest.raises(LedgerError, match="is not written over: it is no regular file, but a link"):
        spend(accountant)
    assert other.read_text() == "precious"


def test_a_moved_folder_takes_the_mark_along(path):
    accountant, _ = backed_up(path)
    there = path.parent.with_name("there")
    path.parent.rename(there)
    spend(PrivacyAccountant.open(there / path.name))
    with pytest.raises(LedgerError, match="does not exist"):
        spend(accountant)
    assert not Path(f"{path}.mark").exists()


# A whole folder that is written over itself: nothing in it tells.


def by_copytree(folder, kept):
    shutil.copytree(folder, kept / "copy")
    return lambda: shutil.copytree(kept / "copy", folder, dirs_exist_ok=True)


def by_tarfile(folder, kept):
    archive = shutil.make_archive(str(kept / "a"), "tar", folder)
    return lambda: shutil.unpack_archive(archive, folder, filter="data")


def by_zipfile(folder, kept):
    archive = shutil.make_archive(str(kept / "a"), "zip", folder)
    return lambda: shutil.unpack_archive(archive, folder)


def by_program(program, *options):
    """Restore a copy by a program, if there is one; two of the options are the folders."""

    def way(folder, kept):
        if not shutil.which(program):
            pytest.skip(f"needs {program}")
        shutil.copytree(folder, kept / "copy")
        arguments = [option.format(kept / "copy", folder) for option in options]
        return lambda: run_program("sh", "-c", " ".join([program, *arguments]))

    return way


IN_PLACE = {
    "copytree": by_copytree,
    "tarfile": by_tarfile,
    "zipfile": by_zipfile,
    "cp": by_program("cp", "-a", "{0}/.", "{1}"),
    "tar": by_program("tar", "-C {0} -c .", "| tar -C {1} --overwrite -x"),
    "rsync": by_program("rsync", "-aI", "--inplace", "{0}/", "{1}/"),
}


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("way", IN_PLACE.values(), ids=IN_PLACE)
def test_a_folder_written_over_itself_is_told_by_who_had_seen_more(path, tmp_path, way, capsys):
    path.parent.mkdir()
    accountant = basic_budget(path, 100.0)
    spend(accountant)
    restore = way(path.parent, tmp_path)
    spend(accountant)
    head, file = accountant.statement().head, os.stat(path)
    restore()
    assert os.path.samestat(os.stat(path), file)  # the same file, with the mark that belongs to it
    assert PrivacyAccountant.open(path).spent().n_releases == 1
    with pytest.raises(LedgerError, match="which was there before"):
        spend(accountant)
    assert main(["ledger", "verify", str(path), "--head", head]) == 1
    assert "none of its entries has the digest" in capsys.readouterr().err
