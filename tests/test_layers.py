"""The architecture, checked on the source: layers, the one door, and file sizes."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "secretballot"
MODULES = sorted(PACKAGE.rglob("*.py"))
# A package may import from packages with a smaller number, and from itself.
LAYERS = {
    "accounting": 0,
    "mechanisms": 1,
    "_sklearn_compat": 1,
    "ensemble": 2,
    "quantification": 2,
    "audit": 3,
    "datasets": 3,
    "inspection": 3,
    "checks": 4,
}
# The parts of accounting that hold state: mechanisms know costs and divergences only.
DOOR = {"_accountant", "_ledger", "_budget", "_scope", "PrivacyAccountant", "Ledger"}
# Functions of mechanisms that draw on public counts of their own making.
PUBLIC_DRAWS = ("expected_distortion",)
# Python's own entry points, and the lazy top level that names everything.
UNLAYERED = {"__init__", "__main__", "cli", "_cli"}


def owner(path: Path) -> str:
    """Top-level package (or module) of the library that a file belongs to."""
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


def layer_faults(path: Path, tree: ast.AST) -> list[str]:
    """What a module's imports break; empty if nothing."""
    home, faults = owner(path), []
    if home in UNLAYERED:
        return faults
    for name, line in imported(path, tree):
        parts = name.split(".")
        if parts[0] == "sklearn":
            if home in ("accounting", "mechanisms"):
                faults.append(f"line {line}: {home} knows nothing of scikit-learn")
            if home != "_sklearn_compat" and any(part.startswith("_") for part in parts):
                faults.append(f"line {line}: {name} is private; go through _sklearn_compat.py")
        # The version is the top level's own; any other name of it is borrowed from a package.
        if parts[0] != "secretballot" or parts[1:] == ["__version__"]:
            continue
        if len(parts) == 1 or parts[1] not in LAYERS:
            faults.append(f"line {line}: {name} goes through the top level; name the package")
        elif parts[1] != home and LAYERS[parts[1]] >= LAYERS[home]:
            faults.append(f"line {line}: {home} may not import {parts[1]}")
        elif home == "mechanisms" and DOOR & set(parts[2:]):
            faults.append(f"line {line}: a mechanism may not know the accountant")
    return faults


def door_faults(path: Path, tree: ast.AST) -> list[str]:
    """Draws outside the accountant, and doors beside it."""
    home, faults = owner(path), []
    defined = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    # A mechanism may be made of others: its own sample, and nothing else of it, draws from them.
    within = {
        id(node)
        for function in defined
        if home == "mechanisms" and function.name in ("sample", *PUBLIC_DRAWS)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        draws = isinstance(called, ast.Attribute) and called.attr in ("sample", "_draw")
        # An audit runs a mechanism on data of its own making.
        if draws and home not in ("accounting", "audit") and id(node) not in within:
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
    assert owner(path) in LAYERS.keys() | UNLAYERED, "say in LAYERS where this belongs"
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
            "may not know the accountant",
        ),
        ("ensemble/_x.py", "import secretballot.quantification", "may not import"),
        ("ensemble/_x.py", "from secretballot import GNMax", "goes through the top level"),
        ("ensemble/_x.py", "from sklearn.utils._tags import Tags", "is private"),
        ("ensemble/_x.py", "from sklearn.base import _fit_context", "is private"),
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
        ("accounting/_x.py", "from secretballot.accounting._cost import RenyiCost"),
        ("mechanisms/_x.py", "from ..accounting import RenyiCost"),
        ("_sklearn_compat.py", "from sklearn.utils._tags import Tags"),
        ("mechanisms/_x.py", "def sample(self, counts, rng):\n    self.vote.sample(counts, rng)"),
        ("audit/_x.py", "mechanism.sample(votes, rng)"),
        ("accounting/_accountant.py", "class PrivacyAccountant:\n    def release(self): ..."),
    ],
)
def test_what_is_allowed_is_let_through(place, source):
    path, tree = PACKAGE / place, ast.parse(source)
    assert layer_faults(path, tree) + door_faults(path, tree) == []


def length(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_files_are_short():
    folders = ("src", "tests", "examples", "benchmarks", "docs")
    ours = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert {str(path.relative_to(ROOT)): length(path) for path in ours if length(path) > 500} == {}
    assert statistics.median(map(length, MODULES)) < 150


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
            ["sklearn", "matplotlib", "pandas"],
            ["secretballot", "secretballot.accounting", "secretballot.mechanisms"],
        ),
        (
            ["matplotlib", "pandas"],
            [f"secretballot.{name}" for name in LAYERS if (PACKAGE / name).is_dir()],
        ),
    ],
    ids=["accounting without scikit-learn", "everything without the extras"],
)
def test_imports_without(absent, needed):
    script = _WITHOUT.format(absent=absent, needed=needed)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_lazy_top_level_starts_without_scikit_learn():
    script = "import sys, secretballot.accounting; assert 'sklearn' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
