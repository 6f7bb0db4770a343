"""The site as `make docs` built it, served on loopback, and a browser to look at it with."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "_build" / "html"
LOOK = Path(__file__).with_name("look.js")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: A browser that asks nobody but the server of this test.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def site():
    """Folder of the built site."""
    if not (SITE / "index.html").exists():
        pytest.skip("docs/_build/html is not built: make docs-test builds it")
    return SITE


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Requests are not worth a line each."""


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served."""
    handler = functools.partial(Silent, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """A headless browser of the system."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is an extra: docs")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is installed (looked for {', '.join(BROWSERS)})")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=list(QUIET))
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, address):
    """Open pages; what one of them complains of, or doesn't find, fails the test."""
    contexts, complaints = [], []

    def open_page(name="index.html", *, width=1280, height=900, mode="light"):
        def listen(said):
            if said.type == "error":
                complaints.append(f"{name}: {said.text}")

        def asked(request):
            if not request.url.startswith((address, "data:", "blob:")):
                complaints.append(f"{name} asks {request.url}")

        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=mode)
        context.add_init_script(path=LOOK)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(f"{name}: {error}"))
        page.on("console", listen)
        page.on("request", asked)
        page.goto(f"{address}/{name}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
