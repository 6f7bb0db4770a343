"""The estimator: teachers on private shards, private labels, a public student."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, cast

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from secretballot._budget_shown import BudgetShown
from secretballot._sklearn_compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
    _num_samples,
)
from secretballot.accounting import PrivacyAccountant, Reservation
from secretballot.ensemble._asking import ask_teachers
from secretballot.ensemble._fit_run import run_fit
from secretballot.ensemble._labelling import told_of_fit
from secretballot.ensemble._labels import PrivateLabels
from secretballot.ensemble._parts import check_parts, combine_tags, refuse_arguments
from secretballot.ensemble._rows import check_queries
from secretballot.ensemble.individual import Upsampling, Vanishing, Weighting
from secretballot.ensemble.student import UNFITTED, StudentMethods
from secretballot.scoring import ScoreMethods

_NO_WEIGHTS = (
    "every teacher's ballot counts alike, so a weight would only reach the training of one "
    "teacher, unseen by the budget. Let the estimator weigh classes (class_weight=), or give "
    "people levels (fit(..., budgets=) with individualization=Weighting())."
)


class PrivateTeacherEnsemble(
    BudgetShown,
    StudentMethods,
    ScoreMethods,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Differentially private labels, and a student, from any classifier.

    The private data is split among teachers; each votes on public rows; the accountant releases
    noisy winners, and charges its budget for them; a student learns from what was released
    (PATE, [1]_ and [2]_). One row, or one owner, moves one ballot. Rows have one class, or several
    labels [3]_, each present or absent.

    Parameters
    ----------
    estimator : estimator or list of FrozenEstimator
        Classifier that each teacher is a clone of; of labels one that learns indicator targets,
        such as `MultiOutputClassifier`. Preprocessing that is fitted belongs in it, in
        a `Pipeline`: fitted before the ensemble it would see all private rows at once, outside
        the guarantee. Or a list of parties that trained elsewhere, each on data of its own.
    n_teachers : int, default=100
        Number of teachers, and shards. A list of parties has its own number. None: chosen by the
        budget and the numbers of private and public rows, as `recommend_teachers` does.
    mechanism : mechanism, default=None
        How votes become labels. None: `GNMax`, or of several labels a row `BinaryVoting`, with the
        least noise at which all of ``X_public`` (or of ``X`` in `predict_private`) fits what this
        fit may spend.
    student : estimator or PrivateChoice, default=None
        Trained on the public rows and their private labels, as positions in ``classes_``.
        `predict`, `predict_proba` and `score` are the student's and cost nothing. Of labels that
        a mechanism may leave unanswered, `MultiOutputClassifier` and `OneVsRestClassifier` (also
        at the end of a pipeline) learn each from the rows that have it; others learn from rows
        that have all. Of several, `PrivateChoice` has the private rows choose one.
    unanswered : {"drop", "mark"}, default="drop"
        What the student sees of rows, or labels, that were not answered: nothing, or -1, as
        semi-supervised students take it.
    individualization : Upsampling, Weighting or Vanishing, default=None
        How people with larger budgets contribute more: see each. The mechanism is what it would be
        for ``n_teachers`` equal ballots; its noise and threshold are adapted. None: all contribute
        alike, whatever their level.
    epsilon : float or dict of str to float, default=None
        The most that one fit may spend, with its `predict_private` calls; per level where the
        accountant has levels. None: all that remains of the budget. In a grid search each
        candidate and fold is a fit.
    reservation : Reservation or int, default=None
        Rows that are paid for before they are asked. A number: so many for `predict_private`,
        which each fit pays for together with its pool, as one plan. A `Reservation` of
        `accountant.reserve`: all fits with it, those of a search say, draw their labels from it
        and charge nothing more; its mechanism is used where `mechanism` is None.
    check_public_rows : bool, default=True
        Whether to look first, by one noisy count, if most private rows lie outside of what the
        public rows show in some column: other units, other codes. It costs 1 % of what the fit may
        spend at most, mostly far less, and where it would cost more there is no check (fewer than
        some 500 rows at an epsilon of 1). Public rows that don't match are refused before the fit
        is paid for. False: no check, and no charge.
    classes : array-like of shape (n_classes,), default=None
        All possible classes. None learns them from private labels, which is a leak: it warns. Of
        several labels a row their number is enough, which ``y`` has; parties that don't say it
        take ``[[0, 1]] * n_labels``.
    categories : dict, default=None
        Categories that are public, whether public rows show them or not: ``{column: [...]}``, for
        columns whose data type lists its categories. Others that no public row shows are left out.
    accountant : PrivacyAccountant, default=None
        The budget of the private data. Clones share it. Teachers can be trained without one, but
        nothing is released.
    n_jobs : int, default=None
        Number of joblib workers that train and ask teachers. Results don't depend on it.
    verbose : int, default=0
        Whether to print progress.
    random_state : int, RandomState instance or None, default=None
        Seed of the partition, the teachers and the student. An int seeds the noise too, which is
        for tests and examples: seeded noise protects nobody. None draws the noise from a
        cryptographic generator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The class labels; of several labels a row a list of those of each, 0 and 1.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in fit, if they are all strings.
    n_teachers_ : int
        Number of teachers that vote.
    pool_labels_ : PrivateLabels
        Labels that were released for ``X_public``.
    n_answered_ : int
        How many rows of them are answered, with all of their labels.
    mechanism_ : mechanism
        What ``X_public`` was labelled with.
    public_rows_check_ : PublicRowsCheck
        The check of the public rows: its noisy count, or why there was none.
    student_ : estimator
        The fitted student. It predicts positions in ``classes_``, or labels.

    See Also
    --------
    secretballot.accounting.PrivacyAccountant : The budget.
    PublicData : Keeps a public pool whole in cross-validation.

    Notes
    -----
    Fitted attributes whose names begin with an underscore are private data, and so is a pickle of
    the ensemble; `to_student` gives what may be published. A score on held-out private rows, such
    as a grid search prints, is not covered by the guarantee; that of `score_private` is.

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
        "mechanism": [HasMethods(["max_cost", "participation", "cost"]), None],
        "student": [HasMethods(["fit", "get_params"]), None],
        "unanswered": [StrOptions({"drop", "mark"})],
        "individualization": [Upsampling, Weighting, Vanishing, None],
        "epsilon": [Interval(Real, 0, None, closed="neither"), dict, None],
        "reservation": [Reservation, Interval(Integral, 1, None, closed="left"), None],
        "check_public_rows": ["boolean"],
        "classes": ["array-like", None],
        "categories": [dict, None],
        "accountant": [PrivacyAccountant, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        n_teachers: int | None = 100,
        *,
        mechanism: Any = None,
        student: Any = None,
        unanswered: str = "drop",
        individualization: Any = None,
        epsilon: float | dict[str, float] | None = None,
        reservation: Reservation | int | None = None,
        check_public_rows: bool = True,
        classes: ArrayLike | None = None,
        categories: dict[Any, Any] | None = None,
        accountant: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
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
        """What this fit paid for: ``accountant.settle(ensemble.reservation_)`` gives back the rest.

        AttributeError if it has not reserved anything.
        """
        labelling = getattr(self, "_labelling", None)
        if labelling is None or labelling.reservation is None:
            raise AttributeError(
                f"{type(self).__name__} has no reservation_: it has paid for no rows beforehand."
            )
        return cast("Reservation", labelling.reservation)

    def _fit_scope(self) -> Any:
        return getattr(getattr(self, "_labelling", None), "scope", None)

    def _fit_told(self) -> str:
        return "" if self.accountant.accounting == "data_dependent" else told_of_fit(self)

    def __sklearn_tags__(self) -> Any:
        return combine_tags(super().__sklearn_tags__(), self.estimator, self.student)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_public: Any = None,
        owners: Any = None,
        budgets: Any = None,
        **unsupported: Any,
    ) -> PrivateTeacherEnsemble:
        """Train the teachers; with ``X_public``, label it privately and train the student.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Private rows. None if the estimator is a list of parties.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Private labels; several a row as 1 (present) and 0 (absent). None if the estimator is a
            list of parties.
        X_public : array-like of shape (n_queries, n_features) or PublicData, default=None
            Public rows to label. In cross-validation it must be a `PublicData`.
        owners : array-like of shape (n_samples,), default=None
            Owner id of each row: all rows of an owner go to one teacher, and the accountant's
            unit must be ``"owner"``.
        budgets : array-like of shape (n_samples,), default=None
            Level of each row, one of the accountant's: whose budget is whose. The same for all
            rows of an owner. Public, like the number of rows.
        **unsupported : object
            Nothing else is taken: in particular no ``sample_weight``, and the error says why.

        Returns
        -------
        self : PrivateTeacherEnsemble
            The fitted ensemble.

        Raises
        ------
        BudgetExceededError
            If not one public row fits the budget. The teachers are kept.
        """
        refuse_arguments(unsupported, _NO_WEIGHTS)
        for name in vars(self).pop("_left_by_fit", ()):
            vars(self).pop(name, None)
        before = set(vars(self))
        check_parts(self)
        teachers: list[Any] = []
        try:
            run_fit(self, X, y, X_public, owners, budgets, teachers=teachers)
        finally:
            # Last, so that callbacks never meet an estimator that holds teachers; and also if
            # the labelling failed, so that no training is lost.
            if teachers:
                self._teachers = teachers
            # The next fit begins by forgetting all that this one has added, whatever it is.
            self._left_by_fit = set(vars(self)) - before
        return self

    def predict_private(self, X: Any) -> PrivateLabels:
        """Label rows by a private vote of the teachers. **This spends budget.**

        Rows are answered in order while the budget lasts, or what was reserved.

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
            If not one row fits the budget; nothing is spent.
        """
        check_is_fitted(self, "_teachers", msg=UNFITTED)
        self._validate_params()
        check_parts(self)
        labelling = self._labelling
        labelling.open(self)
        X = check_queries(self, X, "X")
        # Before the vote: without budget nobody needs to be asked.
        mechanism = labelling.mechanism_for(self, _num_samples(X))
        return ask_teachers(self, X, mechanism)
