"""State of an estimator whose fit fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def restored_on_failure(
    estimator: object, unless: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Leave an estimator as it was before a fit that fails, unless there is a new result.

    A fit that is refused must not destroy what an earlier one has paid for.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        if not unless():
            vars(estimator).clear()
            vars(estimator).update(before)
        raise
