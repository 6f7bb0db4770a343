"""Properties that are computed once for each object, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

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
