"""Differentially private logistic regression from noisy sums over private rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils import Tags

from secretballot._base._errors import restored_on_failure
from secretballot._base._numbers import log_probabilities
from secretballot._base._sklearn_compat import HasMethods, Interval, StrOptions, _fit_context
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.linear._additive_term import TermList, model_terms
from secretballot.linear._design import Floats
from secretballot.linear._fit import FitArguments
from secretballot.linear._linear_model import LinearModel
from secretballot.linear._response import FittedRounds
from secretballot.linear._settings import ClassReader, ClassWeight
from secretballot.measures._score_methods import ClassifierScoreMethods
from secretballot.reports._budget_report import explained_interrupts
from secretballot.tables._fit_checks import refuse_arguments
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._public_data import PublicData

#: Least estimated share of a class.
_LEAST_RATE = 1e-9
_SHARE = Interval(Real, 0, 1, closed="neither")
_NO_WEIGHTS = (
    "every row casts a vector of the same length at most, which is what its person is charged for. "
    "class_weight= weighs classes. Give people levels (fit(..., budgets=)), whose budgets weigh "
    "their vectors."
)


class PrivateLogisticRegression(ClassifierScoreMethods, ClassifierMixin, LinearModel):
    """Differentially private logistic regression, fitted to noisy sums by their known errors.

    Each private row contributes one vector: its features times the residual of its class under the
    current model. The accountant releases the noisy sum of all vectors, a few times. Public rows
    give the expectation of these sums under any coefficients, and the coefficients are fitted to
    all sums together by their known noise. One row, or one owner, changes a sum by a vector of
    bounded length.

    On tables this is mostly more accurate than `PrivateTeacherEnsemble`, which is for three columns
    and more that are informative only together, data without columns, and any estimator.

    Parameters
    ----------
    features : {"auto", "additive", "kernel", "linear"} or transformer, default="auto"
        Features of rows, fitted on public rows alone. ``"additive"``: the bin of each number, or
        the category, column by column; the log odds are a sum of one effect a column.
        ``"linear"``: scaled numbers and categories. ``"kernel"``: random cosines of these, for
        columns that are informative together. ``"auto"``: additive features, which kernels may
        replace where there are three classes and more, at least as many columns of numbers as of
        categories, and 100 public rows: a private comparison, for 11 to 17 % of the fit's budget.
        A transformer, or pipeline, is cloned and fitted on the public rows; its output for a row
        must depend on that row alone. A `FrozenEstimator` is used as it is; the privacy statement
        records your word that it saw no private row.
    columns : array-like of column names or positions, default=None
        Columns to read; None: all. Public rows with names of columns may lack the others. Tables of
        too many columns (some 450 with 400 public rows) are refused for their memory.
    n_bins : int or "auto", default="auto"
        Largest number of bins of a number, at least 2. ``"auto"``: by the noise and the number of
        rows.
    rounds : int or "auto", default="auto"
        Number of sums of residuals after the first sum.
    interactions : int or "auto", default="auto"
        Largest number of pairs of columns that join the model, with additive features and two
        classes. One release (`plan_fit` has its share) asks all pairs of columns; those that
        stand out of noise and sampling [3]_ get coefficients of their own. ``"auto"``: half the
        number of columns, and at least 6; 0 where the noise would hide them, or with more than 100
        columns. 0: none, and no such release.
    categories : dict, default=None
        Declared categories of columns: ``{column: [...]}``. None: those of the public rows. All
        other categories share one bin.
    bounds : tuple, array-like of shape (n_numbers, 2) or dict, default=None
        ``(low, high)`` of all columns of numbers, or of each, where there are no public rows, or
        fewer than 100. At most a tenth of the fit's budget places the bins at private quantiles,
        so the bounds may be far too wide; where noise would misplace them, bins have equal widths
        and nothing is paid. Without public rows a part pays for the correlations of columns.
    monotonic_cst : array-like of shape (n_features,) or dict of columns, default=None
        Known directions of numbers, with additive features: of two classes the one whose
        probability never falls as the number grows (``{"hours": "more"}``); 0 for neither. With
        classes that are numbers or booleans, and several labels, 1 if the probability of the second
        class, or of each label, never falls, and -1 if it never rises; also with other classes that
        were named in sorted order. An array is in the order of `feature_names_in_`, a dict has
        names of columns. The directions are public, must not be read from private rows, and cost
        nothing. Three classes and more are refused, and columns of categories.
    epsilon : float or dict of str to float, default=None
        Largest cost of one fit. None: all that remains of the budget. In a grid search each
        candidate and fold is a fit.
    check_public_rows : bool, default=True
        Whether to check first, by one noisy count, that most private rows lie within the ranges
        and categories of the public rows, or without them within declared bounds and categories:
        other units and codes are refused before the fit is paid. It costs at most 1 % of the fit;
        where it would cost more (some 500 rows at an epsilon of 1) there is none. False: no check.
    rows_per_call : {"auto", 256, 8, 1}, default="auto"
        Number of private rows that a transformer is given in one call (`features`): always the
        same, so that how many private rows there are changes no row's features. ``"auto"``: the
        largest at which public rows have the same features bit for bit at all places and beside
        all rows. 8 or 256: this number, or an error. 1 needs no check, and takes longer.
    classes : array-like of shape (n_classes,), default=None
        All possible classes, in any order; `classes_` is sorted. None learns them from private
        labels, which is a leak: it warns. Of several labels nothing is learned: their number is
        public.
    class_weight : dict or "balanced", default=None
        Weights of classes, ``{class: weight}``, for predictions as in a population where each class
        is so much more frequent. They must be public: weights that are computed from the counts of
        private classes release these without noise. ``"balanced"``: such that all classes are
        equally frequent, by the rates that the model expects. It shifts the scores of the fitted
        model, which costs nothing. Of one class a row; see `label_threshold` for labels.
    label_rate : float or array-like of shape (n_labels,), default=None
        Public guess of the share of rows with a label, or each label, with which a fit of several
        labels starts; it moves the result little. None: two labels a row, at most half of the rows.
    label_threshold : float, "rate" or array-like of shape (n_labels,), default=0.5
        Probability above which a label is predicted. ``"rate"``: the estimated rate of each label,
        for balanced accuracy and rare labels, which seldom have a probability of .5. Of one class a
        row it is refused, and so is `label_rate`.
    accountant : PrivacyAccountant, default=None
        The budget of the private data. Clones share it.
    verbose : int, default=0
        Whether to print progress.
    random_state : int, RandomState instance or None, default=None
        None draws the noise from a cryptographic generator. Seeds are for tests and examples:
        seeded noise protects nobody.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The classes; of several labels the values 0 and 1 of each.
    class_weight_ : ndarray of shape (n_classes,)
        Weights of the classes; 1 without `class_weight`. Of one class a row.
    coef_ : ndarray of shape (1, n_features), (n_classes, n_features) or (n_labels, n_features)
        Effect of each feature (bin, category) on the log odds (of each label), or on the score of
        a class.
    intercept_ : ndarray of shape (1,), (n_classes,) or (n_labels,)
        Constant of the log odds, or of each score.
    coef_error_ : ndarray of the shape of `coef_`
        Standard error of each coefficient: noise, sampling, and public rows. With three classes
        and more, and several labels, noise and sampling alone. With `monotonic_cst` they are those
        before coefficients are put in order.
    columns_ : list of ColumnReading
        How each column was read: its kind, bins or categories, and missing public cells.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if they are all strings.
    n_rounds_ : int
        Number of sums of residuals after the first.
    n_bins_ : int or None
        Largest number of bins of a number; None without bins.
    features_ : {"additive", "kernel", "linear", "transformer"}
        Features of the model.
    interactions_ : list of tuple
        Names of the pairs of columns that joined the model.
    mechanism_ : VectorSum
        Mechanism of each round.
    public_rows_check_ : PublicRowsCheck
        The check of the public rows, or of declared bounds and categories: its noisy count, or why
        there was none.

    See Also
    --------
    PrivateTeacherEnsemble : Any estimator, by voting.
    secretballot.accounting.PrivacyAccountant : The budget.

    Notes
    -----
    `plan_fit` lists all releases. They are paid for before the first is drawn, and a fit that ends
    early is refunded what was not drawn. Adaptive Gaussian releases compose exactly [1]_: in the
    default budget a fit costs the sum of their mu^2.

    With two classes, residuals are divided by their largest possible length at the probabilities of
    the row. So vectors of all rows have the same largest length, and residuals still have mean 0
    under the true coefficients. The priors' variances maximise the evidence [2]_. With more
    classes, residuals are clipped, and the coefficients are an average over the rounds. Several
    labels are one ballot: the residuals of all labels of a row are clipped together.

    With `monotonic_cst` the coefficients are the most probable ones in the given order, by the
    posterior of the last round. Frequent values of these columns have an interval of their own.

    With `class_weight` the probabilities p of a row become p w over their sum. For a model whose
    probabilities are right that is the model of weighted rows. Where it is not right, a fit to
    weighted rows would be closest to the rare classes, and this one is closest to the frequent
    ones. Weights within the fit would lengthen vectors, and so add noise.

    References
    ----------
    .. [1] Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Corollary 3.3.
    .. [2] D. MacKay, "Bayesian interpolation", Neural Computation 4 (1992).
    .. [3] Benjamini and Hochberg, "Controlling the false discovery rate", Journal of the Royal
       Statistical Society B 57 (1995).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
    >>> X, y = make_classification(6000, random_state=0)
    >>> model = PrivateLogisticRegression(
    ...     classes=[0, 1], accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5)
    ... )
    >>> model = model.fit(X[:5000], y[:5000], X_public=PublicData(X[5000:5500]))
    >>> bool(model.score(X[5500:], y[5500:]) > 0.8)
    True

    Two labels a row, in one ballot:

    >>> labels = (X[:, 10:12] > 0).astype(int)
    >>> model = PrivateLogisticRegression(accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5))
    >>> model = model.fit(X[:5000], labels[:5000], X_public=PublicData(X[5000:5500]))
    >>> model.predict_proba(X[5500:]).shape
    (500, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearModel._parameter_constraints,
        "features": [
            StrOptions({"additive", "auto", "kernel", "linear"}),
            HasMethods(["fit", "transform"]),
        ],
        "classes": ["array-like", None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "label_rate": [_SHARE, "array-like", None],
        "label_threshold": [_SHARE, "array-like", StrOptions({"rate"})],
    }

    def __init__(
        self,
        features: str | TransformerMixin = "auto",
        *,
        columns: ArrayLike | None = None,
        n_bins: int | str = "auto",
        rounds: int | str = "auto",
        interactions: int | str = "auto",
        categories: dict[Hashable, Sequence[Hashable]] | None = None,
        bounds: ArrayLike | dict[Hashable, tuple[float, float]] | None = None,
        monotonic_cst: ArrayLike | dict[str, object] | None = None,
        epsilon: float | dict[str, float] | None = None,
        check_public_rows: bool = True,
        rows_per_call: int | str = "auto",
        classes: ArrayLike | None = None,
        class_weight: dict[Hashable, float] | str | None = None,
        label_rate: ArrayLike | None = None,
        label_threshold: str | ArrayLike = 0.5,
        accountant: PrivacyAccountant | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.features = features
        self.columns = columns
        self.n_bins = n_bins
        self.rounds = rounds
        self.interactions = interactions
        self.categories = categories
        self.bounds = bounds
        self.monotonic_cst = monotonic_cst
        self.epsilon = epsilon
        self.check_public_rows = check_public_rows
        self.rows_per_call = rows_per_call
        self.classes = classes
        self.class_weight = class_weight
        self.label_rate = label_rate
        self.label_threshold = label_threshold
        self.accountant = accountant
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _answer_reader(self) -> ClassReader:
        return ClassReader(self.classes, self.class_weight, self.label_rate, self.label_threshold)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike | PrivateParts,
        y: ArrayLike | None = None,
        *,
        X_public: ArrayLike | PublicData | None = None,
        owners: ArrayLike | None = None,
        budgets: ArrayLike | None = None,
        **unsupported: object,
    ) -> PrivateLogisticRegression:
        """Learn from private rows. **This spends budget.**

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features) or PrivateParts
            Private rows.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Classes of the private rows, or 0 and 1 for each of 2 to 1,000 labels. None beside
            `PrivateParts`.
        X_public : array-like of shape (n_public, n_features) or PublicData, default=None
            Public rows of the same kind; labels are not needed. In cross-validation it must be a
            `PublicData`. None needs `bounds`.
        owners : array-like of shape (n_samples,), default=None
            Owner id of each row: the vectors of an owner are averaged, and the accountant's unit
            must be ``"owner"``. The number of owners is public.
        budgets : array-like of shape (n_samples,), default=None
            Level of each row, one of the accountant's; the same for all rows of an owner. Vectors
            are weighted so that all levels use their budgets up together. None beside parts.
        **unsupported : object
            Other arguments are refused, ``sample_weight`` among them; the error says why.

        Returns
        -------
        self : PrivateLogisticRegression
            The fitted model.

        Raises
        ------
        BudgetExceededError
            If the budget does not suffice; nothing is learned.
        ValueError
            If there are neither public rows nor bounds, or an argument is invalid; nothing is
            spent.
        """
        refuse_arguments(unsupported, _NO_WEIGHTS)
        with restored_on_failure(self), explained_interrupts(self):
            fitted = self._run_fit(FitArguments(X, y, X_public, owners, budgets))
        self._response = fitted.response.fitted(fitted.rounds)
        self.classes_ = self._response.class_values()
        self._keep_fit(fitted)
        self.__dict__.pop("class_weight_", None)
        if not isinstance(self.classes_, list):
            weights = fitted_class_weights(self.class_weight, self.classes_, fitted.rounds)
            self.class_weight_ = weights
            # A model of the weighted population: probabilities p become p w over their sum.
            shift = np.log(weights)
            self.intercept_ += shift[1:] - shift[0] if len(weights) == 2 else shift
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log odds of the second of two classes, or a score of each class or label.

        The score of a label is its log odds less those of its threshold.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
        """
        scores = self._scores(X)
        return self._response.decision(scores)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, or label. Free of charge.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
        """
        scores = self._scores(X)
        return self._response.probabilities(scores)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`. Free of charge.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
        """
        return log_probabilities(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class, or 0 and 1 for each label. Free of charge.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        return self._predict_scores(self._scores(X))

    def _predict_scores(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        return self._response.predict(scores)

    def terms(self, target: Hashable = None) -> TermList:
        """Return the effect of each column, and of each pair, on the log odds. Free of charge.

        Effects are centred: their unweighted mean over the bins of a column is 0. Their errors are
        those of centred effects, which are smaller than `coef_error_`: the bins of a column share a
        part of their error.

        Parameters
        ----------
        target : object, default=None
            Class whose log odds, or score, is returned, or index of a label. None: the second of
            two `classes_`, which are sorted.

        Returns
        -------
        list of AdditiveTerm and PairTerm
            One for each column: name, labels and edges of the bins, effect and error. Then one for
            each pair of `interactions_`. It prints as a table; ``to_frame()`` makes a data frame.

        Raises
        ------
        ValueError
            If the features are not additive, ``target`` is none of the classes or labels, or it is
            missing with more than two classes, or with labels.

        See Also
        --------
        secretballot.inspection.TermsDisplay : The picture.
        """
        features = self._check_additive()
        column, sign = self._response.find_target(target)
        return model_terms(features, sign * self.coef_[column], self._centred_error[column])


def fitted_class_weights(
    class_weight: ClassWeight, classes: NDArray[np.generic], rounds: FittedRounds
) -> Floats:
    """Return the weight of each class; balanced ones are by the rates that the model expects."""
    if isinstance(class_weight, Mapping):
        return np.array([float(class_weight.get(name, 1.0)) for name in classes.tolist()])
    if class_weight is None:
        return np.ones(len(classes))
    reference = rounds.reference
    assert reference is not None
    # A model of released sums expects about the rates of the private rows.
    rates = reference.weights @ reference.probabilities(rounds.posterior.coefficients)
    if len(classes) == 2:
        rates = np.array([1 - rates[0], rates[0]])
    return np.asarray(1 / (len(classes) * np.maximum(rates, _LEAST_RATE)))
