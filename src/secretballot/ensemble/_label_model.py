"""A multi-label model of the labels that vary, beside others that all rows have, or none has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from secretballot._sklearn_compat import _num_samples


class LabelModel:
    """A model that was trained on some labels only; the others are as all its rows had them.

    Parameters
    ----------
    model : estimator
        The fitted model; on its own label twice if it is only one.
    at : ndarray of shape (n_varying,)
        Which labels it was trained on.
    constant : ndarray of shape (n_labels,)
        What the others are.
    """

    def __init__(self, model: Any, at: NDArray[np.intp], constant: NDArray[Any]) -> None:
        self.model = model
        self.at = at
        self.constant = constant

    def __getattr__(self, name: str) -> Any:
        # What is asked of a student: its features.
        if name.startswith("__") or "model" not in vars(self):
            raise AttributeError(name)
        return getattr(self.model, name)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.model)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> NDArray[Any]:
        """Return all labels, shape (n_rows, n_labels)."""
        predicted = self.model.predict(X)
        if issparse(predicted):
            predicted = predicted.toarray()
        return self._filled(X, np.asarray(predicted))

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_rows, n_labels)."""
        n_asked = max(2, len(self.at))
        given = label_probabilities(self.model, X, n_asked)
        return self._filled(X, given.astype(np.float64))

    def _filled(self, X: Any, some: NDArray[Any]) -> NDArray[Any]:
        if some.shape != (_num_samples(X), max(2, len(self.at))):
            raise ValueError(
                f"predict gave an array of shape {some.shape} for {_num_samples(X)} row(s) of "
                f"{max(2, len(self.at))} labels"
            )
        filled = np.repeat(self.constant[None].astype(some.dtype), len(some), axis=0)
        filled[:, self.at] = some[:, : len(self.at)]
        return filled


def fit_labels(estimator: Any, X: Any, labels: NDArray[Any], known: NDArray[np.bool_]) -> Any:
    """Fit a clone on the labels that vary; most models can't learn one that all rows have.

    Parameters
    ----------
    estimator : estimator
        To be cloned.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    labels : ndarray of shape (n_rows, n_labels)
        With at least one row.
    known : ndarray of shape (n_rows, n_labels)
        Which of them are labels, and no marks.

    Returns
    -------
    model : estimator, LabelModel or None
        None if no label varies.
    """
    present = (known & (labels == 1)).any(axis=0)
    varies = present & (known & (labels == 0)).any(axis=0)
    if varies.all():
        return clone(estimator).fit(X, labels)
    at = np.flatnonzero(varies)
    if not len(at):
        return None
    # Labels of one column are not multi-label to scikit-learn.
    asked = at if len(at) > 1 else np.repeat(at, 2)
    try:
        model = clone(estimator).fit(X, labels[:, asked])
    except ValueError as error:
        try:  # an order of all labels, say, was asked for
            return clone(estimator).fit(X, labels)
        except ValueError:
            raise error from None
    return LabelModel(model, at, present.astype(np.int64))


def label_probabilities(model: Any, X: Any, n_labels: int) -> NDArray[Any]:
    """Return the probability of each label, from a matrix or from two columns for each label."""
    given = model.predict_proba(X)
    if isinstance(given, list):
        known = model.classes_
        if len(given) != n_labels:
            raise ValueError(f"predict_proba gave {len(given)} tables for {n_labels} labels")
        given = np.stack(
            [_of_present(np.asarray(p), classes) for p, classes in zip(given, known, strict=True)],
            axis=1,
        )
    table = np.asarray(given)
    if table.shape != (_num_samples(X), n_labels):
        raise ValueError(
            f"predict_proba gave an array of shape {table.shape} for {_num_samples(X)} row(s) of "
            f"{n_labels} labels"
        )
    return table


def _of_present(probabilities: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Return the column of 1 among the classes of one label; zeros if it is none of them."""
    found = np.flatnonzero(np.asarray(classes) == 1)
    return probabilities[:, found[0]] if len(found) else np.zeros(len(probabilities))
