"""Rows for a fitted estimator, whose columns have other names, or another order, than its fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils.validation import validate_data

from secretballot.tables._frames import column_names

#: Beginning of scikit-learn's error, which its common checks demand.
NAMES_DIFFER = "The feature names should match"


def validate_columns(estimator: Any, X: Any, name: str = "X", **check: Any) -> Any:
    """Check rows to predict, by scikit-learn's `validate_data`; errors name the remedy."""
    with column_remedies(estimator, X, name):
        return validate_data(estimator, X, reset=False, **check)


@contextmanager
def column_remedies(estimator: Any, X: Any, name: str = "X") -> Iterator[None]:
    """Add the remedy to errors of scikit-learn that say that columns differ from those of a fit."""
    try:
        yield
    except ValueError as error:
        names = getattr(estimator, "feature_names_in_", None)
        table_names = column_names(X)
        message = str(error).rstrip()
        if not message.startswith(NAMES_DIFFER) or names is None or table_names is None:
            raise
        missing = [column for column in names.tolist() if column not in table_names]
        remedy = (
            f"{name} lacks the columns {missing[:5]!r} of the fit: add them, or rename those that "
            "have other names."
            if missing
            else "Pass the columns of the fit, in its order: "
            f"{name}[list(model.feature_names_in_)]."
        )
        raise ValueError(f"{message}\n{remedy}") from None
