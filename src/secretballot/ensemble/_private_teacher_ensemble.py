"""The estimator: teachers on private shards, private labels, a public student."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from secretballot._base._errors import restored_on_failure, warn
from secretballot._base._sklearn_compat import (
    N_JOBS,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
    _num_samples,
)
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._reservations import Reservation
from secretballot.ensemble._ensemble_data import FitArguments
from secretballot.ensemble._ensemble_run import EnsembleFit, ask_teachers, price_run, run_fit
from secretballot.ensemble._estimator_types import Learner, Rows, Teacher
from secretballot.ensemble._labelling import count_is_private
from secretballot.ensemble._learners import check_learner, check_parameters, combine_tags
from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._public_rows import check_queries
from secretballot.ensemble.individual import Individualization, Upsampling, Vanishing, Weighting
from secretballot.ensemble.student import NO_STUDENT, UNFITTED, PrivateChoice, StudentMethods
from secretballot.ledger._budget import Scope
from secretballot.measures._fit_price import FitPrice, FitPriceMethods
from secretballot.measures._score_methods import ClassifierScoreMethods
from secretballot.mechanisms._base import Mechanism
from secretballot.reports._budget_report import BudgetReportMixin, explained_interrupts, short_text
from secretballot.tables._fit_checks import CopiedMixin, refuse_arguments
from secretballot.tables._frames import column_names
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._public_data import PublicData
from secretballot.tables._randomness import RandomState

_NO_WEIGHTS = (
    "every teacher's ballot counts alike, so a weight would only reach the training of one "
    "teacher, unseen by the budget. Let the estimator weigh classes (class_weight=), or give "
    "people levels (fit(..., budgets=) with individualization=Weighting())."
)

#: Attributes that a fit sets, and the next one deletes first.
_FITTED = (
    *("classes_", "feature_names_in_", "mechanism_", "n_answered_", "n_features_in_"),
    *("n_teachers_", "pool_labels_", "public_rows_check_", "student_"),
    *("_label_names", "_labelling", "_privacy", "_row_schema", "_teachers", "_train_student"),
)


class PrivateTeacherEnsemble(
    BudgetReportMixin,
    StudentMethods,
    ClassifierScoreMethods,
    FitPriceMethods,
    CopiedMixin,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Differentially private labels, and a student, from any classifier.

    The private data is split among teachers, and each votes on public rows. The accountant releases
    noisy winners and charges its budget for them. A student learns from the released labels (PATE,
    [1]_ and [2]_). One row, or one owner, moves one ballot. Rows have one class, or several labels
    [3]_, each present or absent.

    Parameters
    ----------
    estimator : estimator or list of FrozenEstimator
        Classifier that is cloned for each teacher; for several labels a row one that learns
        indicator targets, such as `MultiOutputClassifier`. Put preprocessing that is fitted into
        it, with a `Pipeline`: fitted before the ensemble it would see all private rows, outside
        the guarantee. Or a list of parties: models that were trained elsewhere, each on other data.
    n_teachers : int, default=None
        Number of teachers, and shards; ignored for parties. None: chosen by the budget and the
        numbers of private and public rows, as by `recommend_teachers`, with at least 20 rows (or
        owners) a teacher, and 3 for each class. Without ``X_public`` or an accountant it is 100, or
        fewer with less than 1,000 rows.
    mechanism : mechanism, default=None
        Mechanism that releases labels. None: `GNMax`, or `BinaryVoting` for several labels a row,
        with the least noise at which all of ``X_public`` (or of ``X`` in `predict_private`) fits
        the budget of this fit. Then labels of teachers with fewer than 10 rows (or owners), or one
        for each class, are refused: they are hardly better than chance.
    student : estimator or PrivateChoice, default=None
        Estimator that is trained on the public rows and their private labels, as positions in
        ``classes_``. `predict`, `predict_proba` and `score` use it and cost nothing. If some labels
        of a row are unanswered, `MultiOutputClassifier` and `OneVsRestClassifier` (also at the end
        of a pipeline) learn each label from the rows that have it; others learn from rows that have
        all. `PrivateChoice` chooses among several students on private rows.
    unanswered : {"drop", "mark"}, default="drop"
        Treatment of unanswered rows, or labels, in the training of the student: left out, or
        marked by -1 for a semi-supervised student.
    individualization : Upsampling, Weighting or Vanishing, default=None
        Method by which people with larger budgets contribute more. The mechanism is given for
        ``n_teachers`` equal ballots; its noise and threshold are adapted. None: all contribute
        alike, at any level.
    epsilon : float or dict of str to float, default=None
        Budget of one fit, with its `predict_private` calls; per level if the accountant has levels.
        None: the whole remaining budget. In a grid search each candidate and fold is a fit.
    reservation : Reservation or int, default=None
        Rows that are paid for in advance. An integer is the number of rows for `predict_private`
        that each fit pays for together with its pool, as one plan. A number at which noise would
        drown unanimous votes is refused. A `Reservation` from `accountant.reserve` is shared: all
        fits with it, such as those of a search, draw their labels from it and charge nothing more.
        If `mechanism` is None, that of the reservation is used.
    check_public_rows : bool, default=True
        Whether to check, by one noisy count, that the public rows match the private ones. If most
        private rows lie outside of the public range or categories of a column (other units, other
        codes), an error is raised before the fit is paid for. The check costs at most 1 % of the
        budget of the fit, or is left out (fewer than some 500 rows at an epsilon of 1).
    classes : array-like of shape (n_classes,), default=None
        All possible classes, in any order; `classes_` is sorted. None learns them from private
        labels, which is a leak, with a warning.
        For several labels a row ``y`` shows their number; parties without ``classes_`` need
        ``[[0, 1]] * n_labels``.
    categories : dict, default=None
        Public categories of columns whose data type lists categories: ``{column: [...]}``. Without
        it, categories that no public row has are left out.
    accountant : PrivacyAccountant, default=None
        Budget of the private data, shared by clones. Without one teachers can be trained, but no
        label is released.
    n_jobs : int, default=None
        Number of joblib workers for training and votes. Results do not depend on it.
    verbose : int, default=0
        Whether to print progress.
    random_state : int, RandomState instance or None, default=None
        Seed of the partition, the teachers and the student. A seed makes the noise reproducible
        too, which protects nobody: it is for tests and examples. None draws the noise from a
        cryptographic generator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        Class labels; for several labels a row a list with 0 and 1 for each.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in fit, if they are all strings.
    n_teachers_ : int
        Number of teachers that vote.
    pool_labels_ : PrivateLabels
        Labels that were released for ``X_public``.
    n_answered_ : int
        Number of those rows that are answered, with all of their labels.
    mechanism_ : mechanism
        Mechanism that labelled ``X_public``.
    public_rows_check_ : PublicRowsCheck
        Check of the public rows: its noisy count, or why there was none.
    student_ : estimator
        Fitted student. It predicts positions in ``classes_``, or labels.

    See Also
    --------
    secretballot.accounting.PrivacyAccountant : The budget.
    PublicData : Keeps a public pool whole in cross-validation.

    Notes
    -----
    Fitted attributes whose names begin with an underscore are private data, and so is a pickle of
    the ensemble; publish the result of `to_student` only. The guarantee does not cover scores on
    held-out private rows, such as those of a grid search; it covers `score_private`.

    References
    ----------
    .. [1] N. Papernot, M. Abadi, U. Erlingsson, I. Goodfellow and K. Talwar, "Semi-supervised
       knowledge transfer for deep learning from private training data", ICLR 2017.
    .. [2] N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar and U. Erlingsson,
       "Scalable private learning with PATE", ICLR 2018.
    .. [3] A. Dziedzic et al., "Private Multi-Winner Voting for Machine Learning", PoPETs 2023.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot.accounting import PrivacyAccountant, Reservation
    >>> from secretballot.ensemble import PrivateTeacherEnsemble
    >>> X, y = make_blobs(1200, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> ensemble = PrivateTeacherEnsemble(
    ...     LogisticRegression(),
    ...     n_teachers=50,
    ...     student=LogisticRegression(),
    ...     classes=[0, 1],
    ...     accountant=PrivacyAccountant(epsilon=2.0, delta=1e-5),
    ... )
    >>> ensemble = ensemble.fit(X[:1000], y[:1000], X_public=X[1000:1030])
    >>> ensemble.n_answered_
    30
    >>> ensemble.predict(X[1030:]).shape
    (170,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "get_params"]), list, tuple],
        "n_teachers": [Interval(Integral, 1, None, closed="left"), None],
        "mechanism": [Mechanism, None],
        "student": [HasMethods(["fit", "get_params"]), None],
        "unanswered": [StrOptions({"drop", "mark"})],
        "individualization": [Upsampling, Weighting, Vanishing, None],
        "epsilon": [Interval(Real, 0, None, closed="neither"), dict, None],
        "reservation": [Reservation, Interval(Integral, 1, None, closed="left"), None],
        "check_public_rows": ["boolean"],
        "classes": ["array-like", None],
        "categories": [dict, None],
        "accountant": [PrivacyAccountant, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Learner | Sequence[Teacher],
        n_teachers: int | None = None,
        *,
        mechanism: Mechanism | None = None,
        student: Learner | None = None,
        unanswered: str = "drop",
        individualization: Individualization | None = None,
        epsilon: float | dict[str, float] | None = None,
        reservation: Reservation | int | None = None,
        check_public_rows: bool = True,
        classes: ArrayLike | None = None,
        categories: Mapping[Any, Sequence[Any]] | None = None,
        accountant: PrivacyAccountant | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_teachers = n_teachers
        self.mechanism = mechanism
        self.student = student
        self.unanswered = unanswered
        self.individualization = individualization
        self.epsilon = epsilon
        self.reservation = reservation
        self.check_public_rows = check_public_rows
        self.classes = classes
        self.categories = categories
        self.accountant = accountant
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @property
    def reservation_(self) -> Reservation:
        """Rows that this fit paid for: ``accountant.settle`` refunds those that are not drawn."""
        labelling = getattr(self, "_labelling", None)
        if labelling is None or labelling.reservation is None:
            raise AttributeError(
                f"{type(self).__name__} has no reservation_: it has paid for no rows beforehand."
            )
        return labelling.reservation

    def _fit_scope(self) -> Scope | None:
        return getattr(getattr(self, "_labelling", None), "scope", None)

    def _fit_summary(self) -> str:
        """Summarise the fit in one line, from public or released facts."""
        if count_is_private(self.accountant):
            return ""
        parts = [f"{self.n_teachers_:,} teachers"]
        if hasattr(self, "pool_labels_"):
            n_rows = len(self.pool_labels_.labels)
            parts.append(f"{self.n_answered_:,} of {n_rows:,} public rows labelled")
            parts.append(short_text(self.mechanism_))
        if isinstance(self.reservation, Reservation):
            parts.append("labels are drawn from a reservation that was paid for before")
        return "; ".join(parts)

    def _price_fit(
        self, n: int | Mapping[str, int], X_public: object, n_fits: int, n_labels: int | None
    ) -> FitPrice:
        return price_run(self, n, X_public, n_fits, n_labels)

    def __sklearn_tags__(self) -> Tags:
        return combine_tags(super().__sklearn_tags__(), self.estimator, self.student)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Rows | PrivateParts | None,
        y: Rows | None = None,
        *,
        X_public: Rows | PublicData | None = None,
        owners: ArrayLike | None = None,
        budgets: ArrayLike | None = None,
        **unsupported: object,
    ) -> PrivateTeacherEnsemble:
        """Train the teachers; with ``X_public``, label it privately and train the student.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features) or PrivateParts
            Private rows. None if the estimator is a list of parties.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Private labels; several labels a row as 1 (present) and 0 (absent). None if the
            estimator is a list of parties, or beside `PrivateParts`.
        X_public : array-like of shape (n_queries, n_features) or PublicData, default=None
            Public rows to label. In cross-validation it must be a `PublicData`. Without them
            nothing is released, and labels of an earlier fit are gone, with a warning.
        owners : array-like of shape (n_samples,), default=None
            Owner id of each row: all rows of an owner go to one teacher, and the accountant's
            unit must be ``"owner"``.
        budgets : array-like of shape (n_samples,), default=None
            Privacy level of each row, one of the accountant's; the same for all rows of an owner.
            Levels are public, like the number of rows. None beside `PrivateParts`.
        **unsupported : object
            Refused, ``sample_weight`` in particular.

        Returns
        -------
        self : PrivateTeacherEnsemble
            The fitted ensemble.

        Raises
        ------
        BudgetExceededError
            If no public row fits the budget. The teachers are kept.
        ValueError
            If an argument is invalid, or teachers have too few rows; nothing is spent.
        """
        refuse_arguments(unsupported, _NO_WEIGHTS)
        check_parameters(self.estimator, self.student, self.mechanism, self.individualization)
        fitted, was_fitted = EnsembleFit(), "_teachers" in vars(self)
        with (
            restored_on_failure(
                self, unless=lambda: fitted.is_paid or (bool(fitted.teachers) and not was_fitted)
            ),
            explained_interrupts(self, lambda: fitted.result(was_fitted)),
        ):
            if X_public is None and "pool_labels_" in vars(self):
                warn(
                    "X_public=None: this fit releases no labels, and takes the place of one whose "
                    "labels were paid for. pool_labels_ and student_ are gone from this estimator "
                    "(what to_student returned before stays); fit another one to keep them."
                )
            for name in _FITTED:
                self.__dict__.pop(name, None)
            try:
                run_fit(self, fitted, FitArguments(X, y, X_public, owners, budgets))
            finally:
                self._set_fitted(fitted)
                self._label_names = None if y is None else column_names(y)
        return self

    def fit_student(self, student: Learner | None = None) -> PrivateTeacherEnsemble:
        """Train a student on the labels that were released for ``X_public``. Free of charge.

        It takes the place of ``student_``, also of one that could not learn from the labels.

        Parameters
        ----------
        student : estimator, default=None
            None: the parameter `student`.

        Returns
        -------
        self : PrivateTeacherEnsemble
            The ensemble, with the new ``student_``.

        Raises
        ------
        ValueError
            If there is no student to train, it is no classifier, or can't learn from the labels.
        """
        check_is_fitted(self, "pool_labels_", msg=NO_STUDENT)
        learner = self.student if student is None else student
        if learner is None or isinstance(learner, PrivateChoice):
            raise ValueError(
                f"student={learner!r}: give an estimator to train on pool_labels_; a choice among "
                "several on private rows is made by fit."
            )
        check_learner("student", learner)
        self.student_ = self._train_student(learner)
        return self

    def _set_fitted(self, fitted: EnsembleFit) -> None:
        """Set the attributes of a fit, as far as it has come."""
        if fitted.data is not None and fitted.labelling is not None:
            self._labelling, schema = fitted.labelling, fitted.data.schema
            self._row_schema = None if schema is None else replace(schema, fitted=True)
            self.classes_ = fitted.data.target.classes
            self.n_teachers_ = fitted.data.facts.assignment.n_teachers
            self.__dict__.update(fitted.data.features)
        if fitted.public_rows_check is not None:
            self.public_rows_check_ = fitted.public_rows_check
        if fitted.teachers:
            self._teachers = fitted.teachers
        if fitted.mechanism is not None:
            self.mechanism_ = fitted.mechanism
        if fitted.pool_labels is not None:
            self.pool_labels_ = fitted.pool_labels
            self._privacy = self._labelling.privacy(self._check_accountant())
            self.n_answered_ = fitted.pool_labels.n_answered
        if fitted.train_student is not None:
            self._train_student = fitted.train_student
        if fitted.student is not None:
            self.student_ = fitted.student

    def predict_private(self, X: Rows) -> PrivateLabels:
        """Label rows by a private vote of the teachers. **This spends budget.**

        Rows are answered in order while the budget, or the reservation, lasts. Without `mechanism`
        and `reservation` one call takes all that the fit may spend, for one row too; it warns
        before, if far more noise would do.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_queries, n_features)
            Public rows.

        Returns
        -------
        released : PrivateLabels
            Named tuple ``(labels, answered)``.

        Raises
        ------
        BudgetExceededError
            If no row fits the budget; nothing is spent.
        """
        check_is_fitted(self, "_teachers", msg=UNFITTED)
        self._validate_params()
        check_parameters(self.estimator, self.student, self.mechanism, self.individualization)
        labelling = self._labelling
        labelling.open_scope(self)
        rows = check_queries(self, self._row_schema, X)
        # Before the vote: without budget there is no need to ask the teachers.
        mechanism = labelling.mechanism_for(self, _num_samples(rows))
        return ask_teachers(self, labelling, self._teachers, rows, mechanism)
