"""Private rows that stand in a table more than once, as oversampling leaves them."""

from __future__ import annotations

from typing import Any

from secretballot._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn


def warn_repeated_rows(X: Any) -> bool:
    """Warn, and return True, if rows of a data frame repeat others, with their index label."""
    if getattr(getattr(X, "index", None), "is_unique", True):
        return False
    try:
        # Labels alone repeat where tables of different people were put together.
        n_copies = int(X.reset_index().duplicated().sum())
    except (TypeError, ValueError):  # cells without a hash, or a column of the index's name
        return False
    if n_copies:
        warn(
            f"X holds {n_copies:,} copies of other rows, with their index labels. unit='row' "
            "protects one row: whoever has several copies is protected for each of them, not for "
            "all together. Leave copies out; class_weight='balanced' of PrivateLogisticRegression "
            "weighs rare classes without any. Or protect people: PrivacyAccountant(..., "
            f"unit='owner') and owners=X.index. {NOT_FOR_PUBLICATION}",
            PrivacyLeakWarning,
        )
    return n_copies > 0
