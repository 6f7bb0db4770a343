"""The page of a ledger in a real browser: it is shown, complains of nothing, and runs nothing."""

import pytest
from tests._commands import ledger_command
from tests._fakes import Gaussian, votes
from tests.test_ledger_page import HOSTILE

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
            lambda asked: asked.url == url or complaints.append(f"asks {asked.url}"),
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def accountant(tmp_path):
    """Accountant whose level and note would act where they are not escaped."""
    path = tmp_path / "survey.ledger"
    accountant = PrivacyAccountant({HOSTILE: 1.0, "lax": 3.0}, 1e-5, order="renyi", ledger=path)
    accountant.release(Gaussian(sigma=40), votes(20), note={HOSTILE: [HOSTILE]})
    return accountant


@pytest.fixture
def file(accountant, tmp_path, capsys):
    """Page of the ledger."""
    file = tmp_path / "page.html"
    assert ledger_command(capsys, "show", accountant.ledger, "--html", file)[0] == 0
    return file


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_a_ledger(look, accountant, file, width):
    page = look(file.as_uri(), width=width)
    assert page.title() == "Budget of survey.ledger"
    # Bars are as wide as the shares that are spent.
    spent = [level.share for level in accountant.spent().values()]
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


def test_a_script_in_the_page_would_not_run(browser, file):
    """The policy alone keeps it from running."""
    planted = "<script>document.title='run'</script></main>"
    file.write_text(file.read_text(encoding="utf-8").replace("</main>", planted), encoding="utf-8")
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.evaluate("document.scripts.length") == 1
        assert page.title() == "Budget of survey.ledger"
    finally:
        context.close()
