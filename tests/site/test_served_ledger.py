"""The page of a ledger in a real browser: it is shown, complains of nothing, and runs nothing."""

import pytest
from tests._fakes import Gaussian, votes
from tests.serving._served import HOSTILE, served

from secretballot.accounting import PrivacyAccountant

pytestmark = pytest.mark.site


@pytest.fixture
def look(browser):
    """Open pages; what one of them says on the console, asks of others or shows in a box fails."""
    contexts, complaints = [], []

    def open_page(url, *, width=1280):
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on(
            "request",
            lambda asked: asked.url.startswith(url) or complaints.append(f"asks {asked.url}"),
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def hostile(tmp_path):
    """Ledger whose level and note would act where they are not escaped."""
    path = tmp_path / "survey.ledger"
    level = HOSTILE.replace("/", "")  # which no name of a level has
    accountant = PrivacyAccountant({level: 1.0, "lax": 3.0}, 1e-5, order="renyi", ledger=path)
    accountant.release(Gaussian(sigma=40), votes(20), note={HOSTILE: [HOSTILE]})
    return accountant


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_a_ledger(look, hostile, width):
    with served(hostile.ledger) as served_page:
        page = look(served_page.server.url, width=width)
        assert page.title() == "Budget of survey.ledger"
        # Bars are as wide as the shares that are spent.
        spent = [level.share for level in hostile.spent().values()]
        shares = page.evaluate(
            "[...document.querySelectorAll('.sb-bar')].map((bar) => "
            "bar.querySelector('.sb-this').getBoundingClientRect().width / "
            "bar.getBoundingClientRect().width)"
        )
        assert shares == pytest.approx(spent, abs=0.01)
        assert min(spent) > 0.01
        assert "<script>document.title" in page.inner_text("main")
        assert page.evaluate("document.scripts.length + document.images.length") == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.click("text=The statement, to print")
        page.wait_for_url("**/statement")
        assert "Privacy statement" in page.title()
        assert "<script>document.title" in page.inner_text("main")
        assert page.evaluate("document.scripts.length + document.images.length") == 0


def test_a_script_in_the_page_would_not_run(look, hostile, browser):
    """The policy alone keeps it from running."""
    with served(hostile.ledger) as served_page:
        context = browser.new_context()
        try:
            page, url = context.new_page(), served_page.server.url

            def planted(route):
                answer = route.fetch()
                body = answer.text().replace("</main>", "<script>document.title='run'</script>")
                route.fulfill(response=answer, body=body)

            page.route(url, planted)
            page.goto(url)
            assert page.evaluate("document.scripts.length") == 1
            assert page.title() == "Budget of survey.ledger"
        finally:
            context.close()


def test_another_site_can_neither_read_nor_frame_it(hostile, browser):
    """As a page of another name that its DNS leads here."""
    with served(hostile.ledger) as served_page:
        url = served_page.server.url
        other = url.replace("127.0.0.1", "localhost")  # another origin
        context = browser.new_context()
        try:
            page = context.new_page()
            page.route(
                f"{other}elsewhere",
                lambda route: route.fulfill(content_type="text/html", body="<title>other</title>"),
            )
            page.goto(f"{other}elsewhere")
            read = f"fetch('{url}statement.json').then(() => 'read', () => 'refused')"
            assert page.evaluate(read) == "refused"
            page.evaluate(
                "(url) => new Promise((done) => {"
                "const frame = document.createElement('iframe'); frame.src = url;"
                "frame.onload = frame.onerror = done; document.body.append(frame)})",
                url,
            )
            assert not any("Budget of" in frame.content() for frame in page.frames)
        finally:
            context.close()
