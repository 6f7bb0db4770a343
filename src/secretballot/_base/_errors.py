"""Errors and warnings, the line that a warning names, and estimators whose fit fails."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class BudgetExceededError(RuntimeError):
    """The release does not fit what is left of the budget; nothing was released or recorded."""


class LedgerError(RuntimeError):
    """The ledger can't be used: missing, foreign, read-only, altered or of another budget."""


class CompletedInterrupt(KeyboardInterrupt):
    """Ctrl-C after a spend was recorded. The call was completed, and this has its answer.

    It ends a program as any KeyboardInterrupt. Don't repeat the call: it was paid for.

    Attributes
    ----------
    answer : object
        What the call would have returned; in an interactive session ``sys.last_value.answer``.

    Examples
    --------
    >>> from secretballot.accounting import CompletedInterrupt
    >>> try:
    ...     raise CompletedInterrupt([1, 0])  # as `PrivacyAccountant.release` would
    ... except CompletedInterrupt as interrupt:
    ...     interrupt.answer
    [1, 0]
    """

    def __init__(self, answer: object = None) -> None:
        super().__init__(
            "the call was recorded before the interrupt, and completed: don't repeat it; this "
            "exception has its answer (sys.last_value.answer in an interactive session)"
        )
        self.answer = answer

    def __reduce__(self) -> tuple[type[CompletedInterrupt], tuple[object]]:
        return CompletedInterrupt, (self.answer,)


class PrivacyLeakWarning(UserWarning):
    """Something weaker than the stated guarantee is in use; the message says what and why."""


#: End of messages that quote, or depend on, private rows.
NOT_FOR_PUBLICATION = "NOT FOR PUBLICATION, as it depends on private rows."


#: Words of NumPy's error about texts that are no numbers, which quotes one.
TEXT_ERROR = "could not convert string"


@contextmanager
def marked_errors(name: str) -> Iterator[None]:
    """Raise what fails on private values, called `name`, as a marked ValueError that lists none."""
    try:
        yield
    except (MemoryError, Warning):
        raise
    except Exception as error:
        try:
            message = str(error)
        except Exception:  # of an object that can't be shown
            message = ""
        if isinstance(error, ValueError) and NOT_FOR_PUBLICATION in message:
            raise
        # Further lines show the values.
        first = message.split("\n", 1)[0] or f"{name} can't be read ({type(error).__name__})."
        raise ValueError(f"{first} {NOT_FOR_PUBLICATION}") from None


#: Remedy where an estimator has no accountant.
GIVE_BUDGET = (
    "Use accountant=PrivacyAccountant(epsilon, delta), or PrivacyAccountant.open(path) of the "
    "ledger if these rows have one already: two budgets of the same rows add up."
)

#: Packages whose frames a warning skips, to name a line of the user.
_SKIPPED_PACKAGES = ("secretballot", "sklearn", "joblib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user that led here."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _SKIPPED_PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


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
