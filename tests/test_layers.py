"""The architecture, checked on the source: rooms and their layers, and the one door."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from tests._programs import run_python

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "secretballot"
MODULES = sorted(PACKAGE.rglob("*.py"))
# A room may import rooms with a smaller number, and itself.
LAYERS = {
    "_base": 0,
    "costs": 1,
    "mechanisms": 2,
    "ledger": 2,
    "accounting": 3,
    "tables": 4,
    "reports": 4,
    "measures": 5,
    "ensemble": 6,
    "linear": 6,
    "quantification": 6,
    "parties": 7,
    "testing": 8,
    "datasets": 8,
    "inspection": 9,
}
WITHOUT_SKLEARN = ("costs", "ledger", "mechanisms", "accounting", "reports")
# A mechanism knows mathematics only: no budget, no file.
MECHANISMS_KNOW = ("_base", "costs")
# Functions of mechanisms that draw on public counts of their own making.
PUBLIC_DRAWS = ("expected_distortion",)
# Beside the accountant one other draws, when all whose ballots it has seen have paid.
AGGREGATOR = "parties/_aggregator.py"
# Python's own entry points, and the lazy top level that names everything.
ENTRIES = ("__init__", "__main__")


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


def layer_faults(path: Path, tree: ast.AST) -> list[str]:
    """What a module's imports break; empty if nothing."""
    home, faults = owner(path), []
    for name, line in imported(path, tree):
        parts = name.split(".")
        if parts[0] == "sklearn":
            if home in WITHOUT_SKLEARN:
                faults.append(f"line {line}: {home} knows nothing of scikit-learn")
            if path.name != "_sklearn_compat.py" and any(part.startswith("_") for part in parts):
                faults.append(f"line {line}: {name} is private; go through _sklearn_compat.py")
        if name == "functools.cached_property":
            faults.append(f"line {line}: its lock outlives a fork; use our _cached_property")
        # The version is the top level's own; any other name of it is borrowed from a package.
        if parts[0] != "secretballot" or parts[1:] == ["__version__"]:
            continue
        if home in ENTRIES:
            continue
        if len(parts) == 1 or parts[1] not in LAYERS:
            faults.append(f"line {line}: {name} goes through the top level; name the room")
        elif parts[1] == home:
            continue
        elif LAYERS[parts[1]] >= LAYERS[home]:
            faults.append(f"line {line}: {home} may not import {parts[1]}")
        elif home == "mechanisms" and parts[1] not in MECHANISMS_KNOW:
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
        # A run releases through the accountant what its plan has paid for.
        is_door = home == "accounting" and path.name in ("_accountant.py", "_release_plan.py")
        if function.name == "release" and not is_door:
            faults.append(
                f"line {function.lineno}: the accountant has the only method named release"
            )
    return faults


# Modules that release or reserve by themselves, and by what; all others do it by a run of a plan.
CALLERS = {
    "accounting/_publish_epsilon.py": {"accountant.release"},
    "accounting/_release_plan.py": {"accountant.reserve_plan", "self._accountant.release"},
    "ensemble/_labelling.py": {"accountant.release", "ensemble._check_accountant().reserve"},
    "ensemble/student/_student_choice.py": {
        "accountant.release",
        "self.ensemble._check_accountant().reserve",
    },
    "parties/_party.py": {"self.accountant.reserve"},
    "testing/_mechanism_checks.py": {"accountant.release", "accountant.reserve"},
}
# The run, and what has a method of the same name: a lock, a choice, a voter.
OTHERS = {
    "run.release",
    "self.release",
    "PROCESS_LOCK.release",
    "self._one_at_a_time.release",
    "choice.reserve",
    "voter.reserve",
    "self._party.reserve",
}


def spending(tree: ast.AST) -> set[str]:
    """Expressions that end in the name of a function that draws, or pays for, rows."""
    return {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("release", "reserve", "reserve_plan")
    } - OTHERS


@cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_modules_that_spend_are_those_of_the_list():
    found = {str(path.relative_to(PACKAGE)): spending(parsed(path)) for path in MODULES}
    assert {path: calls for path, calls in found.items() if calls} == CALLERS


@pytest.mark.parametrize(
    "source",
    ["accountant.release(m, counts)", "partial(self.accountant.reserve, m)", "b.reserve_plan(p)"],
)
def test_a_new_caller_is_found(source):
    assert spending(ast.parse(f"def f():\n    return {source}"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module(path):
    assert owner(path) in {*LAYERS, *ENTRIES}, "say in LAYERS where this room belongs"
    tree = parsed(path)
    assert layer_faults(path, tree) + door_faults(path, tree) == []


@pytest.mark.parametrize(
    ("place", "source", "message"),
    [
        ("accounting/_x.py", "from secretballot.tables import PrivateParts", "may not import"),
        ("ensemble/_x.py", "from secretballot.linear._rounds import Round", "may not import"),
        ("linear/_x.py", "from secretballot.ensemble import PrivateLabels", "may not import"),
        ("quantification/_x.py", "from secretballot.ensemble import PublicData", "may not import"),
        ("accounting/_x.py", "def f():\n    import sklearn", "knows nothing of scikit-learn"),
        ("mechanisms/_x.py", "from ..ensemble import PublicData", "may not import"),
        (
            "mechanisms/_x.py",
            "from secretballot.accounting import PrivacyAccountant",
            "may not import accounting",
        ),
        ("ledger/_x.py", "from secretballot.mechanisms._base import Mechanism", "may not import"),
        ("mechanisms/_x.py", "from secretballot.ledger._entry import Entry", "may not import"),
        ("costs/_x.py", "from secretballot.ledger._ledger import Ledger", "may not import"),
        ("_base/_x.py", "from secretballot.costs._law import Law", "may not import"),
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
        ("linear/_x.py", "from secretballot.tables._public_data import PublicData"),
        ("ensemble/individual/_x.py", "from secretballot.ensemble._votes import Votes"),
        ("ensemble/_x.py", "from secretballot.ledger._entry import LedgerEntry"),
        ("mechanisms/_x.py", "from ..costs import RenyiCost"),
        ("_base/_sklearn_compat.py", "from sklearn.utils._tags import Tags"),
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
import importlib, pkgutil
for name in {needed!r}:
    room = importlib.import_module(name)
    for module in pkgutil.walk_packages(room.__path__, name + "."):
        importlib.import_module(module.name)
"""


@pytest.mark.parametrize(
    ("absent", "needed"),
    [
        (
            ["sklearn", "matplotlib", "pandas", "grpc", "cryptography", "psycopg"],
            [f"secretballot.{name}" for name in WITHOUT_SKLEARN],
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
    found = {path.name: frames_and_bytecode(parsed(path)) for path in MODULES}
    assert {name: names for name, names in found.items() if names} == {
        "_errors.py": {"_getframe", "f_back"}
    }
    planted = "import inspect, dis\nframe.f_locals, inspect.stack(), sys._getframe().f_back"
    assert len(frames_and_bytecode(ast.parse(planted))) == 5
