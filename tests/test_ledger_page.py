"""The page of a ledger: bars, entries and state; no folder, and nothing that is withheld."""

import re
import shutil
import warnings
from functools import partial
from html.parser import HTMLParser

import pytest
from tests._commands import ledger_command
from tests._fakes import Gaussian, Known, Pure, basic_budget, spend, tamper, votes

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.mechanisms import GNMax

#: A name, a note or a level that would act where it is not escaped.
HOSTILE = "\"><script>document.title='run'<img src=x onerror=alert(2)>&lt;\x1b[2J\u202e"


class Text(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.bars = [], "", []
        self.feed(page)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.bars += [value for name, value in attributes if name == "aria-label"]

    def handle_data(self, data):
        self.text += f" {data}"


@pytest.fixture
def run(capsys):
    return partial(ledger_command, capsys)


@pytest.fixture
def page(run):
    """Return what the page of a ledger holds."""

    def read(path, *options):
        status, output, _ = run("show", path, "--html", *options)
        assert status == 0
        return Text(output)

    return read


@pytest.fixture
def path(tmp_path):
    return tmp_path / "private folder" / "survey.ledger"


@pytest.fixture
def accountant(path):
    path.parent.mkdir()
    accountant = PrivacyAccountant({"strict": 1.0, "lax": 3.0}, 1e-5, order="renyi", ledger=path)
    accountant.release(Gaussian(sigma=40), votes(5), note={"purpose": "a trial"})
    return accountant


def test_budget_entries_and_state(page, accountant, path):
    shown = page(path)
    for name, epsilon in (("strict", "1"), ("lax", "3")):
        assert f"{name} {epsilon}" in shown.text
        share = accountant.spent()[name].share
        assert f"{share:.1%} spent, {1 - share:.1%} left" in shown.bars
    assert f"unaltered: 1 entry, head digest {accountant.statement().head}" in shown.text
    assert "Gaussian(sigma=40)" in shown.text
    assert '{"purpose": "a trial"}' in shown.text
    assert "complete, by the mark" in shown.text


def test_no_folder_is_named(run, accountant, path):
    accountant.settle(accountant.reserve(Gaussian(sigma=400), 2))
    assert "private folder" not in run("show", path, "--html")[1]
    copy = path.with_name("copy.ledger")
    shutil.copy(path, copy)
    status, text, _ = run("show", copy, "--html")
    assert status == 0
    assert "This is a copy of a ledger" in text
    assert "private folder" not in text


def test_an_altered_ledger_has_no_page(run, tmp_path):
    """All entries are checked, also where only the last are shown."""
    path, file = tmp_path / "long.ledger", tmp_path / "page.html"
    spend(basic_budget(path, epsilon=1000.0), 140)
    tamper(path, "UPDATE entry SET n_rows = n_rows + 1 WHERE sequence = 1")
    assert run("show", path, "--last", 1)[0] == 0
    status, output, errors = run("show", path, "--last", 1, "--html", file)
    assert (status, output) == (1, "")
    assert "entry 1 does not follow" in errors
    assert not file.exists()


def test_child_budgets_are_bars_with_their_state(page, tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    assert "CHILD BUDGETS" not in page(path).text.upper()
    child = accountant.child("cardiology", epsilon=0.5)
    child.release(GNMax(sigma=100.0), votes(1))
    accountant.child(HOSTILE, epsilon=0.1)
    shown = page(path)
    assert "CHILD BUDGETS" in shown.text.upper()
    assert not {"script", "img"} & set(shown.tags)
    share = child.spent().share
    assert 0 < share < 1
    assert f"{share:.1%} spent, {1 - share:.1%} left" in shown.bars
    assert f"cardiology everyone 0.5 {share:.1%} 1 open" in shown.text
    child.close()
    assert "1 closed" in page(path).text


def test_hostile_names_are_text(run, tmp_path):
    path = tmp_path / "<script>alert(1)<img src=x>.ledger"
    try:
        accountant = PrivacyAccountant({HOSTILE: 1.0, "lax": 3.0}, 1e-5, ledger=path)
    except OSError:
        pytest.skip("this file system has no such names")
    accountant.release(GNMax(sigma=100.0), votes(1), note={HOSTILE: [HOSTILE]})
    text = run("show", path, "--html")[1]
    assert not {"script", "img", "nav", "a"} & set(Text(text).tags)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>document.title" in Text(text).text
    assert "Budget of <script>" in Text(text).text


def test_the_latest_entries(page, tmp_path):
    path = tmp_path / "long.ledger"
    accountant = basic_budget(path, epsilon=1000.0)
    assert "None." in page(path).text
    spend(accountant, 70)
    accountant.release(Pure(epsilon=0.25), votes(1), note={"long": "x" * 10_000})
    # Number and day of each, the latest first.
    for options, n_shown in ((), 71), (("--last", 60), 60), (("--last", 10**30), 71):
        shown = page(path, *options)
        numbers = [int(number) for number in re.findall(r"(\d+) 20\d\d-", shown.text)]
        assert numbers == [*range(71, 71 - n_shown, -1)]
        assert ("11 earlier entries not shown" in shown.text) == (n_shown == 60)
        assert "x" * 200 in shown.text
        assert "x" * 400 not in shown.text
    assert "71 earlier entries not shown" in page(path, "--last", 0).text


def test_seeds_and_reservations(page, tmp_path):
    path = tmp_path / "some.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path, allow_seeded=True)
    reservation = accountant.reserve(GNMax(sigma=40.0), 4, n_columns=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant.release(GNMax(sigma=40.0), votes(1), reservation=reservation, random_state=0)
    accountant.settle(reservation)
    text = page(path).text
    for words in ("reserved 4 rows: GNMax", "settled: GNMax", "REPRODUCIBLE NOISE"):
        assert words in text


def test_a_data_dependent_budget_is_withheld(run, tmp_path):
    path, file = tmp_path / "known.ledger", tmp_path / "page.html"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant = PrivacyAccountant(
            1.0, 1e-5, accounting="data_dependent", order="renyi", ledger=path
        )
    accountant.release(Known(most=1.25), [[5.0, 1e-7]] * 7919)
    status, output, _ = run("show", path, "--html", file)
    assert (status, output) == (0, f"{file}: 1 entry, head digest withheld\n")
    text = file.read_text(encoding="utf-8")
    for withheld in (accountant.entries()[-1].digest, f"{accountant.spent().share:.1%}", "1.25"):
        assert withheld not in text
    assert "7919" not in text.replace(",", "")
    assert "head digest withheld" in text
