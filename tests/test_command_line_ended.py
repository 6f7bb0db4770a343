"""The command line where it can't do what was asked: no place to write to, Ctrl-C, no file."""

import os
import sys

import pytest
from tests._fakes import basic_budget, spend
from tests._programs import run_program

from secretballot.__main__ import main


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is full")
@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", ">&- 2>&-", "> /dev/full 2>&1"])
def test_an_output_that_fails_is_an_error_in_one_line(path, redirection):
    spend(basic_budget(path))
    command = f'"{sys.executable}" -m secretballot ledger show "$1" {redirection}'
    done = run_program("sh", "-c", command, "sh", path)
    assert done.returncode == 1
    assert done.stdout == ""
    errors = done.stderr.splitlines()
    assert len(errors) == ("2>" not in redirection)
    assert all(line.startswith("error: nothing can be written") for line in errors)


def test_ctrl_c_ends_a_command_quietly(path, capfd, monkeypatch):
    spend(basic_budget(path))

    def interrupted(ledger, options):
        raise KeyboardInterrupt

    monkeypatch.setattr("secretballot.reports._cli.verify", interrupted)
    monkeypatch.setattr("secretballot.reports._cli._drop_output", lambda: None)
    assert main(["ledger", "verify", str(path)]) == 130
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
@pytest.mark.parametrize("place", ["pipe", os.devnull])
def test_a_pipe_or_a_device_is_no_ledger(tmp_path, capsys, place):
    """To open a pipe would be to wait for whoever writes to it."""
    path = tmp_path / place
    if place == "pipe":
        os.mkfifo(path)
    assert main(["ledger", "show", str(path)]) == 1
    output, error = capsys.readouterr()
    assert output == ""
    assert "is no regular file" in error
