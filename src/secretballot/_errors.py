"""What goes wrong with a budget, and what weakens a guarantee."""


class BudgetExceededError(RuntimeError):
    """The release does not fit what is left of the budget; nothing was released or recorded."""


class LedgerError(RuntimeError):
    """The ledger can't be used: missing, foreign, read-only, altered or of another budget."""


class PrivacyLeakWarning(UserWarning):
    """Something weaker than the stated guarantee is in use; the message says what and why."""
