"""Public import paths of classes and functions."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any


def published(namespace: dict[str, Any]) -> None:
    """Set ``__module__`` of the classes and functions that a package exports to the package.

    Errors, pickles and the documentation then show the public path.
    """
    for name in namespace["__all__"]:
        value = namespace[name]
        if isinstance(value, type | FunctionType):
            value.__module__ = namespace["__name__"]


def public_name(kind: type, home: str) -> str:
    """Return the name of a class for a ledger: ``"module:name"`` unless `home` exports it."""
    if kind.__module__ == home and getattr(sys.modules.get(home), kind.__name__, None) is kind:
        return str(kind.__name__)
    return f"{kind.__module__}:{kind.__qualname__}"
