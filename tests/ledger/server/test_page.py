"""The page on ledgers on a server: its example runs, and the tests that it names exist."""

import re
from pathlib import Path

import pytest

from secretballot.accounting import PrivacyAccountant

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "topics" / "ledger-on-a-server.md").read_text(encoding="utf-8")


def test_the_example_runs(url):
    (example,) = re.findall(r"```py\n(.*?)```", PAGE, re.S)
    (shown,) = re.findall(r'url = "(.*)"', example)
    names = {}
    exec(example.replace(shown, url), names)
    assert names["accountant"].ledger == url
    assert PrivacyAccountant.open(url).epsilon == 1.0


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`", PAGE)))
)
def test_files_that_are_named_exist(name):
    assert (ROOT / name).is_file()


def test_roles_that_are_named_are_made():
    from secretballot.ledger._server_store import roles_script

    script = roles_script()
    for role in re.findall(r"^\| `secretballot_(\w+)`", PAGE, re.M):
        assert f"'{role}'" in script
