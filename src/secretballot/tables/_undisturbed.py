"""Calls on one thread without warnings, whatever other threads of the program do."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from joblib import parallel_config
from threadpoolctl import threadpool_limits


class _Shared:
    """Setting of the process: the first thread that needs it makes it, the last ends it."""

    def __init__(self, setting: Callable[[], AbstractContextManager[object]]) -> None:
        self._setting = setting
        self._forget()
        # A child process has the one thread that forked it, whatever the others held.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0
        self._settings = ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._n_users:
                self._settings.enter_context(self._setting())
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if not self._n_users:
                    self._settings.close()


#: Compute products of matrices on one thread: threads that share small ones wait for long.
one_blas_thread = _Shared(partial(threadpool_limits, 1, user_api="blas"))
#: Show no warnings: filters belong to the process, and the last thread restores them.
without_warnings = _Shared(partial(warnings.catch_warnings, action="ignore"))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run calls on one thread, with warnings ignored: they could raise, or quote private rows."""
    with (
        one_blas_thread(),
        without_warnings(),
        threadpool_limits(1, user_api="openmp"),  # each thread has its own number
        parallel_config(backend="sequential"),
    ):
        yield
