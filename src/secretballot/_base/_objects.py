"""Public import paths of objects, and properties that are computed once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, Self, TypeVar, overload


def published(namespace: dict[str, Any]) -> None:
    """Set ``__module__`` of what a package exports to the package, for errors, pickles and docs."""
    for name in namespace["__all__"]:
        value = namespace[name]
        if isinstance(value, type | FunctionType):
            value.__module__ = namespace["__name__"]


def public_name(kind: type, home: str) -> str:
    """Return the name of a class for a ledger: ``"module:name"`` unless `home` exports it."""
    if kind.__module__ == home and getattr(sys.modules.get(home), kind.__name__, None) is kind:
        return str(kind.__name__)
    return f"{kind.__module__}:{kind.__qualname__}"


T = TypeVar("T")


class cached_property(Generic[T]):
    """Property whose value is computed at its first use and then kept in the object.

    That of `functools` has a lock for all objects of a class before Python 3.12. A child that is
    forked while a thread computes a value would wait for this lock forever. Threads that ask at
    once compute the same value twice here.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # Later uses find the value in the object, before this descriptor is asked.
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
