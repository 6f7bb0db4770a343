"""Public part of an ensemble: the student and its privacy guarantee."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from secretballot._base._errors import NOT_FOR_PUBLICATION, TEXT_ERROR, marked_errors
from secretballot._base._numbers import log_probabilities
from secretballot._base._sklearn_compat import _num_samples
from secretballot.accounting._statement import PrivacyStatement
from secretballot.ensemble._estimator_types import Classes, Rows
from secretballot.ensemble._label_model import label_probabilities
from secretballot.ensemble._target import dense_labels
from secretballot.tables._frames import NAMES_DIFFER, column_remedies
from secretballot.tables._known_cells import CellCheck

#: Beginnings of errors that speak of columns, and show no cell.
_OF_COLUMNS = ("X has ", NAMES_DIFFER)


class PublicStudent(ClassifierMixin, BaseEstimator):
    """Fitted student and the privacy guarantee of its labels, without anything private.

    Returned by `PrivateTeacherEnsemble.to_student`. It is already fitted: `fit` does nothing, and
    `clone` returns the object itself.

    Parameters
    ----------
    estimator : estimator
        The fitted student. It predicts positions in ``classes``.
    classes : ndarray of shape (n_classes,) or list of ndarray
        The class labels; for several labels a row a list with 0 and 1 for each.
    privacy : dict
        Privacy guarantee of the labels it was trained on, as plain values: the budget's unit,
        neighbouring relation, epsilon and delta; the share that was spent after the release of
        the labels (not for data-dependent accounting, where it is sensitive); the partition of
        the data; whether classes or noise were outside the guarantee; and under ``"statement"``
        the privacy statement.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The class labels.
    n_features_in_ : int
        Number of features seen in fit, if the student has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the student has them.

    See Also
    --------
    PrivateTeacherEnsemble : Trains such a student.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secretballot.ensemble import PublicStudent
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> student = PublicStudent(tree, np.array(["no", "yes"]), {"unit": "row"})
    >>> student.predict([[0.9], [0.2]]).tolist()
    ['yes', 'no']
    """

    #: Cells of public rows: predictions warn of others.
    _cells: CellCheck | None = None

    def __init__(self, estimator: Any, classes: Classes, privacy: dict[str, Any]) -> None:
        self.estimator = estimator
        self.classes = classes
        self.privacy = privacy

    @property
    def classes_(self) -> Classes:
        """Class labels; for several labels a row a list with 0 and 1 for each."""
        return self.classes if isinstance(self.classes, list) else np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in fit."""
        return self.estimator.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features seen in fit."""
        return self.estimator.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> PublicStudent:
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(self, X: object = None, y: object = None) -> PublicStudent:
        """Return the student, which is already fitted.

        Parameters
        ----------
        X, y : object
            Ignored.

        Returns
        -------
        self : PublicStudent
        """
        return self

    def statement(self) -> PrivacyStatement:
        """Return the privacy statement as of the release of its labels.

        Returns
        -------
        PrivacyStatement
        """
        if "statement" not in self.privacy:
            raise ValueError(
                "privacy has no 'statement': this student was not made by "
                "PrivateTeacherEnsemble.to_student()."
            )
        return PrivacyStatement.from_dict(self.privacy["statement"])

    def _answers(self, ask: Callable[[Rows], Any], X: Rows) -> Any:
        """Ask the estimator, whose errors may show cells of rows that may be private."""
        if self._cells is not None:
            self._cells.warn(X)
        try:
            with marked_errors("X"):
                return ask(X)
        except ValueError as error:
            cause = error.__context__
            if cause is not None and str(cause).startswith(_OF_COLUMNS):
                with column_remedies(self, X):
                    raise cause from None
            if TEXT_ERROR not in str(error):
                raise
            raise ValueError(
                "X holds texts in a column of numbers. Leave such rows out, or ask the ensemble, "
                f"whose predict reads them as its fit did. {NOT_FOR_PUBLICATION}"
            ) from None

    def predict(self, X: Rows) -> NDArray[Any]:
        """Predict class labels; of several labels a row, 1 for those that are present.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        codes = dense_labels(self._answers(self.estimator.predict, X))
        _check_one_each(codes, X)
        unlabelled = codes < 0
        if unlabelled.any():
            # Semi-supervised students may predict -1, which is no class.
            n_rows = int(unlabelled.reshape(len(codes), -1).any(axis=1).sum())
            raise ValueError(
                f"the student predicts no class for {n_rows} rows; it should "
                "treat -1 as unlabelled, or be given unanswered='drop'."
            )
        return codes.astype(np.int64) if codes.ndim == 2 else np.asarray(self.classes_)[codes]

    @available_if(lambda student: hasattr(student.estimator, "predict_proba"))
    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probability of each class in the order of ``classes_``, or of each label; 0 for classes
            that do not occur in the student's training data.
        """
        if isinstance(self.classes, list):
            n_labels = len(self.classes)
            return self._answers(lambda X: label_probabilities(self.estimator, X, n_labels), X)
        learned = np.asarray(self._answers(self.estimator.predict_proba, X))
        _check_one_each(learned, X)
        codes = np.asarray(self.estimator.classes_)
        if len(codes) == len(self.classes_):
            return learned
        probabilities = np.zeros((len(learned), len(self.classes_)), dtype=learned.dtype)
        probabilities[:, codes[codes >= 0]] = learned[:, codes >= 0]
        return probabilities

    @available_if(lambda student: hasattr(student.estimator, "predict_proba"))
    def predict_log_proba(self, X: Rows) -> NDArray[np.float64]:
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
        """
        return log_probabilities(self.predict_proba(X))


def _check_one_each(predicted: NDArray[Any], X: Rows) -> None:
    """Refuse rows that the student reads as another number of them: a table as its columns."""
    n_rows = _num_samples(X)
    if len(predicted) != n_rows:
        raise ValueError(
            f"the student predicts {len(predicted)} labels for {n_rows} rows. One that learned "
            "from a column of texts reads a data frame as the names of its columns: pass the "
            "column, such as X['text']."
        )
