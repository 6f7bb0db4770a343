"""The page of a statement: whole, self-contained, escaped, and with room for a signature."""

import dataclasses
import re
import warnings
from datetime import UTC, date, datetime
from html.parser import HTMLParser

import pytest
from tests._fakes import Gaussian, Known, Pure, basic_budget, spend, votes

from secretballot import __version__
from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning

HOSTILE = "\"><script>alert(1)<img src=x onerror='alert(2)'>{}\x1b[2J\u202e&lt;"

#: The tags of a page: nothing that loads, runs or sends.
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "div", "p", "strong", "span", "br"),
    *("dl", "dt", "dd", "h3", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"),
}


class Reader(HTMLParser):
    """Read a page: its tags, attributes and text; every tag is closed."""

    VOID = ("meta", "br", "!doctype")

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)


@pytest.fixture
def statement(tmp_path):
    accountant = PrivacyAccountant(
        {"strict": 1.0, "lax": 3.0}, 1e-5, order="renyi", ledger=tmp_path / "named.ledger"
    )
    accountant.release(Gaussian(sigma=40), votes(2))
    return accountant.statement()


def test_it_has_all_of_the_statement(statement):
    page = statement.to_page(date(2026, 7, 1))
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    text = " ".join(" ".join(Reader(page).texts).split())
    for answer in statement.summary.values():
        assert answer in text
    for sentence in (*statement.outside, *statement.recorded, *statement.assumptions):
        assert sentence in text
    assert f"1 entry, head digest {statement.head}" in text
    assert f"verify FILE --head 1:{statement.head}" in text
    assert f"Page made on 2026-07-01 by secretballot {__version__}" in text
    for line in ("Data set", "Organisation", "Name", "Role", "Date", "Signature"):
        assert f"<span>{line}</span><span></span>" in page


def test_it_is_of_today(statement):
    days = {datetime.now(UTC).date().isoformat()}
    page = statement.to_page()
    days.add(datetime.now(UTC).date().isoformat())
    assert any(f"Page made on {day} by" in page for day in days)
    assert "Page made" not in f"{statement}{statement.to_html()}"


def test_it_loads_and_runs_nothing(statement):
    page = statement.to_page()
    read = Reader(page)
    assert set(read.tags) <= TAGS
    assert {name for name, _ in read.attributes} <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "scope", "style"),
    }
    assert not re.search(r"url\(|@import|https?:|javascript:|src=|href=", page)
    (policy,) = [value for _, value in read.attributes if value and "default-src" in value]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_hostile_names_are_text():
    accountant = PrivacyAccountant({HOSTILE: 1.0, "b": 12.0}, 1e-5, order="renyi", unit="owner")
    note = {"measured": HOSTILE, "people": {HOSTILE: 3}, "split_by": "owner", HOSTILE: HOSTILE}
    accountant.release(Gaussian(sigma=40), votes(1), note=note)
    statement = accountant.statement()
    page = statement.to_page()
    read = Reader(page)
    for tag in ("script", "img"):
        assert tag not in read.tags
    assert "\x1b" not in page
    assert "\u202e" not in page
    shown = " ".join(read.texts)
    # In the first lines, in tables, in a release and among the assumptions.
    assert shown.count("<script>alert(1)<img") >= 6
    assert "\\x1b[2J\\u202e&lt;" in shown


def test_names_of_other_programs_are_escaped():
    """A ledger that another program wrote: the id, the times and the version are its own."""
    accountant = basic_budget()
    spend(accountant)
    altered = dataclasses.replace(
        accountant.statement(), ledger_id=HOSTILE, library_version=HOSTILE, head=HOSTILE
    )
    assert "script" not in Reader(altered.to_page()).tags


def test_a_data_dependent_page_has_nothing_to_sign():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant = PrivacyAccountant(1.0, 1e-5, accounting="data_dependent", order="renyi")
    accountant.release(Known(most=1.0), [[5.0, 1e-4]])
    page = accountant.statement().to_page()
    assert accountant.entries()[-1].digest not in page
    assert "head digest withheld" in page
    assert "Signature" not in page
    assert 'sb-blanks"' not in page


def test_seeded_releases_are_marked():
    accountant = basic_budget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant.release(Pure(epsilon=0.25), votes(1), random_state=0)
    assert "REPRODUCIBLE NOISE" in accountant.statement().to_page()
