"""The user guide: what it quotes of the library is what the library says; how to cite it."""

import ast
import re
from pathlib import Path

import pytest

import secretballot
from secretballot.__main__ import main

ROOT = Path(__file__).resolve().parents[1]
GUIDE = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/guide").glob("*.md")}
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def rows(page, heading):
    """First cells of the first table after a heading."""
    _, _, after = GUIDE[page].partition(heading)
    lines = iter(after.splitlines())
    table = [next(line for line in lines if line.startswith("|"))]
    for line in lines:
        if not line.startswith("|"):
            return [row.split(" | ")[0].strip("| ") for row in table[2:]]
        table.append(line)
    raise AssertionError(heading)


def source_texts():
    """Yield every text in the source; an f-string comes in its parts."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_quoted_messages_are_those_of_the_library():
    quoted = re.findall("`(.+?)`", " ".join(rows("ledger.md", "## What to do when")))
    texts = list(source_texts())
    assert len(quoted) > 10
    assert [quote for quote in quoted if not any(quote in text for text in texts)] == []


@pytest.mark.parametrize("command", rows("ledger.md", "## Looking at it"))
def test_commands_are_commands(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(command.strip("`").split()[1:]) == 1
    assert "FILE" in capsys.readouterr().err  # which is not there


@pytest.mark.parametrize("command", rows("ledger.md", "## Administering it"))
def test_administration_is_by_commands(command, capsys):
    name, *words = command.strip("`").split()[2:]
    with pytest.raises(SystemExit, match="0"):
        main(["ledger", name, "--help"])
    usage = capsys.readouterr().out.partition("options:")[0]
    assert [word for word in words if word not in usage] == []


def test_the_citation_is_of_this_version():
    def field(name):
        (value,) = re.findall(rf'^{name}: "?(.*?)"?$', CITATION, flags=re.M)
        return value

    assert field("cff-version") == "1.2.0"
    assert field("version") == secretballot.__version__
    assert f"version = {{{secretballot.__version__}}}" in GUIDE["citing.md"]
    assert "http" not in CITATION  # no address is known
