"""The page of a ledger: bars, entries, state of chain and witness; no folder, nothing withheld."""

import json
import re
import shutil
import warnings
from html.parser import HTMLParser

import pytest
from tests._fakes import Gaussian, Known, Pure, basic_budget, spend, tamper, votes
from tests.serving._served import HOSTILE, served

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning, PrivacyStatement, Witness
from secretballot.mechanisms import GNMax


class Text(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.bars = [], "", []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.bars += [value for name, value in attributes if name == "aria-label"]

    def handle_data(self, data):
        self.text += f" {data}"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "private folder" / "survey.ledger"


@pytest.fixture
def accountant(path):
    path.parent.mkdir()
    accountant = PrivacyAccountant({"strict": 1.0, "lax": 3.0}, 1e-5, order="renyi", ledger=path)
    accountant.release(Gaussian(sigma=40), votes(5), note={"purpose": "a trial"})
    return accountant


def texts(path, witness=None):
    with served(path, witness) as page:
        status, _, text = page.ask()
    assert status == 200
    return Text(text)


def test_budget_entries_and_state(accountant, path):
    page = texts(path)
    spent = accountant.spent()
    for name, epsilon in (("strict", "1"), ("lax", "3")):
        assert f"{name} {epsilon}" in " ".join(page.text.split())
        share = spent[name].share
        assert f"{share:.1%} spent, {1 - share:.1%} left" in page.bars
    assert f"unaltered: 1 entry, head digest {accountant.statement().head}" in page.text
    assert "Gaussian(sigma=40)" in page.text
    assert '{"purpose": "a trial"}' in page.text
    assert "complete, by the mark" in page.text
    assert "none was given" in page.text


def test_it_is_read_anew_while_others_spend(accountant, path):
    with served(path) as page:
        assert "unaltered: 1 entry," in page.ask()[2]
        accountant.release(Gaussian(sigma=40), votes(5))
        assert "unaltered: 2 entries," in page.ask()[2]
        assert json.loads(page.ask("/statement.json")[2])["n_entries"] == 2


def test_no_folder_is_named(accountant, path):
    reservation = accountant.reserve(Gaussian(sigma=400), 2)
    accountant.settle(reservation)
    with served(path) as page:
        for place in ("/", "/statement", "/statement.json", "/none"):
            assert "private folder" not in page.ask(place)[2]
        tamper(path, "UPDATE entry SET n_rows = n_rows + 1 WHERE sequence = 1")
        for place in ("/", "/statement", "/statement.json"):
            status, _, text = page.ask(place)
            assert status == 503
            assert text.startswith("503 Service Unavailable: The ledger has a fault")
            assert "private folder" not in text
            assert "Traceback" not in text
        assert len(page.complaints) == 3
        assert "entry 1 does not follow" in page.complaints[0]


def test_the_statement(accountant, path):
    with served(path) as page:
        _, headers, text = page.ask("/statement")
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert text == accountant.statement().to_page()
        _, headers, text = page.ask("/statement.json")
        assert headers["Content-Type"] == "application/json"
        assert PrivacyStatement.from_dict(json.loads(text)) == accountant.statement()


def test_child_budgets_are_bars_with_their_state(tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    assert "CHILD BUDGETS" not in texts(path).text.upper()
    child = accountant.child("cardiology", epsilon=0.5)
    year = child.child("2026", epsilon=0.2)
    year.release(GNMax(sigma=100.0), votes(1))
    name = HOSTILE.replace("/", "")
    accountant.child(name, epsilon=0.1, sealed=True).begin()
    page = texts(path)
    assert "CHILD BUDGETS" in page.text.upper()
    assert not {"script", "img"} & set(page.tags)
    for handle in (child, year):
        share = handle.spent().share
        assert 0 < share < 1
        assert f"{share:.1%} spent, {1 - share:.1%} left" in page.bars
    words = " ".join(page.text.split())
    assert f"cardiology/2026 everyone 0.2 {year.spent().share:.1%} 1 open" in words
    assert "everyone 0.1 elsewhere elsewhere begun" in words
    year.close()
    assert "1 closed" in " ".join(texts(path).text.split())


def test_hostile_names_are_text(tmp_path):
    path = tmp_path / "hostile.ledger"
    level = HOSTILE.replace("/", "")  # which no name of a level has
    accountant = PrivacyAccountant({level: 1.0, "lax": 3.0}, 1e-5, order="renyi", ledger=path)
    accountant.release(Gaussian(sigma=40), votes(1), note={HOSTILE: [HOSTILE]})
    with served(path) as page:
        for place in ("/", "/statement"):
            text = page.ask(place)[2]
            assert not {"script", "img"} & set(Text(text).tags)
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert "<script>document.title" in Text(text).text


def test_a_hostile_file_name_is_text(tmp_path):
    path = tmp_path / "<script>alert(1)<img src=x>.ledger"
    try:
        basic_budget(path)
    except OSError:
        pytest.skip("this file system has no such names")
    page = texts(path)
    assert not {"script", "img"} & set(page.tags)
    assert "Budget of <script>" in page.text


def test_only_the_latest_entries_are_shown(tmp_path):
    accountant = basic_budget(tmp_path / "long.ledger", epsilon=1000.0)
    spend(accountant, 60)
    accountant.release(Pure(epsilon=0.25), votes(1), note={"long": "x" * 10_000})
    page = texts(tmp_path / "long.ledger")
    assert "11 earlier entries not shown" in page.text
    # Number and day of each, the latest first.
    numbers = [int(number) for number in re.findall(r"(\d+) 20\d\d-", page.text)]
    assert numbers == [*range(61, 11, -1)]
    assert "x" * 200 in page.text
    assert "x" * 400 not in page.text


def test_seeds_reservations_and_an_empty_ledger(tmp_path):
    path = tmp_path / "some.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path, allow_seeded=True)
    assert "None." in texts(path).text
    reservation = accountant.reserve(GNMax(sigma=40.0), 4, n_columns=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant.release(GNMax(sigma=40.0), votes(1), reservation=reservation, random_state=0)
    accountant.settle(reservation)
    text = texts(path).text
    for words in ("reserved 4 rows: GNMax", "settled: GNMax", "REPRODUCIBLE NOISE"):
        assert words in text


def test_a_data_dependent_budget_is_withheld(tmp_path):
    path = tmp_path / "known.ledger"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant = PrivacyAccountant(
            1.0, 1e-5, accounting="data_dependent", order="renyi", ledger=path
        )
    accountant.release(Known(most=1.25), [[5.0, 1e-7]] * 7919)
    with served(path) as page:
        for place in ("/", "/statement", "/statement.json"):
            text = page.ask(place)[2]
            assert accountant.entries()[-1].digest not in text
            assert f"{accountant.spent().share:.1%}" not in text
            assert "1.25" not in text
            assert "7919" not in text.replace(",", "")
        assert "head digest withheld" in page.ask()[2]


def test_private_records_are_not_shown(tmp_path):
    path = tmp_path / "sanitized.ledger"
    accountant = PrivacyAccountant(50.0, 1e-5, accounting="sanitized", order="renyi", ledger=path)
    accountant.release(GNMax(sigma=40.0), [[40, 3], [2, 41]])
    records = list(accountant.private_records().values())
    assert records
    with served(path) as page:
        for place in ("/", "/statement", "/statement.json"):
            text = page.ask(place)[2]
            assert not any(record in text for record in records)
            assert "sensitive" not in text or place != "/"


def test_a_copy_says_so(accountant, path):
    copy = path.with_name("copy.ledger")
    shutil.copy(path, copy)
    assert "This is a copy of a ledger" in texts(copy).text


def test_the_witness(tmp_path):
    pytest.importorskip("cryptography", reason="cryptography is an extra: witness")
    from secretballot.accounting.witnessing import make_key_pair, publish_head

    path, log = tmp_path / "a.ledger", tmp_path / "heads"
    accountant = basic_budget(path)
    spend(accountant, 2)
    make_key_pair(tmp_path / "key")
    witness = Witness(log, tmp_path / "key.pub")
    log.touch()
    with served(path, witness) as page:
        assert "no signed head yet: nothing was compared" in page.ask()[2]
        publish_head(accountant._ledger, tmp_path / "key", log)
        assert "signed heads: 1, all in this ledger; the newest, of 2 entries" in page.ask()[2]
        assert json.loads(page.ask("/statement.json")[2])["witness"]["n_heads"] == 1
    # Another ledger in its place.
    for file in (path, tmp_path / "a.ledger.mark"):
        file.unlink()
    spend(basic_budget(path))
    with served(path, witness) as page:
        status, _, text = page.ask()
        assert status == 200
        assert text.count("LACKS WHAT ITS WITNESS SIGNED") == 2
        assert str(tmp_path) not in text
        assert "another one than its witness" in page.complaints[0]
        assert page.ask("/statement")[0] == page.ask("/statement.json")[0] == 503
