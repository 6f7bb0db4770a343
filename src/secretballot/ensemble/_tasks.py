"""Work on many teachers through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed


def batches(n_teachers: int, n_jobs: int | None) -> list[range]:
    """Teachers that are worked on together.

    What all teachers share (the public rows) is sent once per batch, so there should be few; but
    enough that all workers end at about the same time.
    """
    workers = effective_n_jobs(n_jobs)
    size = 1 if workers == 1 else max(1, n_teachers // (16 * workers))
    return [range(start, min(start + size, n_teachers)) for start in range(0, n_teachers, size)]


def run_tasks(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    n_jobs: int | None,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Results of ``function(*task)`` as they arrive, in any order, so that none has to wait."""
    backend, _ = get_active_backend(prefer=prefer)
    arrives = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(
        n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered" if arrives else "list"
    )
    return iter(parallel(delayed(function)(*task) for task in tasks))
