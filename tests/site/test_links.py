"""Links of the built site lead somewhere, and pages say what they are about."""

from __future__ import annotations

import re

import pytest
from tests.site._pages import dead_links, pages_of

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def pages(site):
    return pages_of(site)


def test_no_link_is_dead(pages):
    assert sum(len(page.links) for page in pages.values()) > 5_000
    assert dead_links(pages) == []


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">1</a><a href="b.html#gone">2</a>')
    (tmp_path / "b.html").write_text('<p id="here"><a href="c.html">3</a><img src="d.png">')
    assert dead_links(pages_of(tmp_path)) == [
        ("a.html", "b.html#gone"),
        ("b.html", "c.html"),
        ("b.html", "d.png"),
    ]


def test_no_page_needs_another_server(pages):
    """Fonts, scripts and formulas come with the site; links to elsewhere are for people."""
    for path in pages:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(https?:[^"]+)', text)
        assert loaded == [], path
        assert not re.search(r"github\.com/[\w-]*secretballot", text), path


def test_pages_say_what_they_are_about(pages, site):
    for name in ("index.html", "guide/limits.html", "topics/budgets.html"):
        meta = pages[site / name].meta
        assert meta["og:title"]
        assert len(meta["og:description"]) > 40, name
        assert meta.get("og:url", "https:").startswith("https:"), name


def test_code_can_be_read_from_its_page(pages, site):
    page = pages[site / "api/generated/secretballot.ensemble.PrivateTeacherEnsemble.html"]
    assert any(
        "_modules/secretballot/ensemble/_private_teacher_ensemble.html#" in link
        for link in page.links
    )
