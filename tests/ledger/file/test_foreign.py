"""Files of other programs are left as they are, and none of them is waited for."""

import contextlib
import os
import sqlite3
import struct

import pytest
from tests._fakes import basic_budget, spend
from tests._programs import run_python

from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant


@pytest.fixture
def foreign(tmp_path):
    """A database of another program, whose last write was interrupted."""
    path, whole = tmp_path / "notes.db", tmp_path / "whole.db"
    opened = sqlite3.connect(whole, isolation_level=None)
    opened.execute("PRAGMA cache_size = 2")
    opened.execute("CREATE TABLE note (text)")
    opened.executemany("INSERT INTO note VALUES (?)", [("x" * 2000,)] * 50)
    opened.execute("BEGIN IMMEDIATE")
    opened.execute("UPDATE note SET text = 'y' || text")
    # As a process that is killed leaves them.
    for ending in ("", "-journal"):
        path.with_name(path.name + ending).write_bytes(
            whole.with_name(whole.name + ending).read_bytes()
        )
    opened.close()
    for each in tmp_path.glob("whole.db*"):
        each.unlink()
    return path


def contents(folder):
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.mark.parametrize("command", ["show", "verify"])
def test_an_interrupted_write_of_another_program_is_not_rolled_back(foreign, command):
    before = contents(foreign.parent)
    assert len(before) == 2
    assert main(["ledger", command, str(foreign)]) == 1
    with pytest.raises(LedgerError, match="not a ledger"):
        PrivacyAccountant.open(foreign)
    assert contents(foreign.parent) == before


def test_a_text_with_a_journal_is_left_alone(tmp_path):
    """No mark is made beside it."""
    path = tmp_path / "notes.txt"
    path.write_text("notes")
    (tmp_path / "notes.txt-journal").write_text("more notes")
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="not a ledger"):
        PrivacyAccountant.open(path)
    assert contents(tmp_path) == before


def test_a_database_in_the_place_of_a_ledger_is_not_written_to(foreign, tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = basic_budget(path)
    foreign.with_name("notes.db-journal").unlink()
    os.replace(foreign, path)
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="not a ledger"):
        spend(accountant)
    assert contents(tmp_path) == before


def journal_of(content):
    """The journal of a write that changed every page of a database, which it had made durable."""
    size, nonce = int.from_bytes(content[16:18], "big"), 7
    pages = [content[start : start + size] for start in range(0, len(content), size)]
    magic = bytes.fromhex("d9d505f920a163d7")
    header = struct.pack(">8s5I", magic, len(pages), nonce, len(pages), 512, size)
    records = [header.ljust(512, b"\0")]
    for number, page in enumerate(pages, start=1):
        checksum = nonce + sum(page[size - 200 : 0 : -200])
        records.append(struct.pack(">I", number) + page + struct.pack(">I", checksum))
    return b"".join(records)


#: The journal of the first write to an empty file.
OF_CREATION = struct.pack(">8s5I", bytes.fromhex("d9d505f920a163d7"), 0, 7, 0, 512, 4096)


def test_a_creation_that_was_interrupted_while_it_was_committed(tmp_path):
    path, journal = tmp_path / "budget.ledger", tmp_path / "budget.ledger-journal"
    basic_budget(path)
    path.write_bytes(path.read_bytes()[:8192])
    journal.write_bytes(OF_CREATION.ljust(512, b"\0"))
    path.with_name("budget.ledger.mark").write_bytes(b"")
    with pytest.raises(LedgerError, match="creation was interrupted"):
        PrivacyAccountant.open(path)
    assert path.read_bytes() == b""


def test_the_journal_of_a_write_that_was_interrupted_is_rolled_back(tmp_path):
    path, journal = tmp_path / "budget.ledger", tmp_path / "budget.ledger-journal"
    accountant = basic_budget(path, 100.0)
    spend(accountant)
    before = path.read_bytes()
    spend(accountant)
    after = path.read_bytes()
    for written in (before, after, before[:4096] + after[4096:], after[:4096] + before[4096:]):
        path.write_bytes(written)
        journal.write_bytes(journal_of(before))
        path.with_name("budget.ledger.mark").write_bytes(b"")
        assert PrivacyAccountant.open(path).spent().n_releases == 1
        assert path.read_bytes() == before
        assert not journal.exists()


@pytest.mark.parametrize("kind", ["an old one", "another ledger's"])
def test_a_ledger_with_a_foreign_journal_is_refused(tmp_path, kind):
    """SQLite rolls it back. Nothing is spent again that was spent."""
    path = tmp_path / "budget.ledger"
    accountant, other = basic_budget(path), tmp_path / "other.ledger"
    basic_budget(other)
    content = journal_of((path if kind == "an old one" else other).read_bytes())
    spend(accountant, 3)
    path.with_name("budget.ledger-journal").write_bytes(content)
    for use in (lambda: spend(accountant), lambda: PrivacyAccountant.open(path)):
        with pytest.raises(LedgerError, match="is gone or was altered|a copy|another ledger"):
            use()


@pytest.mark.parametrize("n_bytes", [1, 8, 11, 12, 16, 24, 27])
def test_a_journal_whose_header_was_not_written_whole_is_of_no_write(tmp_path, n_bytes):
    """The power failed while SQLite wrote it: the ledger itself was not touched yet."""
    path, journal = tmp_path / "budget.ledger", tmp_path / "budget.ledger-journal"
    accountant = basic_budget(path, 100.0)
    spend(accountant)
    whole = journal_of(path.read_bytes())
    for rest in (b"", bytes(512 - n_bytes), b"\xff" * (512 - n_bytes)):
        journal.write_bytes(whole[:n_bytes] + rest)
        assert PrivacyAccountant.open(path).spent().n_releases == accountant.spent().n_releases
        spend(accountant)
        assert not journal.exists()
    assert accountant._ledger.verify().n_entries == 4


#: A program, as one that waited would be ended.
IRREGULAR = """
import os, socket, sys
from tests._fakes import basic_budget, spend
from tests._programs import run_python
from secretballot.__main__ import main
from secretballot.accounting import LedgerError, PrivacyAccountant

path, kind = sys.argv[1:]
accountant = basic_budget(path)


def check(ending, kind):
    name = path + ending
    if not ending:
        os.rename(path, path + ".aside")
        if kind == "without a mark":
            os.unlink(path + ".mark")
    if kind == "a socket":
        os.chdir(os.path.dirname(name))
        socket.socket(socket.AF_UNIX).bind(os.path.basename(name))
    elif kind == "a device":
        os.symlink("/dev/zero", name)
    else:
        os.mkfifo(name)
    uses = [
        lambda: accountant.entries(),
        lambda: spend(accountant),
        lambda: PrivacyAccountant.open(path),
        lambda: basic_budget(path),
    ]
    for use in uses:
        try:
            use()
        except LedgerError as error:
            assert "regular file" in str(error) or "exists already" in str(error), error
        else:
            raise AssertionError("it was used")
    assert [main(["ledger", command, path]) for command in ("show", "verify")] == [1, 1]
    os.unlink(name)
    if not ending:
        os.rename(path + ".aside", path)
    spend(accountant)


for ending in ("", "-journal", "-wal"):
    check(ending, kind)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ["a pipe", "without a mark", "a socket", "a device"])
def test_an_irregular_file_is_refused_at_once(tmp_path, kind):
    done = run_python("-c", IRREGULAR, tmp_path / "budget.ledger", kind, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [7, b"budget", ["budget"], "a\0b", "\ud800"])
def test_an_invalid_path_is_refused(name):
    for make in (lambda: basic_budget(name), lambda: PrivacyAccountant.open(name)):
        with pytest.raises((TypeError, ValueError), match="ledger=.*(path|characters)"):
            make()


def test_a_name_too_long_for_its_journal_leaves_nothing(tmp_path):
    with pytest.raises(LedgerError):
        basic_budget(tmp_path / ("n" * 249))
    assert not list(tmp_path.iterdir())


def a_text(path):
    path.write_text("a letter that nobody has a copy of")


def an_empty_file(path):
    path.touch()


def a_folder(path):
    path.mkdir()


def a_database(path):
    with contextlib.closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE note (text)")


def a_link_to_itself(path):
    path.symlink_to(path)


def a_pipe(path):
    os.mkfifo(path)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
@pytest.mark.parametrize(
    ("make", "what"),
    [
        (a_text, "a file of something else"),
        (an_empty_file, "an empty file"),
        (a_folder, "a folder"),
        (a_database, "a file of something else"),
        (a_link_to_itself, "a link that leads nowhere"),
        (a_pipe, "no regular file"),
    ],
)
def test_a_new_ledger_in_the_place_of_another_file(tmp_path, make, what):
    """The message does not call it a budget that goes on."""
    path = tmp_path / "notes"
    make(path)
    kind = os.lstat(path)
    with pytest.raises(LedgerError, match=f"exists already, and is no ledger but {what}") as error:
        basic_budget(path)
    assert "continues" not in str(error.value)
    assert os.lstat(path) == kind
    assert list(tmp_path.iterdir()) == [path]
