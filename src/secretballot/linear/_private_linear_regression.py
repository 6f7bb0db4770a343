"""Differentially private regression of numbers from noisy sums over private rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from secretballot._base._errors import restored_on_failure
from secretballot._base._numbers import check_number
from secretballot._base._sklearn_compat import _fit_context
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.linear._additive_term import TermList, model_terms
from secretballot.linear._fit import FitArguments
from secretballot.linear._fit_warnings import CLEAR_EFFECT, warn_target_bounds
from secretballot.linear._linear_model import LinearModel
from secretballot.linear._posterior import centred_coefficients, rounded_coefficients
from secretballot.linear._residual_histogram import ExpectedErrors
from secretballot.linear._settings import NumberReader
from secretballot.measures._number_scores import RegressionScorePrice, price_regression_score
from secretballot.measures._score_methods import RegressorScoreMethods
from secretballot.measures._squared_errors import ErrorScale
from secretballot.measures._targets import check_target_bounds
from secretballot.reports._budget_report import explained_interrupts
from secretballot.tables._fit_checks import refuse_arguments
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._public_data import PublicData

_NO_WEIGHTS = (
    "every row casts a vector of the same length at most, which is what its person is charged for. "
    "Give people levels (fit(..., budgets=)), whose budgets weigh their vectors."
)


class PrivateLinearRegression(RegressorScoreMethods, RegressorMixin, LinearModel):
    """Differentially private regression, fitted to noisy sums by their known errors.

    Each private row contributes one vector: its features times its residual under the current
    model, clipped, and a vote for the bin of its residual. The accountant releases the noisy sum of
    all vectors, a few times. The histogram of the residuals costs nothing beside their sum; it says
    where to clip in the next round, and how wide intervals of new rows are. Public rows give the
    expectation of the sums under any coefficients, and the coefficients are fitted to all sums
    together by their known noise.

    Parameters
    ----------
    features : {"additive", "kernel", "linear"} or transformer, default="additive"
        Features of rows, fitted on public rows alone. ``"additive"``: a piecewise linear function
        of each number, and an effect of each category; the prediction is their sum. ``"linear"``:
        scaled numbers and categories. ``"kernel"``: random cosines of these. A transformer, or
        pipeline, is cloned and fitted on the public rows; its output for a row must depend on that
        row alone. A `FrozenEstimator` is used as it is; the privacy statement records your word
        that it saw no private row.
    target_bounds : tuple of (float, float), default=None
        Least and largest target, which must be known beforehand: targets of private rows are
        clipped to them. They may be some times too wide: residuals are clipped where most end.
        `check_public_rows` counts the targets beyond them too, as those of one column more. A
        fit warns, for you alone, if more than a quarter are beyond.
    columns : array-like of column names or positions, default=None
        Columns to read; None: all. The model leaves the others out; public rows with names of
        columns may lack them. Tables of too many columns (some 220 numbers with 400 public rows)
        are refused for their memory.
    n_bins : int or "auto", default="auto"
        Largest number of intervals between the knots of a number, at least 2. ``"auto"`` follows
        from the noise and the number of rows.
    rounds : int or "auto", default="auto"
        Number of sums of residuals after the first sum.
    interactions : int or "auto", default="auto"
        Largest number of pairs of columns that join the model, with additive features. Half-way
        through the rounds one release (`plan_fit` has its share) asks all pairs of columns;
        those that stand out of noise and sampling get coefficients of their own. ``"auto"``: half
        the number of columns, and at least 6; 0 where the noise would hide them, or with more than
        100 columns. 0: none, and no such release.
    categories : dict, default=None
        Declared categories of columns: ``{column: [...]}``. None: those of the public rows. All
        other categories share one bin.
    bounds : tuple, array-like of shape (n_numbers, 2) or dict, default=None
        ``(low, high)`` of all columns of numbers, or of each, where there are no public rows, or
        fewer than 100. At most a tenth of the fit's budget places the knots at private quantiles,
        so the bounds may be far too wide. Without public rows effects of numbers are steps, not
        lines.
    monotonic_cst : array-like of int of shape (n_features,) or dict of str to int, default=None
        Known directions of numbers, with additive features: 1 if the target never falls as the
        number grows, -1 if it never rises, 0 for neither. An array is in the order of
        `feature_names_in_`, a dict has names of columns. The directions are public, must not be
        read from private rows, and cost nothing. Columns of categories are refused.
    epsilon : float or dict of str to float, default=None
        Largest cost of one fit. None: all that remains of the budget. In a grid search each
        candidate and fold is a fit.
    check_public_rows : bool, default=True
        Whether to check first, by one noisy count, that most private rows lie within the ranges
        and categories of the public rows, or without them within declared bounds and categories,
        and most targets within `target_bounds`.
        It costs at most 1 % of the fit; where it would cost more there is no check.
    rows_per_call : {"auto", 256, 8, 1}, default="auto"
        Number of private rows that a transformer is given in one call (`features`): always the
        same, so that how many private rows there are changes no row's features. ``"auto"``: the
        largest at which public rows have the same features bit for bit at all places and beside
        all rows. 8 or 256: this number, or an error. 1 needs no check, and takes longer.
    accountant : PrivacyAccountant, default=None
        The budget of the private data. Clones share it.
    verbose : int, default=0
        Whether to print progress.
    random_state : int, RandomState instance or None, default=None
        None draws the noise from a cryptographic generator. Seeds are for tests and examples:
        seeded noise protects nobody.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Effect of each feature (knot, category) on the target.
    intercept_ : float
        Constant of the predictions.
    coef_error_ : ndarray of shape (n_features,)
        Standard error of each coefficient: noise, sampling, and public rows. With `monotonic_cst`
        they are those before coefficients are put in order.
    columns_ : list of ColumnReading
        How each column was read: its kind, bins or categories, and missing public cells.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if they are all strings.
    n_rounds_ : int
        Number of sums of residuals after the first.
    n_bins_ : int or None
        Largest number of intervals of a number; None without additive features.
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
    PrivateLogisticRegression : Classes.
    secretballot.accounting.PrivacyAccountant : The budget.

    Notes
    -----
    `plan_fit` lists all releases. They are paid for before the first is drawn, and a fit that ends
    early is refunded what was not drawn.

    Clipping makes effects those of a centre that outliers hardly move (Huber's [1]_), not of the
    mean. With additive features the intercept is one of the mean: it follows from the rounds that
    clip least.

    With `monotonic_cst` the coefficients are the most probable ones in the given order, by the
    posterior of the last round. Frequent values of these columns are knots.

    References
    ----------
    .. [1] P. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics
       35 (1964).

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from secretballot import PrivacyAccountant, PrivateLinearRegression, PublicData
    >>> X, y = make_friedman1(12000, n_features=6, noise=1.0, random_state=0)
    >>> model = PrivateLinearRegression(
    ...     target_bounds=(0, 30), accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5)
    ... )
    >>> model = model.fit(X[:10000], y[:10000], X_public=PublicData(X[10000:10500]))
    >>> bool(model.score(X[10500:], y[10500:]) > 0.7)
    True

    Predictions that never fall in two of the columns:

    >>> model = PrivateLinearRegression(
    ...     target_bounds=(0, 30),
    ...     monotonic_cst=[0, 0, 0, 1, 1, 0],
    ...     accountant=PrivacyAccountant(epsilon=1.0, delta=1e-5),
    ... )
    >>> model = model.fit(X[:10000], y[:10000], X_public=PublicData(X[10000:10500]))
    >>> effect = model.terms()[3].effect[:-1]  # without that of missing cells
    >>> bool((effect[1:] >= effect[:-1]).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearModel._parameter_constraints,
        "target_bounds": [tuple, list, None],
    }

    def __init__(
        self,
        features: str | TransformerMixin = "additive",
        *,
        target_bounds: tuple[float, float] | None = None,
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
        accountant: PrivacyAccountant | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.features = features
        self.target_bounds = target_bounds
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
        self.accountant = accountant
        self.verbose = verbose
        self.random_state = random_state

    def _answer_reader(self) -> NumberReader:
        return NumberReader(self.target_bounds)

    def _error_scale(self, noise: float, largest_error: float | None) -> ErrorScale:
        check_is_fitted(self)
        return self._expected_errors.scale(noise, largest_error)

    def _price_later_score(self, accountant: PrivacyAccountant, n: int) -> RegressionScorePrice:
        bounds = check_target_bounds(self.target_bounds)
        return price_regression_score(accountant, n, target_bounds=bounds)

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
    ) -> PrivateLinearRegression:
        """Learn from private rows. **This spends budget.**

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features) or PrivateParts
            Private rows.
        y : array-like of shape (n_samples,)
            Targets of the private rows; clipped to `target_bounds`. None beside `PrivateParts`.
        X_public : array-like of shape (n_public, n_features) or PublicData, default=None
            Public rows of the same kind; targets are not needed. In cross-validation it must be a
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
        self : PrivateLinearRegression
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
        self._keep_fit(fitted)
        low, high = check_target_bounds(self.target_bounds)
        half = (high - low) / 2
        rounds, coefficients = fitted.rounds, fitted.rounds.posterior.coefficients[:, 0]
        assert rounds.reference is not None
        assert rounds.histogram is not None
        self._expected_errors = ExpectedErrors.of(
            (low, high), rounds.reference, coefficients, rounds.histogram
        )
        self.intercept_ = float(self.intercept_[0] * half + (low + high) / 2)
        self.coef_ = self.coef_[0] * half
        if fitted.is_monotone:
            self.coef_ = rounded_coefficients(self.coef_)
        self.coef_error_ = self.coef_error_[0] * half
        self._centred_error = self._centred_error * half
        self._half_range, self._residuals = half, rounds.histogram
        centred = half * centred_coefficients(fitted.features.groups, coefficients)
        is_clear = np.abs(centred) > CLEAR_EFFECT * self._centred_error[0]
        if not is_clear.any() and warn_target_bounds(
            (low, high), self.intercept_, rounds.histogram.variance**0.5
        ):
            self._expected_errors = replace(self._expected_errors, is_known=False)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row. Free of charge.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predict_scores(self._scores(X))

    def _predict_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores[:, 0]

    def predict_interval(
        self, X: ArrayLike, confidence: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return intervals in which the numbers of new rows lie. Free of charge.

        They follow from the released histogram of residuals, and are equally wide for all rows: of
        rows like the private ones the stated share lies inside, not of each kind of row. They end
        at `target_bounds`, also where the histogram tells no residuals that are so large.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)
        confidence : float, default=0.9
            Share of new rows inside; between 0 and 1.

        Returns
        -------
        low, high : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If `confidence` is not between 0 and 1.
        """
        check_number("confidence", confidence, above=0, below=1)
        predicted = self.predict(X)
        least, largest = self._expected_errors.bounds
        low, high = (
            predicted + self._residuals.quantile((1 + sign * confidence) / 2) * self._half_range
            for sign in (-1, 1)
        )
        # A prediction may be beyond the bounds, and is never beyond its own interval.
        return (
            np.maximum(low, np.minimum(predicted, least)),
            np.minimum(high, np.maximum(predicted, largest)),
        )

    def terms(self) -> TermList:
        """Return the effect of each column, and of each pair, on the target. Free of charge.

        Effects are centred: their unweighted mean over the knots, or categories, of a column is 0.
        Their errors are those of centred effects, which are smaller than `coef_error_`.

        Returns
        -------
        list of AdditiveTerm and PairTerm
            One for each column: name, labels, knots, effect and error. Then one for each pair of
            `interactions_`. It prints as a table; ``to_frame()`` makes a data frame.

        Raises
        ------
        ValueError
            If the features are not additive.

        See Also
        --------
        secretballot.inspection.TermsDisplay : The picture.
        """
        return model_terms(self._check_additive(), self.coef_, self._centred_error[0])
