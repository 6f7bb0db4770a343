"""Differentially private learning by voting: the vote is counted, the ballots stay secret.

The names that a first page uses are here, all others in the subpackages. They are imported on
first use, so that `secretballot.accounting` and the command line start without scikit-learn. Their
list is `__init__.pyi`, which type checkers read too.
"""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """Read from the stub the module of each public name; for a subpackage it is this package."""
    stub = pkgutil.get_data(__name__, "__init__.pyi")
    assert stub is not None
    return {
        alias.name: node.module or ""
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


_HOMES = _homes()
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        import_module(f"{__name__}.{name}")
        if home == __name__
        else getattr(import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
