"""Calls on one thread without warnings, whatever other threads of the program do."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from joblib import parallel_config
from threadpoolctl import threadpool_limits


class _Shared:
    """Settings of the process: the first thread that needs them makes them, the last ends them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0
        self._settings = ExitStack()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the settings until all are done who asked for them."""
        with self._lock:
            if not self._n_users:
                self._settings.enter_context(threadpool_limits(1, user_api="blas"))
                self._settings.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if not self._n_users:
                    self._settings.close()


_SHARED = _Shared()
# A child process has the one thread that forked it, whatever the others held.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHARED.__init__)  # type: ignore[misc]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run calls on one thread, with warnings ignored: they could raise, or quote private rows."""
    with (
        _SHARED.kept(),
        threadpool_limits(1, user_api="openmp"),  # each thread has its own number
        parallel_config(backend="sequential"),
    ):
        yield
