"""Tasks in processes, and on parts, whose results and errors quote no private value."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar, cast
from uuid import uuid4

import joblib
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._progress import ProgressTask
from secretballot.tables._engine import Engine
from secretballot.tables._undisturbed import without_warnings

T = TypeVar("T")


class PartError(ValueError):
    """Fault of a part, in words that quote none of its values."""


@contextmanager
def target_errors(columns: str | list[str]) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise PartError(
            f"y={columns!r} has missing cells, or others than what is learned: the declared "
            f"classes, 0 and 1 for several labels, or numbers ({type(error).__name__}). Leave such "
            "rows out of the parts, or name their class."
        ) from None


def save_whole(value: object, path: str) -> None:
    """Write a file under another name first: a task may be run twice, or be cut off."""
    new = f"{path}.{uuid4().hex}"
    joblib.dump(value, new)
    os.replace(new, path)


@dataclass(frozen=True)
class _Result(Generic[T]):
    index: int
    value: T | None = None
    error: str = ""


def map_tasks(
    engine: Engine, folder: str, function: Callable[[int], T], n_tasks: int, what: str
) -> Iterator[tuple[int, T]]:
    """Yield the number and the result of each task, in any order, each once.

    The function, with all it holds, is left for workers in `folder`. Errors name the number of the
    task and the type of its error alone; `what` says what a task is about: "part", for instance.
    """
    import cloudpickle

    path = os.path.join(folder, f"{uuid4().hex}.function")
    with open(path, "wb") as file:
        cloudpickle.dump(function, file)
    done: set[int] = set()
    try:
        with ProgressTask(f"{what}s", n_tasks) as progress:
            for result in engine.map(partial(_run, path), n_tasks):
                assert isinstance(result, _Result)
                if result.error:
                    raise ValueError(f"{what} {result.index}: {result.error}")
                if result.index not in done:
                    done.add(result.index)
                    progress.advance()
                    yield result.index, cast("T", result.value)
    finally:
        os.remove(path)
    if len(done) < n_tasks:
        missing = min(set(range(n_tasks)) - done)
        raise ValueError(f"{what} {missing}: the engine returned no result.")


def _run(path: str, index: int) -> _Result[object]:
    """Run one task on a worker. An error of another library may quote private values."""
    try:
        function = _function(path)
    except PartError as error:  # about scratch
        return _Result(index, error=str(error))
    try:
        with without_warnings():  # a worker's log is read by others
            return _Result(index, function(index))
    except PartError as error:
        return _Result(index, error=f"{error} {NOT_FOR_PUBLICATION}")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust, for instance, are no exceptions
        name = type(error).__name__
        if isinstance(error, OSError) and error.errno is not None:
            name = f"{name} {errno.errorcode.get(error.errno, '')}".rstrip()
        return _Result(index, error=f"{name} (its message may quote rows). {NOT_FOR_PUBLICATION}")


@lru_cache(maxsize=1)
def _function(path: str) -> Callable[[int], object]:
    try:
        with open(path, "rb") as file:
            function: Callable[[int], object] = pickle.load(file)
    except OSError as error:
        raise PartError(
            f"a worker could not read scratch ({type(error).__name__}): give scratch=, a folder "
            "that the client and all workers can read and write."
        ) from None
    return function


def batches(n_teachers: int, n_jobs: int | None) -> list[range]:
    """Divide the teachers into batches: few, as each is sent the public rows, but of like size."""
    workers = effective_n_jobs(n_jobs)
    size = 1 if workers == 1 else max(1, n_teachers // (16 * workers))
    return [range(start, min(start + size, n_teachers)) for start in range(0, n_teachers, size)]


def run_tasks(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None
) -> Iterator[Any]:
    """Yield the results of ``function(*task)`` in the order in which they arrive.

    Workers are processes, unless the caller configures joblib otherwise: scikit-learn sets warning
    filters anew for every task, also inside of forests, and threads share these filters.
    """
    backend, _ = get_active_backend()
    as_generator = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if as_generator else "list")
    return iter(parallel(delayed(function)(*task) for task in tasks))
