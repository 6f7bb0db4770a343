"""The estimator: teachers on private shards, private labels, a public student."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from secretballot._sklearn_compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
    _num_samples,
    with_callbacks,
)
from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble._fit_data import (
    FitData,
    check_queries,
    prepared_data,
    prepared_parties,
    training_template,
)
from secretballot.ensemble._parameters import check_parts, check_unit
from secretballot.ensemble._parties import is_parties
from secretballot.ensemble._private_labels import (
    PrivateLabels,
    label_votes,
    privacy_of,
    warn_classes_learned,
)
from secretballot.ensemble._progress import Progress
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble._student import fit_student
from secretballot.ensemble._student_methods import UNFITTED, StudentMethods
from secretballot.ensemble._tags import combine_tags
from secretballot.ensemble._teachers import train_teachers
from secretballot.ensemble._votes import GroupVotes, Tally, collect_votes
from secretballot.ensemble.individual import Upsampling, Vanishing, Weighting
from secretballot.mechanisms import GNMax


class PrivateTeacherEnsemble(
    StudentMethods, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator
):
    """Differentially private labels, and a student, from any classifier.

    The private data is split among teachers; each votes on public rows; the accountant releases
    noisy winners, and charges its budget for them; a student learns from what was released
    (PATE, [1]_ and [2]_). One row, or one owner, moves one ballot.

    Parameters
    ----------
    estimator : estimator or list of FrozenEstimator
        Classifier that each teacher is a clone of. Preprocessing that is fitted belongs in it, in
        a `Pipeline`: fitted before the ensemble it would see all private rows at once, outside
        the guarantee. Or a list of parties that trained elsewhere, each on data of its own.
    n_teachers : int, default=100
        Number of teachers, and shards. A list of parties has its own number.
    mechanism : mechanism, default=None
        How votes become labels. None: `GNMax` with the least noise at which all of ``X_public``
        (or of ``X`` in `predict_private`) fits what this fit may spend.
    student : estimator, default=None
        Trained on the public rows and their private labels, as positions in ``classes_``.
        `predict`, `predict_proba` and `score` are the student's and cost nothing.
    unanswered : {"drop", "mark"}, default="drop"
        What the student sees of rows that got no label: nothing, or the row labelled -1, as
        semi-supervised students take it.
    individualization : Upsampling, Weighting or Vanishing, default=None
        How people with larger budgets contribute more: see each. The mechanism is what it would be
        for ``n_teachers`` equal ballots; its noise and threshold are adapted. None: all contribute
        alike, whatever their level.
    epsilon : float or dict of str to float, default=None
        The most that one fit may spend, with its `predict_private` calls; per level where the
        accountant has levels. None: all that remains of the budget. In a grid search each
        candidate and fold is a fit.
    classes : array-like of shape (n_classes,), default=None
        All possible labels. None learns them from private labels, which is a leak: it warns.
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
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in fit, if they are all strings.
    n_teachers_ : int
        Number of teachers that vote.
    pool_labels_ : PrivateLabels
        Labels that were released for ``X_public``.
    n_answered_ : int
        How many of them are answered.
    mechanism_ : mechanism
        What ``X_public`` was labelled with.
    student_ : estimator
        The fitted student. It predicts positions in ``classes_``.

    See Also
    --------
    secretballot.accounting.PrivacyAccountant : The budget.
    PublicData : Keeps a public pool whole in cross-validation.

    Notes
    -----
    Fitted attributes whose names begin with an underscore are private data, and so is a pickle of
    the ensemble; `to_student` gives what may be published. A score on held-out private rows, such
    as a grid search prints, is not covered by the guarantee.

    References
    ----------
    .. [1] N. Papernot, M. Abadi, U. Erlingsson, I. Goodfellow and K. Talwar, "Semi-supervised
       knowledge transfer for deep learning from private training data", ICLR 2017.
    .. [2] N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar and U. Erlingsson,
       "Scalable private learning with PATE", ICLR 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot.accounting import PrivacyAccountant
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
        "estimator": [HasMethods(["fit", "predict", "get_params"]), list, tuple],
        "n_teachers": [Interval(Integral, 1, None, closed="left")],
        "mechanism": [HasMethods(["max_cost", "participation", "cost"]), None],
        "student": [HasMethods(["fit", "predict", "get_params"]), None],
        "unanswered": [StrOptions({"drop", "mark"})],
        "individualization": [Upsampling, Weighting, Vanishing, None],
        "epsilon": [Interval(Real, 0, None, closed="neither"), dict, None],
        "classes": ["array-like", None],
        "accountant": [PrivacyAccountant, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        n_teachers: int = 100,
        *,
        mechanism: Any = None,
        student: Any = None,
        unanswered: str = "drop",
        individualization: Any = None,
        epsilon: float | dict[str, float] | None = None,
        classes: ArrayLike | None = None,
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
        self.classes = classes
        self.accountant = accountant
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        return combine_tags(super().__sklearn_tags__(), self.estimator, self.student)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        X_public: Any = None,
        owners: Any = None,
        budgets: Any = None,
    ) -> PrivateTeacherEnsemble:
        """Train the teachers; with ``X_public``, label it privately and train the student.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Private rows. None if the estimator is a list of parties.
        y : array-like of shape (n_samples,)
            Private labels. None if the estimator is a list of parties.
        X_public : array-like of shape (n_queries, n_features) or PublicData, default=None
            Public rows to label. In cross-validation it must be a `PublicData`.
        owners : array-like of shape (n_samples,), default=None
            Owner id of each row: all rows of an owner go to one teacher, and the accountant's
            unit must be ``"owner"``.
        budgets : array-like of shape (n_samples,), default=None
            Level of each row, one of the accountant's: whose budget is whose. The same for all
            rows of an owner. Public, like the number of rows.

        Returns
        -------
        self : PrivateTeacherEnsemble
            The fitted ensemble.

        Raises
        ------
        BudgetExceededError
            If not one public row fits the budget. The teachers are kept.
        """
        for name in [name for name in vars(self) if name in _FITTED]:
            delattr(self, name)
        check_parts(self)
        teachers: list[Any] = []
        try:
            self._fit(X, y, X_public, owners, budgets, teachers)
        finally:
            # Last, so that callbacks never meet an estimator that holds teachers; and also if
            # the labelling failed, so that no training is lost.
            if teachers:
                self._teachers = teachers
        return self

    @with_callbacks
    def _fit(
        self, X: Any, y: Any, X_public: Any, owners: Any, budgets: Any, teachers: list[Any]
    ) -> None:
        if X_public is not None and self.accountant is None:
            raise ValueError(
                "X_public was given but accountant=None: labels are not released without a "
                "budget. Use accountant=PrivacyAccountant(epsilon, delta)."
            )
        prepare = prepared_parties if is_parties(self.estimator) else prepared_data
        data = prepare(self, X, y, X_public, owners, budgets)
        self.classes_, self.n_teachers_ = data.classes, data.plan.n_teachers
        self._plan, self._levels = data.plan, data.levels
        self._split_by, self._classes_learned = data.split_by, data.classes_learned
        self._classes_told = False
        self._randomness = Randomness.of(self.random_state)
        self._n_releases, self._n_begun = 0, 0
        mechanism = None
        if self.accountant is not None:
            self._check_door(stacklevel=5, silent=X_public is None)
            self._scope = self.accountant.scope(self.epsilon)
        if data.X_public is not None:
            # Before any training: an empty budget should not cost hours.
            mechanism = self._mechanism_for(_num_samples(data.X_public))
        n_tasks = 1 + (mechanism is not None) * (1 + (self.student is not None))
        progress = Progress(self, n_tasks, self.verbose)
        votes = self._train(data, teachers, progress)
        if mechanism is not None:
            self._label(data.X_public, votes, mechanism, progress)
        progress.end()

    def _train(self, data: FitData, teachers: list[Any], progress: Progress) -> GroupVotes:
        """Train teachers or ask the parties; their votes on the public rows, if there are any."""
        with progress.task("train teachers", self.n_teachers_) as task:
            if data.parties is not None:
                teachers.extend(data.parties)
                task.advance("teacher", self.n_teachers_)
                if data.X_public is None:
                    return {}
                return collect_votes(teachers, data.X_public, self.classes_, self.n_jobs)
            trained: list[Any] = [None] * self.n_teachers_
            tally = Tally()
            for batch in train_teachers(
                training_template(self.estimator),
                data.X,
                data.y,
                data.shards(self._randomness),
                self._plan.groups,
                self.classes_,
                self._randomness,
                data.X_public,
                self.n_jobs,
            ):
                for index, teacher in batch.teachers.items():
                    trained[index] = teacher
                tally.add(batch.votes)
                task.advance("teacher", len(batch.teachers))
        teachers.extend(trained)
        return tally.votes

    def _label(self, X_public: Any, votes: GroupVotes, mechanism: Any, progress: Progress) -> None:
        """Release the labels of the public rows and train the student on them."""
        self.mechanism_ = mechanism
        with progress.task("label public rows") as task:
            self.pool_labels_ = self._answer(mechanism, votes)
            n_rows = len(self.pool_labels_.answered)
            self.n_answered_ = int(self.pool_labels_.answered.sum())
            task.counts = {"n_done": self.n_answered_, "n_total": n_rows}
            progress.say(f"rows labelled: {self.n_answered_} of {n_rows}")
        self._privacy = privacy_of(self.accountant, self._ledger_note(), self._randomness.seeded)
        if self.student is not None:
            with progress.task("fit student"):
                self.student_ = fit_student(
                    self.student,
                    X_public,
                    self.pool_labels_,
                    self.classes_,
                    self.unanswered,
                    self._randomness,
                )

    def _check_door(self, *, stacklevel: int, silent: bool = False) -> None:
        """Check the budget against the partition, and warn of learned classes, once a fit."""
        if self.accountant is None:
            raise ValueError(
                "accountant=None: labels are not released without a budget. Use "
                "set_params(accountant=PrivacyAccountant(epsilon, delta))."
            )
        if self._split_by != "party":
            check_unit(self.accountant, owners=self._split_by == "owner")
        if self._classes_learned and not self._classes_told and not silent:
            warn_classes_learned(stacklevel)
            self._classes_told = True

    def _mechanism_for(self, n_queries: int) -> Any:
        """Return the mechanism as the plan needs it; calibrated to the pool if none was given."""

        def planned(mechanism: Any) -> Any:
            return self._plan.individualize(mechanism, len(self.classes_), self._n_begun)

        if self.mechanism is not None:
            return planned(self.mechanism)
        return self.accountant.calibrate(
            lambda sigma: planned(GNMax(sigma=sigma)),
            n_queries=n_queries,
            n_columns=len(self.classes_),
            scope=self._scope,
        )

    def _ledger_note(self) -> dict[str, Any]:
        """Public facts that the guarantee rests on, for the ledger and for who gets the student."""
        note = {
            "n_teachers": self.n_teachers_,
            "split_by": self._split_by,
            "classes_learned": self._classes_learned,
        }
        if self._levels is not None:
            note.update(self._levels.ledger_note, individualization=self._plan.ledger_note)
        return note

    def _answer(self, mechanism: Any, votes: GroupVotes) -> PrivateLabels:
        count, self._n_releases = self._n_releases, self._n_releases + 1
        labels, n_begun = label_votes(
            self.accountant,
            mechanism,
            self._plan.add_up(votes, mechanism),
            self.classes_,
            random_state=self._randomness.noise(count),
            scope=self._scope,
            note=self._ledger_note(),
        )
        self._n_begun += n_begun
        return labels

    def predict_private(self, X: Any) -> PrivateLabels:
        """Label rows by a private vote of the teachers. **This spends budget.**

        Rows are answered in order while the budget lasts.

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
        self._check_door(stacklevel=4)
        X = check_queries(self, X, "X")
        if not hasattr(self, "_scope"):
            self._scope = self.accountant.scope(self.epsilon)
        # Before the vote: without budget nobody needs to be asked.
        mechanism = self._mechanism_for(_num_samples(X))
        votes = collect_votes(
            self._teachers, X, self.classes_, self.n_jobs, groups=self._plan.groups
        )
        return self._answer(mechanism, votes)


# What a fit leaves behind, and the next one begins by forgetting.
_FITTED = {
    *("classes_", "n_features_in_", "feature_names_in_", "n_teachers_", "pool_labels_"),
    *("n_answered_", "mechanism_", "student_", "_teachers", "_split_by"),
    *("_classes_learned", "_classes_told"),
    *("_plan", "_levels", "_randomness", "_n_releases", "_n_begun", "_scope", "_privacy"),
}
