"""Builds the notebook that runs in a browser: the first example, with the wheel of this source."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
PAGE, HEADING = DOCS / "start.md", "## A model that may be shown"
FOLDER, NAME = "browser", "first-model.ipynb"
#: The list of notebooks. JupyterLite would write it, and its name into its settings, with the help
#: of jupyter_server and sixty packages.
INDEX = "all.json"
SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {"contentsAllJsonFile": INDEX},
}
INTRODUCTION = """# A model that may be shown

This notebook runs in your browser: choose *Run > Run All Cells*. The first cell takes longest: it
loads NumPy, SciPy, scikit-learn and pandas.

**The noise here is a demonstration, and protects nobody:** the cryptographic generator has no build
for browsers. The privacy statement at the end says so too. Install secretballot to release private
rows."""


def cells_of(page):
    """Return the cells of the notebook: the text and the code of the first section of a page."""
    section = page.partition(f"\n{HEADING}\n")[2].partition("\n## ")[0]
    parts = re.split(r"^```python\n(.*?)^```\n", section, flags=re.S | re.M)
    cells = [("markdown", INTRODUCTION), ("code", "%pip install -q secretballot pandas")]
    cells += [(("markdown", "code")[n % 2], part.strip()) for n, part in enumerate(parts)]
    return [cell for cell in [*cells, ("code", "accountant.statement()")] if cell[1]]


def notebook(cells):
    """Return a notebook, as its file holds it."""
    empty = {"code": {"execution_count": None, "outputs": []}, "markdown": {}}
    return {
        "cells": [
            {"cell_type": kind, "id": f"cell-{n}", "metadata": {}, "source": text, **empty[kind]}
            for n, (kind, text) in enumerate(cells)
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python", "language": "python", "name": "python"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def index_of(path):
    """Return the list of notebooks, one, as the contents API of Jupyter has it."""
    now = datetime.now(UTC).isoformat()
    fixed = {"created": now, "last_modified": now, "mimetype": None, "writable": True}
    file = {"name": path.name, "path": path.name, "type": "notebook", "format": None}
    size = {"content": None, "size": path.stat().st_size}
    folder = {"name": "", "path": "", "type": "directory", "format": "json", "size": None}
    return {**fixed, **folder, "content": [{**fixed, **file, **size}]}


def run(*arguments, cwd):
    """Run a module of Python; ExtensionError with its output if it fails."""
    command = [sys.executable, "-m", *map(str, arguments)]
    ended = subprocess.run(command, cwd=cwd, text=True, capture_output=True)
    if ended.returncode:
        raise ExtensionError(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")


def build(app, exception):
    """Build JupyterLite with the wheel and the notebook into a folder of the site. Offline."""
    if exception or app.builder.name != "html":
        return
    site = Path(app.outdir) / FOLDER
    with TemporaryDirectory() as folder:
        (Path(folder) / "jupyter-lite.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
        run("hatchling", "build", "-t", "wheel", "-d", folder, cwd=DOCS.parent)
        (wheel,) = Path(folder).glob("*.whl")
        options = ("--apps", "notebooks", "--no-unused-shared-packages", "--no-sourcemaps")
        wheels = ("--piplite-wheels", wheel, "--output-dir", site)
        run("jupyterlite_core", "build", "--lite-dir", folder, *options, *wheels, cwd=folder)
    file, index = site / "files" / NAME, site / "api/contents" / INDEX
    for path in (file, index):
        path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook(cells_of(PAGE.read_text(encoding="utf-8"))), indent=1)
    file.write_text(text, encoding="utf-8")
    index.write_text(json.dumps(index_of(file)), encoding="utf-8")


def setup(app):
    """Build when the pages are written."""
    app.connect("build-finished", build)
    return {"parallel_read_safe": True}
