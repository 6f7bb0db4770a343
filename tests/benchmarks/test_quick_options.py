"""Quick versions of benchmarks have other defaults; options that are given count."""

import ast
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "collaboration"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [(10, 20.0, 40, 0)]),
        (
            ["--epsilons", "2", "8", "--rows", "7", "--seeds", "2"],
            [(10, e, 7, s) for s in (0, 1) for e in (2.0, 8.0)],
        ),
        (["--sets", "other", "--parties", "5"], [(5, 20.0, 40, 0)]),
    ],
)
def test_what_parties_gain(options, expected, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(FOLDER)
    from benchmarks.collaboration import run

    asked = []

    def recorded(table, n_parties, epsilon, rows, seed, noise):
        asked.append((n_parties, epsilon, rows, seed))
        return iter(())

    monkeypatch.setattr(run, "run", recorded)
    chosen = options[options.index("--sets") + 1] if "--sets" in options else "adult"
    monkeypatch.setattr(run, "available", lambda: {chosen: lambda weight: None})
    out = tmp_path / "runs.jsonl"
    monkeypatch.setattr(sys, "argv", ["run.py", "--quick", "--out", str(out), *options])
    run.main()
    assert asked == expected


def test_no_benchmark_sets_options_aside_for_its_quick_version():
    """`--quick` chooses other defaults, and no values instead of those that were given."""
    for path in sorted(FOLDER.parent.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        options = {
            node.args[0].value.lstrip("-").replace("-", "_")
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add_argument")
        } - {"quick"}
        for node in ast.walk(tree):
            if isinstance(node, ast.If | ast.IfExp) and ".quick" in ast.unparse(node.test):
                instead = {
                    each.attr if isinstance(each, ast.Attribute) else each.id
                    for each in ast.walk(node)
                    if isinstance(each, ast.Attribute | ast.Name)
                    and (isinstance(node, ast.IfExp) or isinstance(each.ctx, ast.Store))
                }
                assert not instead & options, f"{path.name}: {ast.unparse(node)}"
