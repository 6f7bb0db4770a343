"""The public part: a model trained on private labels only, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from secretballot.accounting import PrivacyStatement
from secretballot.ensemble._label_model import label_probabilities


def _has(method: str) -> Any:
    return lambda student: hasattr(student.estimator, method)


class PublicStudent(ClassifierMixin, BaseEstimator):
    """A fitted student and what its labels cost, without anything private.

    What `PrivateTeacherEnsemble.to_student` returns. It is already fitted: `fit` does nothing, and
    `clone` returns the object itself.

    Parameters
    ----------
    estimator : estimator
        The fitted student. It predicts positions in ``classes``.
    classes : ndarray of shape (n_classes,) or list of ndarray
        The class labels; of several labels a row a list of those of each, 0 and 1.
    privacy : dict
        The privacy guarantee of the labels it was trained on, as plain values: the budget's unit,
        neighbouring relation, epsilon and delta, and the share of it that was spent when the
        labels had been released (left out if it is sensitive itself: data-dependent accounting);
        how the data was split, and whether classes or noise were outside the guarantee; and
        under ``"statement"`` what `statement` returns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The class labels.
    n_features_in_ : int
        Number of features seen in fit, if the student says it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the student says them.

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

    def __init__(self, estimator: Any, classes: Any, privacy: dict[str, Any]) -> None:
        self.estimator = estimator
        self.classes = classes
        self.privacy = privacy

    @property
    def classes_(self) -> NDArray[Any] | list[NDArray[Any]]:
        """The class labels; 0 and 1 for each label if there are several a row."""
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(self, X: Any = None, y: Any = None) -> PublicStudent:
        """Do nothing: the student is fitted.

        Parameters
        ----------
        X : object
            Ignored.
        y : object
            Ignored.

        Returns
        -------
        self : PublicStudent
            The student itself.
        """
        return self

    def statement(self) -> PrivacyStatement:
        """Return the privacy statement that was true when its labels had been released.

        Returns
        -------
        statement : PrivacyStatement
            The guarantee, everything released from the budget until then, and what it rests on.
        """
        if "statement" not in self.privacy:
            raise ValueError(
                "privacy has no 'statement': this student was not made by "
                "PrivateTeacherEnsemble.to_student()."
            )
        return PrivacyStatement.from_dict(self.privacy["statement"])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
            The predicted labels; of several a row 1 where one is present.
        """
        given = self.estimator.predict(X)
        codes = np.asarray(given.toarray() if issparse(given) else given)
        unlabelled = codes < 0
        if unlabelled.any():
            # Semi-supervised students know -1 as a label; it is no class.
            none = int(unlabelled.reshape(len(codes), -1).any(axis=1).sum())
            raise ValueError(
                f"the student predicts no class for {none} rows; it should "
                "treat -1 as unlabelled, or be given unanswered='drop'."
            )
        return codes.astype(np.int64) if codes.ndim == 2 else np.asarray(self.classes_)[codes]

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probability of each class in the order of ``classes_``; 0 for classes that no label
            of the student's training data named. Of several labels a row the probability of each.
        """
        if isinstance(self.classes, list):
            return label_probabilities(self.estimator, X, len(self.classes))
        given = np.asarray(self.estimator.predict_proba(X))
        known = np.asarray(self.estimator.classes_)
        if len(known) == len(self.classes_):
            return given
        widened = np.zeros((len(given), len(self.classes_)), dtype=given.dtype)
        widened[:, known[known >= 0]] = given[:, known >= 0]
        return widened
