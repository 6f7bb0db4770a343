"""The path that users import a name from, whichever file it is written in."""

from __future__ import annotations

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
