"""Examples are pages of the gallery: all have the form of one, and two quick ones run.

`make docs` runs every one of them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from examples import __main__ as runner

GALLERY = runner.examples()


@pytest.fixture(params=GALLERY, ids=str)
def example(request):
    return GALLERY[request.param].read_text(encoding="utf-8")


def test_there_are_a_dozen():
    assert len(GALLERY) >= 12


def test_an_example_has_the_form_of_a_page(example):
    title, underline, *introduction = ast.get_docstring(ast.parse(example)).splitlines()
    assert underline == "=" * len(title)
    assert len(" ".join(introduction).split()) > 25
    blocks = re.split(r"^# %%\n", example, flags=re.M)[1:]
    assert len(blocks) >= 4
    # Sphinx would take a block without text for part of the one before.
    assert all(block.startswith("# ") for block in blocks)
    for field in (":Private:", ":Public:", ":Protected:"):
        assert field in example
    assert re.search(r":term:`(epsilon|Epsilon <epsilon>)`", example)


def test_an_example_draws_and_is_linear(example):
    tree = ast.parse(example)
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert "plt.show" in called
    assert "plt.subplots" in called
    assert not called & {"main", "argparse.ArgumentParser", "open"}
    assert "__name__" not in example


def test_an_example_needs_nothing_from_outside(example):
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in ast.walk(ast.parse(example))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    ours = {"secretballot", "sklearn", "numpy", "scipy", "matplotlib", "pandas"}
    extras = {"distributed"}
    standard = {"itertools", "math", "pathlib", "subprocess", "sys", "tempfile", "warnings"}
    assert imported <= ours | extras | standard
    assert not re.search(r"/work|/tmp|shared|https?:|fetch_|\.\./", example)
    # Noise protects nobody if it is seeded.
    assert "allow_seeded" not in example


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["class_ratio", "hospital_group"])
def test_an_example_runs_and_saves_its_pictures(name, tmp_path, monkeypatch, capsys):
    if name == "hospital_group":
        pytest.importorskip("distributed", reason="the dask extra is not installed")
    monkeypatch.chdir(tmp_path)
    runner.main([name])
    saved = sorted((tmp_path / "output").glob(f"{name}*.png"))
    assert saved
    printed = capsys.readouterr().out
    assert "Mock" not in printed
    for picture in saved:
        assert picture.stat().st_size > 10_000
        assert f"picture: {Path('output') / picture.name}" in printed


def test_examples_are_listed(capsys):
    runner.main([])
    printed = capsys.readouterr().out
    for name, path in GALLERY.items():
        assert f"{name} " in printed
        assert runner.title(path) in printed


def test_an_unknown_example_is_an_error(capsys):
    with pytest.raises(SystemExit):
        runner.main(["nothing_of_the_kind"])
    assert "there are audits, " in capsys.readouterr().err


def test_the_last_expression_of_a_block_is_printed(tmp_path, capsys):
    path = tmp_path / "plot_it.py"
    path.write_text('"""\nT\n=\n"""\n\n# %%\n# a\n\n1 + 1\nx = 4\nx\n\n# %%\n# b\n\nx * 10\n')
    runner.run(path)
    assert capsys.readouterr().out == "4\n\n40\n\n"
