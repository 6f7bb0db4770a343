"""The examples of the audit's page run, and show what it says they show."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")


def numbers(line):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", line)]


def test_the_examples_run(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S):
        exec(compile(block, "audit.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.S)
    for line, expected in zip(printed, shown.splitlines(), strict=True):
        assert line.split(":")[0] == expected.split(":")[0]
        assert numbers(line) == pytest.approx(numbers(expected), rel=0.05)
    assert names["sound"].holds
    assert not names["broken"].holds
