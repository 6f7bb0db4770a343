"""The security page: each claim names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "topics" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"(?:tests|benchmarks)/[\w/]+\.py", PAGE)))


@pytest.mark.parametrize("name", NAMED)
def test_files_that_are_named_exist(name):
    assert (ROOT / name).is_file()


def test_every_claim_names_its_test():
    heads = ("| claim | how | tested in |", "| --- | --- | --- |")
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and line not in heads]
    assert len(rows) > 30
    assert all(re.search(r"`tests/[\w/]+\.py` \|$", row) for row in rows)
