"""Private rows that stand in a table more than once, as oversampling leaves them."""

from __future__ import annotations

from typing import Any

from secretballot._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn

_OTHER_REMEDIES = {
    "row": "; class_weight='balanced' of PrivateLogisticRegression weighs rare classes without "
    "any. Or protect people: PrivacyAccountant(..., unit='owner') and owners={name}.index"
}


def warn_repeated_rows(X: Any, name: str = "X", unit: str = "row") -> None:
    """Warn if rows of a data frame or series, called `name`, repeat others, with their index label.

    `unit` is what one row is counted as. Labels alone repeat where tables of different people were
    put together, and single cells may then be equal by chance.
    """
    index: Any = getattr(X, "index", None)
    if getattr(index, "is_unique", True):
        return
    try:
        n_copies = int(X.reset_index().duplicated().sum())
    except (TypeError, ValueError):  # cells without a hash, or a column of the index's name
        return
    is_coarse = getattr(X, "shape", (0,))[1:] in ((), (1,))
    if n_copies and not (is_coarse and n_copies < index.duplicated().sum()):
        warn(
            f"{name} holds {n_copies:,} copies of other rows, with their index labels. "
            f"unit={unit!r} protects one {unit}: whoever has several copies is protected for each "
            "of them, not for all together. Leave copies "
            f"out{_OTHER_REMEDIES.get(unit, '').format(name=name)}. "
            f"{NOT_FOR_PUBLICATION}",
            PrivacyLeakWarning,
        )
