"""Models whose learners take other labels than there are: positions, or only those that vary."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._estimator_types import Learner, Rows


class _WrappedModel:
    """Base class of a model around another, with the attributes of that."""

    model: Any

    def __getattr__(self, name: str) -> Any:
        # Attributes of a student, such as its number of features.
        if name.startswith("__") or "model" not in vars(self):
            raise AttributeError(name)
        return getattr(self.model, name)

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.model)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class EncodedModel(_WrappedModel):
    """Model that learned positions in `classes_`: some learners take 0, 1, 2 and no gaps."""

    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        self.model = model
        self.classes_ = classes

    def predict(self, X: Rows) -> NDArray[Any]:
        return self.classes_[np.asarray(self.model.predict(X), dtype=np.intp)]


def fit_classes(estimator: Learner, X: Rows, y: NDArray[Any]) -> Any:
    """Fit a copy on classes, or on their positions if it can't learn them as they are."""
    try:
        return deepcopy(clone(estimator)).fit(X, y)
    except ValueError as error:
        classes, codes = np.unique(y, return_inverse=True)
        if (codes == y).all() or (y == -1).any():  # -1 marks rows without a label
            raise
        try:
            return EncodedModel(deepcopy(clone(estimator)).fit(X, codes), classes)
        except ValueError:
            raise error from None


class LabelModel(_WrappedModel):
    """Model of the labels at some positions (a single one twice); the others are constant."""

    def __init__(self, model: Any, varying: NDArray[np.intp], constant: NDArray[Any]) -> None:
        self.model = model
        self.varying = varying
        self.constant = constant

    def predict(self, X: Rows) -> NDArray[Any]:
        predicted = self.model.predict(X)
        if issparse(predicted):
            predicted = predicted.toarray()
        return self._with_constant(X, np.asarray(predicted))

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        probabilities = label_probabilities(self.model, X, max(2, len(self.varying)))
        return self._with_constant(X, probabilities.astype(np.float64))

    def _with_constant(self, X: Rows, predicted: NDArray[Any]) -> NDArray[Any]:
        n_learned = max(2, len(self.varying))
        if predicted.shape != (_num_samples(X), n_learned):
            raise ValueError(
                f"predict gave an array of shape {predicted.shape} for {_num_samples(X)} row(s) of "
                f"{n_learned} labels"
            )
        labels = np.repeat(self.constant[None].astype(predicted.dtype), len(predicted), axis=0)
        labels[:, self.varying] = predicted[:, : len(self.varying)]
        return labels


def fit_labels(
    estimator: Learner, X: Rows, labels: NDArray[Any], is_label: NDArray[np.bool_]
) -> Any:
    """Fit a clone on the labels that vary: most models can't learn a constant. None if none varies.

    `is_label` is False for marks of labels that were not answered.
    """
    present = (is_label & (labels == 1)).any(axis=0)
    varies = present & (is_label & (labels == 0)).any(axis=0)
    if varies.all():
        return clone(estimator).fit(X, labels)
    varying = np.flatnonzero(varies)
    if not len(varying):
        return None
    # Labels of one column are not multi-label to scikit-learn.
    columns = varying if len(varying) > 1 else np.repeat(varying, 2)
    try:
        model = clone(estimator).fit(X, labels[:, columns])
    except ValueError as error:
        try:  # a parameter may name all labels, such as the order of a chain
            return clone(estimator).fit(X, labels)
        except ValueError:
            raise error from None
    return LabelModel(model, varying, present.astype(np.int64))


def label_probabilities(model: Any, X: Rows, n_labels: int) -> NDArray[Any]:
    """Return the probability of each label, from a matrix or from two columns for each label."""
    table = model.predict_proba(X)
    if isinstance(table, list):
        if len(table) != n_labels:
            raise ValueError(f"predict_proba gave {len(table)} tables for {n_labels} labels")
        columns = []
        for probabilities, classes in zip(map(np.asarray, table), model.classes_, strict=True):
            ones = np.flatnonzero(np.asarray(classes) == 1)
            columns.append(probabilities[:, ones[0]] if len(ones) else np.zeros(len(probabilities)))
        table = np.stack(columns, axis=1)
    table = np.asarray(table)
    if table.shape != (_num_samples(X), n_labels):
        raise ValueError(
            f"predict_proba gave an array of shape {table.shape} for {_num_samples(X)} row(s) of "
            f"{n_labels} labels"
        )
    return table
