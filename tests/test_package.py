"""The top level, and what the package says of itself."""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import secretballot

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SUBPACKAGES = [
    "accounting",
    "costs",
    "datasets",
    "ensemble",
    "inspection",
    "linear",
    "measures",
    "mechanisms",
    "parties",
    "quantification",
    "tables",
    "testing",
]


@pytest.mark.parametrize("name", secretballot.__all__)
def test_public_names_are_there(name):
    value = getattr(secretballot, name)
    assert name in dir(secretballot)
    if inspect.isclass(value) or inspect.isfunction(value):
        # Users see the public path, not the private file.
        assert "._" not in value.__module__


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_public_names_of_subpackages(package):
    module = importlib.import_module(f"secretballot.{package}")
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__module__ == module.__name__, name
            assert value.__doc__, name


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_public_names_are_documented(package):
    module = importlib.import_module(f"secretballot.{package}")
    listed = (ROOT / "docs" / "api" / f"{package}.rst").read_text(encoding="utf-8").split()
    for name in module.__all__:
        if callable(getattr(module, name)):
            assert name in listed


def test_the_stub_names_existing_objects():
    assert {"PrivacyAccountant", "GNMax", "accounting", "__version__"} <= set(secretballot.__all__)
    assert set(SUBPACKAGES) <= set(secretballot.__all__)
    for name, home in secretballot._HOMES.items():
        assert home == "secretballot" or name in importlib.import_module(home).__all__, name
    names = [name for name, home in secretballot._HOMES.items() if home != "secretballot"]
    assert len(names) == 23  # what a first page of the guide uses; a new one replaces another


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        secretballot.nonsense  # noqa: B018


def test_version_has_a_changelog_entry():
    assert re.fullmatch(r"\d+\.\d+\.\d+", secretballot.__version__)
    assert f"## {secretballot.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_dependencies():
    names = {re.match(r"[\w-]+", line).group() for line in PROJECT["dependencies"]}
    assert names == {"scikit-learn", "numpy", "scipy", "joblib", "randomgen", "threadpoolctl"}
    assert {"plot", "test", "docs", "dask"} <= set(PROJECT["optional-dependencies"])


def test_the_readme_begins_with_the_commands():
    blocks = re.findall(r"```\w*\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert "make demo" in blocks[0]
    assert "make test" in blocks[0]


def test_the_readme_examples_are_short():
    # That they run is in test_docs.
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert "PrivateLogisticRegression" in examples[0]
    for example in examples:
        assert len([line for line in example.splitlines() if line]) <= 17
