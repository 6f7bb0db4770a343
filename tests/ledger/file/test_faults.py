"""A disk that is full or read-only: a clear error, and nothing that is not recorded."""

import json
import os
import re
import shutil
import sys

import pytest
from tests._programs import ROOT, run_program

pytest.importorskip("resource", reason="needs limits on the size of files")


def run(*command):
    return run_program(*command, cwd=ROOT, timeout=120)


def check(results, message):
    assert results
    for result in results:
        # What was returned is recorded, and what was refused is not.
        assert result["recorded"] == result["returned"]
        assert message in result["said"]
        assert "othing was released" in result["said"]
    assert results[-1]["returned"] > 1


def test_a_file_that_may_not_grow(tmp_path):
    done = run(sys.executable, "-m", "tests.ledger.file._full_disk", "limit", str(tmp_path))
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout), "disk full or failing?")


def in_a_mount(folder, options, script):
    """Run a shell script where a small file system is mounted on a folder, seen by it alone."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare")
    own = [unshare, "-m"] if os.geteuid() == 0 else [unshare, "-rm"]
    mount = f"mount -t tmpfs -o {options} tmpfs {folder}"
    if run(*own, "sh", "-c", mount).returncode:
        pytest.skip("may not mount a file system here")
    done = run(*own, "sh", "-ec", f"{mount}; {script}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_disk_that_is_full(tmp_path):
    results = json.loads(
        in_a_mount(
            tmp_path,
            "size=256k",
            f"{sys.executable} -m tests.ledger.file._full_disk mount {tmp_path}",
        )
    )
    check(results, "disk is full")
    refused = [result["created"] for result in results if result["created"]]
    assert refused
    assert all("disk is full" in message or "No space left" in message for message in refused)
    assert not any(result["leftover"] for result in results)


READ_ONLY = """
import sys
from tests._fakes import basic_budget, spend
from secretballot.accounting import LedgerError, PrivacyAccountant
if sys.argv[2] == "make":
    spend(basic_budget(sys.argv[1]))
else:
    accountant = PrivacyAccountant.open(sys.argv[1])
    try:
        spend(accountant)
    except LedgerError as error:
        print(error)
    print(accountant.spent().n_releases, accountant._ledger.verify().n_entries)
"""


def test_a_disk_that_is_read_only(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(READ_ONLY)
    folder = tmp_path / "disk"
    folder.mkdir()
    python = f"PYTHONPATH=. {sys.executable} {script} {folder}/budget.ledger"
    output = in_a_mount(
        folder, "size=256k", f"{python} make; mount -o remount,ro {folder}; {python} spend"
    )
    error, counted = output.splitlines()
    assert "have to be writable" in error
    assert "Nothing was released" in error
    assert counted == "1 1"


TRACED = """
import os, sys
from tests._fakes import basic_budget, spend
accountant = basic_budget(sys.argv[1])
spend(accountant)
os.write(1, b"before")
spend(accountant)
os.write(1, b"answer")
"""


def test_the_record_is_on_the_disk_before_the_answer_is_out(tmp_path):
    """The system calls of a spend: after a power failure at any of them, it is all or nothing."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace")
    script, log, path = (tmp_path / name for name in ("script.py", "log", "budget.ledger"))
    script.write_text(TRACED)
    calls = "trace=fsync,fdatasync,unlink,unlinkat,pwrite64,write"
    traced = ["env", "PYTHONPATH=.", strace, "-f", "-y", "-o", str(log), "-e", calls]
    done = run(*traced, sys.executable, str(script), str(path))
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("may not trace here")
    assert done.stdout == "beforeanswer"
    text = log.read_text()
    between = text[text.index('"before"') : text.index('"answer"')].splitlines()[1:-1]
    names = {f"{path}-journal": "journal", str(path): "ledger", str(tmp_path): "folder"}
    names[f"{path}.mark"] = "mark"
    kinds = {"fsync": "sync", "fdatasync": "sync", "pwrite64": "write", "unlinkat": "unlink"}
    seen = []
    for line in between:
        call, file = re.search(r'(\w+)\([^</"]*[<"]([^>"]*)[>"]', line).groups()
        step = f"{kinds.get(call, call)} {names.get(file, file)}"
        if seen[-1:] != [step]:
            seen.append(step)
    first = seen.index("write ledger")
    # What was there before can be restored, from a journal whose name is on the disk as well,
    assert seen[first - 1] == "sync journal"
    assert "sync folder" in seen[:first]
    # until what is new is there; and then the journal stays deleted. The mark is never ahead.
    committed = ["write ledger", "sync ledger", "unlink journal", "sync folder"]
    assert seen[first:] == [*committed, "write mark"]
