"""What is read off the pages of a site, without a browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Links, anchors and meta data of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.meta: dict[str, str] = {}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Take note of a tag."""
        found = dict(attributes)
        self.anchors.update(filter(None, (found.get("id"), found.get("name"))))
        if tag == "meta" and found.get("property"):
            self.meta[found["property"]] = found.get("content") or ""
        link = found.get("href") if tag in ("a", "link") else found.get("src")
        # Javascript completes them: the list of versions, and what a search found.
        if link and not link.startswith(("data:", "mailto:", "javascript:")):
            self.links.append(link)


def pages_of(site: Path) -> dict[Path, Page]:
    """Return all pages of a site by their paths, without those of the theme."""
    found = (
        path
        for path in sorted(site.rglob("*.html"))
        if path.relative_to(site).parts[0] != "_static"
    )
    return {path: Page(path) for path in found}


def dead_links(pages: dict[Path, Page]) -> list[tuple[str, str]]:
    """Return links within a site that lead to no file, or to no anchor of one."""
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
                if target.is_dir():
                    target /= "index.html"
            anchor = unquote(parts.fragment)
            known = target not in pages or not anchor or anchor in pages[target].anchors
            if not target.is_file() or not known:
                dead.append((path.name, link))
    return dead
