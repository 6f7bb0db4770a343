"""Logistic regression on the bins of a table, from a few noisy sums over private rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from secretballot._budget_shown import BudgetShown, short_text
from secretballot._sklearn_compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
)
from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import refuse_arguments
from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._design import Design
from secretballot.linear._fit_data import checked_table
from secretballot.linear._fit_run import features_of, run_fit
from secretballot.linear._posterior import probabilities
from secretballot.linear._terms import AdditiveTerm, terms_of
from secretballot.scoring import ScoreMethods

_NO_WEIGHTS = (
    "every row casts a vector of the same length at most, which is what its person is charged for. "
    "Give people levels (fit(..., budgets=)), whose budgets weigh their vectors."
)


class PrivateLogisticRegression(
    BudgetShown, ScoreMethods, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Differentially private logistic regression that knows what its noise is.

    Every private row casts one vector: its features times how far its class is from what is
    believed so far. The accountant releases the noisy sum of all, a few times; public rows say
    what a model would have led one to expect of these sums, and the model that explains all of
    them best, given their known noise, is kept. One row, or one owner, changes a sum by a bounded
    vector.

    For the classes of a table this is mostly the more accurate of the two. Teachers
    (`PrivateTeacherEnsemble`) are for what columns say only together, for what no bins describe,
    for any estimator, several labels a row, and for parties.

    Parameters
    ----------
    features : {"additive", "linear"} or transformer, default="additive"
        What rows are described by, fitted on public rows alone. ``"additive"``: the bin of each
        number, or the category, column by column; the log odds are a sum of what each column
        adds. ``"linear"``: scaled numbers and categories. A transformer, or pipeline, is cloned
        and fitted on the public rows; what it makes of a row must depend on that row alone. A
        `FrozenEstimator` is taken as it is, and that it saw no private row is your word, which the
        privacy statement records.
    n_bins : int or "auto", default="auto"
        Into how many bins a number is cut at most. ``"auto"`` follows from what the budget leaves,
        and how many rows there are.
    rounds : int or "auto", default="auto"
        How many sums of residuals follow the first sum.
    categories : dict, default=None
        Declared categories of columns: ``{column: [...]}``. None: those of the public rows. Others
        share one bin.
    bounds : tuple, array-like of shape (n_numbers, 2) or dict, default=None
        ``(low, high)`` of all columns of numbers, or of each, where no public rows are given:
        bins are cut evenly between them, and a part of the budget buys how columns go together.
    epsilon : float or dict of str to float, default=None
        The most that one fit may spend. None: all that remains of the budget. In a grid search
        each candidate and fold is a fit.
    check_public_rows : bool, default=True
        Whether to look first, by one noisy count, if most private rows lie outside of what the
        public rows show in some column: other units, other codes. It costs 1 % of what the fit may
        spend at most, mostly far less, and where it would cost more there is no check (fewer than
        some 500 rows at an epsilon of 1). Public rows that don't match are refused before the fit
        is paid for. False: no check, and no charge.
    classes : array-like of shape (n_classes,), default=None
        All possible classes. None learns them from private labels, which is a leak: it warns.
    accountant : PrivacyAccountant, default=None
        The budget of the private data. Clones share it.
    random_state : int, RandomState instance or None, default=None
        None draws the noise from a cryptographic generator. Anything else is for tests and
        examples: seeded noise protects nobody.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        What each feature (bin, category) adds to the log odds, or to a class's score.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        What all rows have in common.
    coef_error_ : ndarray of the shape of `coef_`
        Standard deviation of each coefficient, by the known errors: noise, sample, public rows.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they are all strings.
    n_rounds_ : int
        How many rounds of residuals there were.
    n_bins_ : int or None
        How many bins numbers were cut into at most, if they were.
    mechanism_ : VectorSum
        What each round was released with.
    public_rows_check_ : PublicRowsCheck
        The check of the public rows: its noisy count, or why there was none.

    See Also
    --------
    PrivateTeacherEnsemble : Any estimator, by voting.
    secretballot.accounting.PrivacyAccountant : The budget.

    Notes
    -----
    All rounds are one reservation: their whole price is recorded before the first, and a fit that
    dies between two keeps the charge. Adaptive Gaussian releases compose exactly [1]_: in the
    default budget a fit costs the mu^2 of its rounds, and nothing for being adaptive.

    Each residual is divided by the longest that a row with the same probabilities could have, so
    the longest vectors are as long at every row, and residuals still vanish on average where the
    model is right. How all rounds are believed together is said in the documentation.

    References
    ----------
    .. [1] Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Corollary 3.3.
    .. [2] D. MacKay, "Bayesian interpolation", Neural Computation 4 (1992).

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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "features": [StrOptions({"additive", "linear"}), HasMethods(["fit", "transform"])],
        "n_bins": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "rounds": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "categories": [dict, None],
        "bounds": ["array-like", dict, None],
        "epsilon": [Interval(Real, 0, None, closed="neither"), dict, None],
        "check_public_rows": ["boolean"],
        "classes": ["array-like", None],
        "accountant": [PrivacyAccountant, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        features: Any = "additive",
        *,
        n_bins: int | str = "auto",
        rounds: int | str = "auto",
        categories: dict[Any, Any] | None = None,
        bounds: Any = None,
        epsilon: float | dict[str, float] | None = None,
        check_public_rows: bool = True,
        classes: ArrayLike | None = None,
        accountant: Any = None,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.n_bins = n_bins
        self.rounds = rounds
        self.categories = categories
        self.bounds = bounds
        self.epsilon = epsilon
        self.check_public_rows = check_public_rows
        self.classes = classes
        self.accountant = accountant
        self.random_state = random_state

    def _fit_scope(self) -> Any:
        return getattr(self, "_scope", None)

    def _fit_told(self) -> str:
        if self.accountant.accounting == "data_dependent" or not hasattr(self, "mechanism_"):
            return ""
        return f"{self.n_rounds_} rounds of residuals; {short_text(self.mechanism_)}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True  # a missing cell adds nothing
        tags.input_tags.string = True  # any other cell is a category, or missing
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_public: Any = None,
        owners: Any = None,
        budgets: Any = None,
        **unsupported: Any,
    ) -> PrivateLogisticRegression:
        """Learn from private rows. **This spends budget.**

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,)
            Their classes.
        X_public : array-like of shape (n_public, n_features) or PublicData, default=None
            Public rows of the same kind; labels are not needed. In cross-validation it must be a
            `PublicData`. None needs `bounds`.
        owners : array-like of shape (n_samples,), default=None
            Owner id of each row: the vectors of an owner are averaged, and the accountant's unit
            must be ``"owner"``. How many owners there are is public.
        budgets : array-like of shape (n_samples,), default=None
            Level of each row, one of the accountant's; the same for all rows of an owner. Vectors
            are weighted so that all levels use their budgets up together.
        **unsupported : object
            Nothing else is taken: in particular no ``sample_weight``, and the error says why.

        Returns
        -------
        self : PrivateLogisticRegression
            The fitted model.

        Raises
        ------
        BudgetExceededError
            If nothing is left to spend; nothing is learned.
        ValueError
            If there are neither public rows nor bounds, or the input is not what it should be;
            nothing is spent.
        """
        refuse_arguments(unsupported, _NO_WEIGHTS)
        fitted = run_fit(self, X, y, X_public, owners, budgets)
        belief = fitted.belief
        self.classes_ = fitted.classes
        self.intercept_ = belief.coefficients[0].copy()
        self.coef_ = belief.coefficients[1:].T.copy()
        self.coef_error_ = np.sqrt(belief.variances[1:]).T
        self._centred_error = np.sqrt(belief.centred[1:]).T
        self.n_rounds_ = fitted.n_rounds
        self.n_bins_ = fitted.n_bins
        self.mechanism_ = fitted.mechanism
        self._public_features = fitted.features
        self._row_schema = fitted.schema
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log odds of the second of two classes, or a score of each class.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class. Free of charge.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        found = probabilities(self._scores(X))
        return np.concatenate([1 - found, found], axis=1) if found.shape[1] == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class. Free of charge.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._scores(X)
        codes = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[np.asarray(codes, dtype=np.intp)])

    def terms(self, target: Any = None) -> list[AdditiveTerm]:
        """Return what each column adds to the log odds, bin by bin. Free of charge.

        Effects are centred: their mean over the bins of a column, each bin counted alike, is 0
        (bins say nothing of how many private rows they have). Their errors are those of
        centred effects: smaller than `coef_error_`, a part of which all bins of a column share.

        Parameters
        ----------
        target : object, default=None
            The class whose log odds, or score, is meant. None: the second of two classes.

        Returns
        -------
        list of AdditiveTerm
            One for each column: name, labels and edges of the bins, effect and error.

        Raises
        ------
        ValueError
            If the features are not additive, ``target`` is none of the classes, or it is missing
            with more than two.

        See Also
        --------
        secretballot.inspection.TermsDisplay : The picture.
        """
        check_is_fitted(self)
        if not isinstance(self._public_features, AdditiveBins):
            raise ValueError(
                f"features={self.features!r} has no terms: only features='additive' adds one "
                "number for each column. coef_ and coef_error_ have what each feature adds."
            )
        known = self.classes_.tolist()
        if target is None and len(known) > 2:
            raise ValueError(f"target=None, and there are more than two classes: one of {known}.")
        if target is not None and target not in known:
            raise ValueError(f"target={target!r} is none of the classes: {known}.")
        at = len(known) - 1 if target is None else known.index(target)
        if len(known) > 2:
            return terms_of(self._public_features, self.coef_[at], self._centred_error[at])
        sign = 1.0 if at else -1.0
        return terms_of(self._public_features, sign * self.coef_[0], self._centred_error[0])

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        table = checked_table(self, X, reset=False)
        design = Design(features_of(self._public_features, self._row_schema.read(table).table))
        return design.decision(self.coef_.T, self.intercept_)
