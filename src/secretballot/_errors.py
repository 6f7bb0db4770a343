"""What goes wrong with a budget, what weakens a guarantee, and where a warning points."""

from __future__ import annotations

import sys
import warnings


class BudgetExceededError(RuntimeError):
    """The release does not fit what is left of the budget; nothing was released or recorded."""


class LedgerError(RuntimeError):
    """The ledger can't be used: missing, foreign, read-only, altered or of another budget."""


class PrivacyLeakWarning(UserWarning):
    """Something weaker than the stated guarantee is in use; the message says what and why."""


#: Whose frames a warning is not about: ours, and what calls us on a user's behalf.
_NOT_THE_USERS = ("secretballot", "sklearn", "joblib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's that led here, however many calls lie between."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
