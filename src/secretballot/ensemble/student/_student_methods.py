"""Methods of an ensemble that its student provides, free of charge."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from secretballot._base._errors import GIVE_BUDGET
from secretballot._base._numbers import log_probabilities
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._statement import PrivacyStatement
from secretballot.ensemble._estimator_types import Classes, Learner, Rows
from secretballot.ensemble._public_rows import as_rows, matching_rows
from secretballot.ensemble.student._public_student import PublicStudent
from secretballot.measures._score_methods import NO_LABELS, PrivatePredictor
from secretballot.tables._row_independence import check_row_independence
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise import RowCalls
from secretballot.tables._rowwise_check import choose_calls

UNFITTED = "This %(name)s has no teachers yet: call fit with private data first."
NO_STUDENT = (
    "This %(name)s has no student yet: call fit with X_public, public rows for the teachers to "
    "label; if their labels were released (pool_labels_), fit_student trains one on them. Within "
    "another estimator, such as VotingClassifier, pass X_public to its fit, with metadata routing "
    "(set_fit_request(X_public=True))."
)
STUDENT_NONE = "This %(name)s has student=None: give an estimator, and call fit with X_public."

Method = TypeVar("Method", bound=Callable[..., Any])


class _StudentMethod:
    """Method that an ensemble has if its student has it.

    It replaces scikit-learn's `available_if`, whose error has the remedy in its cause only.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(cast("Callable[..., Any]", self), method)

    def __get__(self, ensemble: StudentMethods | None, owner: type | None = None) -> Any:
        if ensemble is None:
            return self.method
        name = self.method.__name__
        if ensemble.student is None and "student_" not in vars(ensemble):
            raise AttributeError(
                f"student=None, so there is no {name}: give student=, an estimator to train on "
                "the labels of X_public (fit again, or fit_student). Private labels of single "
                "rows cost budget: predict_private."
            )
        if name in ("predict_proba", "predict_log_proba"):  # some students have it only after fit
            name = "predict_proba"
            getattr(vars(ensemble).get("student_", ensemble.student), name)
        return MethodType(self.method, ensemble)


def _of_student(method: Method) -> Method:
    """Return a method of the student, with its own type for checkers."""
    return cast("Method", _StudentMethod(method))


class StudentMethods:
    """Prediction by the fitted student: it learned from released labels only."""

    accountant: PrivacyAccountant | None
    student: Learner | None
    student_: Any
    classes_: Classes
    _privacy: dict[str, Any]
    _row_schema: RowSchema | None

    def to_student(self) -> PublicStudent:
        """Return the public part, for deployment, without teachers, votes, partition or accountant.

        Returns
        -------
        PublicStudent
            The fitted student and its privacy guarantee.
        """
        # Copies, so that neither object can change the other.
        student = self._silent_student()
        student._cells = None if self._row_schema is None else self._row_schema.cells
        return student

    def _silent_student(self) -> PublicStudent:
        """Return the student without its warnings of cells: the rows are already checked."""
        self._check_student()
        return PublicStudent(self.student_, self.classes_.copy(), dict(self._privacy))

    def statement(self) -> PrivacyStatement:
        """Return the accountant's current privacy statement, for a data owner to sign.

        Returns
        -------
        PrivacyStatement
            The guarantee, everything released from the budget so far, and what it rests on.
        """
        if self.accountant is None:
            raise ValueError(
                "accountant=None: without a budget nothing was released, and nothing is "
                f"guaranteed. {GIVE_BUDGET}"
            )
        return self.accountant.statement()

    def _private_predictor(self, rows_per_call: int | str) -> PrivatePredictor:
        """Return the student's predictions for private rows; its check on public rows runs once."""
        self._check_student()
        assert self._row_schema is not None  # a student has public rows
        calls_by_size: dict[int | str, RowCalls] = vars(self).setdefault("_student_calls", {})
        calls, schema = calls_by_size.get(rows_per_call), self._row_schema
        if calls is None or calls.model.estimator is not self.student_:
            student, name = self._silent_student(), f"{type(self).__name__}.predict"
            check_row_independence(student.predict, schema.sample, name)
            calls = choose_calls(student, "predict", schema, rows_per_call, name=name)
            calls_by_size[rows_per_call] = calls
        return PrivatePredictor(schema, calls, calls, schema.cells, warns=True)

    def _check_student(self) -> None:
        check_is_fitted(self, "_teachers", msg=UNFITTED)
        none = self.student is None
        check_is_fitted(self, "student_", msg=STUDENT_NONE if none else NO_STUDENT)

    def _student_rows(self, X: Rows) -> Any:
        """Return rows with the columns of the public ones, and warn of cells that it lacked.

        They are read as a fit reads them if they hold texts for numbers; scikit-learn reads names
        alone.
        """
        schema = self._row_schema
        if schema is not None and schema.container in ("column", "list"):
            return schema.read_queries(as_rows(X, "X"))
        table = matching_rows(self, X, "X")
        if schema is None:
            return table
        table = schema.order_frame(table)
        if schema.cells is not None:
            schema.cells.warn(table)
            if schema.cells.are_texts_for_numbers(table):
                return schema.read_queries(table)
        return table

    @_of_student
    def predict(self, X: Rows) -> NDArray[Any]:
        """Predict with the student. Free: it learned from released labels only.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Class labels; of several labels a row, 1 for those that are present.
        """
        return self._silent_student().predict(self._student_rows(X))

    @_of_student
    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Predict class probabilities with the student. Free.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probability of each class in the order of ``classes_``, or of each label.
        """
        return self._silent_student().predict_proba(self._student_rows(X))

    @_of_student
    def predict_log_proba(self, X: Rows) -> NDArray[np.float64]:
        """Predict logarithms of class probabilities with the student. Free.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
        """
        return log_probabilities(self.predict_proba(X))

    @_of_student
    def score(
        self, X: Rows, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Compute the accuracy of the student. On private rows it leaks: use `score_private`.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
            Mean accuracy; for several labels a row the share of rows with all of them right.
        """
        predicted = self.predict(X)
        if y is None:
            raise ValueError(NO_LABELS)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))
