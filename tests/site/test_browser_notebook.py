"""The notebook that runs in a browser: its page, its wheel and its code.

That Pyodide runs it is not tested: the browser would have to load NumPy and scikit-learn from
another server. The code runs in an ordinary interpreter that lacks what a browser lacks.
"""

from __future__ import annotations

import json
import re
from zipfile import ZipFile

import pytest
from tests._browser import run_in_browser
from tests.site.conftest import ROOT

pytestmark = pytest.mark.site

NAME = "first-model.ipynb"


@pytest.fixture
def folder(site):
    """Folder of JupyterLite in the site."""
    return site / "browser"


@pytest.fixture
def cells(folder):
    """Cells of the notebook."""
    return json.loads((folder / "files" / NAME).read_text(encoding="utf-8"))["cells"]


def test_the_page_and_the_notebook_are_in_the_site(site, folder):
    assert f"browser/notebooks/index.html?path={NAME}" in (site / "start.html").read_text()
    assert (folder / "notebooks/index.html").is_file()
    index = json.loads((folder / "api/contents/all.json").read_text())
    assert [(file["path"], file["type"]) for file in index["content"]] == [(NAME, "notebook")]


def test_the_wheel_in_the_site_is_of_this_source(folder):
    (wheel,) = (folder / "pypi").glob("*.whl")
    assert wheel.name in (folder / "pypi/all.json").read_text()
    assert "./pypi/all.json" in (folder / "jupyter-lite.json").read_text()
    with ZipFile(wheel) as files:
        for path in ("secretballot/accounting/_random.py", "secretballot/__init__.py"):
            assert files.read(path) == (ROOT / "src" / path).read_bytes()
        (metadata,) = (name for name in files.namelist() if name.endswith("/METADATA"))
        text = files.read(metadata).decode()
    required = re.findall(r"^Requires-Dist: (randomgen.*)$", text, flags=re.M)
    assert required == ["randomgen>=2.0; sys_platform != 'emscripten'"]


def test_the_code_of_the_notebook_runs_where_a_browser_is_simulated(cells):
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert code[0] == "%pip install -q secretballot pandas"
    assert code[-1] == "accountant.statement()"
    ran = run_in_browser("\n".join([*code[1:-1], f"print({code[-1]})"]), timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"\d+% of the budget is left", ran.stdout)
    assert "How strongly: NOT AT ALL. NOT PROTECTED" in ran.stdout
    assert "Demonstration: this noise protects nobody" in ran.stderr


def test_the_notebook_opens_in_a_browser(browser, address, cells):
    """Its cells are shown; all other servers, and so Python, can't be reached."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{address}/browser/notebooks/index.html?path={NAME}")
    page.get_by_role("heading", name="A model that may be shown").wait_for(timeout=30_000)
    shown = page.locator(".jp-Notebook .jp-Cell")
    shown.nth(len(cells) - 1).wait_for(timeout=30_000)  # they are drawn one after the other
    assert shown.count() == len(cells)
    assert "protects nobody" in shown.first.inner_text()
    assert "%pip install" in shown.nth(1).inner_text()
    context.close()
