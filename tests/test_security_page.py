"""The security page: each claim names a test that exists, and its commands are commands."""

import re
from pathlib import Path

import pytest

from secretballot.__main__ import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "topics" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"(?:tests|benchmarks)/[\w/]+\.py", PAGE)))
COMMANDS = re.findall(r"^    secretballot (.*?)(?:  +#.*)?$", PAGE, flags=re.M)


@pytest.mark.parametrize("name", NAMED)
def test_files_that_are_named_exist(name):
    assert (ROOT / name).is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_commands(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(command.split("#")[0].split()) == 1
    assert "FILE" in capsys.readouterr().err  # which is not there


def test_every_claim_names_its_test():
    heads = ("| claim | how | tested in |", "| --- | --- | --- |")
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and line not in heads]
    assert len(rows) > 30
    assert all(re.search(r"`tests/[\w/]+\.py` \|$", row) for row in rows)
    assert len(COMMANDS) == 8
