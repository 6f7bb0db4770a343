"""The path that users import a name from, whichever file it is written in."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any


def published(namespace: dict[str, Any]) -> None:
    """Let the classes and functions that a package exports name the package as their home.

    Errors, pickles and the documentation then show the public path.
    """
    for name in namespace["__all__"]:
        value = namespace[name]
        if isinstance(value, type | FunctionType):
            value.__module__ = namespace["__name__"]


def public_name(kind: type, home: str) -> str:
    """Return how a class is called in a ledger: by its name if it is the package's own.

    Any other, a subclass of one for example, is called ``"module:name"``.
    """
    if kind.__module__ == home and getattr(sys.modules.get(home), kind.__name__, None) is kind:
        return kind.__name__
    return f"{kind.__module__}:{kind.__qualname__}"
