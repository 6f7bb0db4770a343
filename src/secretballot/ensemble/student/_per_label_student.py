"""Students of one label each, as one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from secretballot.ensemble._ballots import ConstantTeacher


class PerLabelStudent(BaseEstimator):
    """One student for each label.

    Parameters
    ----------
    estimators : list of estimator
        Fitted; each predicts one label as 0 and 1.
    """

    def __init__(self, estimators: list[Any]) -> None:
        self.estimators = estimators

    @property
    def _fitted(self) -> list[Any]:
        return [each for each in self.estimators if not isinstance(each, ConstantTeacher)]

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in fit, if a student says it."""
        return self._of_first("n_features_in_")

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if a student says them."""
        return self._of_first("feature_names_in_")

    def _of_first(self, name: str) -> Any:
        for each in self._fitted:
            return getattr(each, name)
        raise AttributeError(name)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self._fitted[0]) if self._fitted else super().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return all labels, shape (n_rows, n_labels)."""
        return np.stack([np.asarray(each.predict(X)) for each in self.estimators], axis=1)

    @available_if(lambda self: all(hasattr(each, "predict_proba") for each in self.estimators))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_rows, n_labels)."""
        return np.stack([_of_present(each, X) for each in self.estimators], axis=1)


def _of_present(estimator: Any, X: Any) -> NDArray[np.float64]:
    given = np.asarray(estimator.predict_proba(X))
    if isinstance(estimator, ConstantTeacher):
        return given
    return np.asarray(given[:, np.asarray(estimator.classes_).tolist().index(1)])
