"""The architecture, checked on the source: layers, the one door, and file sizes."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from tests._programs import run_python

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "secretballot"
MODULES = sorted(PACKAGE.rglob("*.py"))
# A folder may import from folders with a smaller number, and from itself.
LAYERS = {
    "_cached_property": 0,
    "_classes": 1,
    "_errors": 0,
    "_file_lock": 0,
    "_numbers": 0,
    "_progress": 0,
    "_row_order": 1,
    "_matrices": 0,
    "_owner_hash": 0,
    "_private_folder": 1,
    "_public": 0,
    "_sizes": 1,
    "_tables": 0,
    "_views": 1,
    "divergences": 1,
    "transport": 1,
    "games": 2,
    "ledger": 2,
    "accounting": 3,
    "_ledger_commands": 5,
    "mechanisms": 4,
    "_sklearn_compat": 4,
    "_budget_report": 5,
    "_estimator_progress": 4,
    "_fit_state": 0,
    "_owners": 5,
    "schema": 5,
    "distributed": 6,
    "scoring": 7,
    "screening": 8,
    "ensemble": 9,
    "quantification": 9,
    "publication": 9,
    "selection": 9,
    "linear": 10,
    "collaboration": 10,
    "datasets": 11,
    "inspection": 11,
    "testing": 11,
}
WITHOUT_SKLEARN = (
    "transport",
    "divergences",
    "games",
    "ledger",
    "accounting",
    "mechanisms",
)
# A mechanism knows mathematics only: no budget, no file.
MECHANISMS_KNOW = ("_errors", "_numbers", "_public", "_sizes", "divergences")
# Functions of mechanisms that draw on public counts of their own making.
PUBLIC_DRAWS = ("expected_distortion",)
# Beside the accountant one other draws, when all whose ballots it has seen have paid.
AGGREGATOR = "collaboration/_aggregator.py"
# Python's own entry points, and the lazy top level that names everything.
ENTRIES = ("__init__", "__main__", "_cli")


def owner(path: Path) -> str:
    """Top-level folder (or module) of the library that a file belongs to."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path, tree: ast.AST) -> list[tuple[str, int]]:
    """Absolute dotted names that a module imports, anywhere in it, with their lines."""
    package = ("secretballot", *path.relative_to(PACKAGE).parent.parts)
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
    return names


FOLDERS = {path.relative_to(PACKAGE).parts for path in PACKAGE.rglob("*") if path.is_dir()}


def is_private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")


def border_fault(path: Path, parts: list[str]) -> str | None:
    """What an import takes from behind another folder's back; None if nothing.

    A folder's private modules are its own and its subfolders'. Everybody else imports what its
    `__init__` names.
    """
    here = path.relative_to(PACKAGE).parent.parts
    folder: tuple[str, ...] = ()
    for part in parts:
        if is_private(part) and here[: len(folder)] != folder:
            return f"{'.'.join(parts)} is private to {'.'.join(folder)}; import what it exports"
        if (*folder, part) not in FOLDERS:
            break
        folder = (*folder, part)
    exported = parts[len(folder) :]
    if folder and here[: len(folder)] != folder and exported:
        package = importlib.import_module(".".join(["secretballot", *folder]))
        if not hasattr(package, exported[0]):
            return f"{'.'.join(folder)} exports no {exported[0]}"
    return None


def layer_faults(path: Path, tree: ast.AST) -> list[str]:
    """What a module's imports break; empty if nothing."""
    home, faults = owner(path), []
    for name, line in imported(path, tree):
        parts = name.split(".")
        if parts[0] == "sklearn":
            if home in WITHOUT_SKLEARN:
                faults.append(f"line {line}: {home} knows nothing of scikit-learn")
            if home != "_sklearn_compat" and any(part.startswith("_") for part in parts):
                faults.append(f"line {line}: {name} is private; go through _sklearn_compat.py")
        if name == "functools.cached_property":
            faults.append(f"line {line}: its lock outlives a fork; use our _cached_property")
        # The version is the top level's own; any other name of it is borrowed from a package.
        if parts[0] != "secretballot" or parts[1:] == ["__version__"]:
            continue
        if fault := border_fault(path, parts[1:]):
            faults.append(f"line {line}: {fault}")
        elif home in ENTRIES:
            continue
        elif len(parts) == 1 or parts[1] not in LAYERS:
            faults.append(f"line {line}: {name} goes through the top level; name the package")
        elif parts[1] != home and LAYERS[parts[1]] >= LAYERS[home]:
            faults.append(f"line {line}: {home} may not import {parts[1]}")
        elif home == "mechanisms" and parts[1] not in (*MECHANISMS_KNOW, "mechanisms"):
            faults.append(f"line {line}: a mechanism may not know {parts[1]}")
    return faults


def door_faults(path: Path, tree: ast.AST) -> list[str]:
    """Draws outside the accountant, and doors beside it."""
    home, faults, nodes = owner(path), [], list(ast.walk(tree))
    defined = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    # A mechanism may be made of others: its own sample, and nothing else of it, draws from them.
    within = {
        id(node)
        for function in defined
        if home == "mechanisms" and function.name in ("sample", *PUBLIC_DRAWS)
        for node in ast.walk(function)
    }
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else None
        draws = isinstance(called, ast.Attribute) and called.attr in ("sample", "_draw")
        # An audit runs a mechanism on data of its own making.
        elsewhere = home in ("accounting", "testing") or path == PACKAGE / AGGREGATOR
        if draws and not elsewhere and id(node) not in within:
            faults.append(f"line {node.lineno}: only the accountant draws from a mechanism")
    for function in defined:
        if function.name == "release" and (home, path.name) != ("accounting", "_accountant.py"):
            faults.append(
                f"line {function.lineno}: the accountant has the only method named release"
            )
    return faults


def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module(path):
    assert owner(path) in {*LAYERS, *ENTRIES}, "say in LAYERS where this belongs"
    tree = parsed(path)
    assert layer_faults(path, tree) + door_faults(path, tree) == []


@pytest.mark.parametrize(
    ("place", "source", "message"),
    [
        ("accounting/_x.py", "from secretballot.mechanisms import GNMax", "may not import"),
        ("accounting/_x.py", "def f():\n    import sklearn", "knows nothing of scikit-learn"),
        ("mechanisms/_x.py", "from ..ensemble import PublicData", "may not import"),
        (
            "mechanisms/_x.py",
            "from secretballot.accounting import PrivacyAccountant",
            "may not know accounting",
        ),
        ("ledger/_x.py", "from secretballot.games import price_plan", "may not import"),
        ("divergences/_x.py", "from secretballot.ledger import Ledger", "may not import"),
        ("games/_x.py", "from secretballot.divergences._law import Law", "is private to"),
        ("_cli.py", "from secretballot.ledger._entry import LedgerEntry", "is private to"),
        ("ensemble/_x.py", "from secretballot.ensemble.individual._plan import Plan", "is private"),
        ("ensemble/_x.py", "from secretballot.mechanisms import by_group", "exports no by_group"),
        ("ensemble/_x.py", "import secretballot.quantification", "may not import"),
        ("ensemble/_x.py", "from secretballot import GNMax", "goes through the top level"),
        ("ensemble/_x.py", "from sklearn.utils._tags import Tags", "is private"),
        ("ensemble/_x.py", "from sklearn.base import _fit_context", "is private"),
        ("ensemble/_x.py", "from functools import cached_property", "outlives a fork"),
        ("ensemble/_x.py", "labels = mechanism.sample(votes, rng)", "only the accountant draws"),
        ("quantification/_x.py", "mechanism._draw(counts, rng)", "only the accountant draws"),
        (
            "mechanisms/_x.py",
            "def cost(self):\n    self.a.sample(x, r)",
            "only the accountant draws",
        ),
        ("ensemble/_x.py", "class A:\n    def release(self): ...", "the only method named"),
        ("ensemble/_accountant.py", "def release(self): ...", "the only method named"),
        ("accounting/_x.py", "class A:\n    def release(self): ...", "the only method named"),
    ],
)
def test_a_planted_fault_is_found(place, source, message):
    path, tree = PACKAGE / place, ast.parse(source)
    (fault,) = layer_faults(path, tree) + door_faults(path, tree)
    assert message in fault


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("accounting/_x.py", "from secretballot.accounting._privacy_filter import PrivacyFilter"),
        ("ensemble/individual/_x.py", "from secretballot.ensemble._votes import Votes"),
        ("ensemble/_x.py", "from secretballot._errors import LedgerError"),
        ("mechanisms/_x.py", "from ..divergences import RenyiCost"),
        ("_sklearn_compat.py", "from sklearn.utils._tags import Tags"),
        ("mechanisms/_x.py", "def sample(self, counts, rng):\n    self.vote.sample(counts, rng)"),
        ("testing/_x.py", "mechanism.sample(votes, rng)"),
        ("accounting/_accountant.py", "class PrivacyAccountant:\n    def release(self): ..."),
    ],
)
def test_allowed_values_are_accepted(place, source):
    path, tree = PACKAGE / place, ast.parse(source)
    assert layer_faults(path, tree) + door_faults(path, tree) == []


@pytest.mark.parametrize(
    "package", sorted(PACKAGE.rglob("__init__.py")), ids=lambda p: p.parent.name
)
def test_each_folder_has_a_docstring(package):
    sentence = ast.get_docstring(parsed(package)).splitlines()[0]
    assert sentence.endswith(".")
    assert len(sentence) > 30


# Run in a fresh interpreter: the tests' own has imported everything.
_WITHOUT = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
import importlib
for name in {needed!r}:
    importlib.import_module(name)
"""


@pytest.mark.parametrize(
    ("absent", "needed"),
    [
        (
            ["sklearn", "matplotlib", "pandas", "grpc", "cryptography", "psycopg"],
            ["secretballot", *(f"secretballot.{name}" for name in WITHOUT_SKLEARN)],
        ),
        (
            ["matplotlib", "pandas", "grpc", "cryptography", "psycopg"],
            [f"secretballot.{name}" for name in LAYERS if (PACKAGE / name).is_dir()],
        ),
    ],
    ids=["accounting without scikit-learn", "everything without the extras"],
)
def test_imports_without(absent, needed):
    script = _WITHOUT.format(absent=absent, needed=needed)
    done = run_python("-c", script)
    assert done.returncode == 0, done.stderr


def test_the_lazy_top_level_starts_without_scikit_learn():
    script = "import sys, secretballot.accounting; assert 'sklearn' not in sys.modules"
    done = run_python("-c", script)
    assert done.returncode == 0, done.stderr


def frames_and_bytecode(tree: ast.AST) -> set[str]:
    """Names by which a module walks the call stack, or reads bytecode."""
    found = set()
    for node in ast.walk(tree):
        name = getattr(node, "attr", "") or getattr(node, "id", "")
        if name in ("f_locals", "f_back", "_getframe", "currentframe"):
            found.add(name)
        if name == "stack" and getattr(getattr(node, "value", None), "id", "") == "inspect":
            found.add("inspect.stack")
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported = [getattr(node, "module", ""), *(alias.name for alias in node.names)]
            found |= {"dis"} & set(imported)
    return found


def test_only_warnings_look_at_their_caller():
    found = {path.name: frames_and_bytecode(ast.parse(path.read_text())) for path in MODULES}
    assert {name: names for name, names in found.items() if names} == {
        "_errors.py": {"_getframe", "f_back"}
    }
    planted = "import inspect, dis\nframe.f_locals, inspect.stack(), sys._getframe().f_back"
    assert len(frames_and_bytecode(ast.parse(planted))) == 5
