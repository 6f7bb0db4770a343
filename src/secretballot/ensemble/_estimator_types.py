"""Types of tables and of scikit-learn's estimators, for annotations."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeAlias

from numpy.typing import ArrayLike, NDArray

from secretballot.tables._frames import Rows as Rows

#: Classes of a row; for several labels a row a list with those of each, 0 and 1.
Classes: TypeAlias = NDArray[Any] | list[NDArray[Any]]


class Teacher(Protocol):
    """Fitted classifier that casts a ballot on each row; some have `predict_proba` too."""

    def predict(self, X: Rows) -> Rows:
        """Predict a class, or 0 and 1 for each label, for each row."""


class Learner(Protocol):
    """Estimator that is cloned and trained."""

    def fit(self, X: Rows, y: ArrayLike) -> Teacher:
        """Train on rows."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""

    def set_params(self, **params: object) -> Self:
        """Set parameters."""
