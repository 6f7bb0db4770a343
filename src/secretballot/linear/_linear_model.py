"""Base class of models that are fitted to noisy sums over private rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from secretballot._base._errors import GIVE_BUDGET
from secretballot._base._progress import Progress
from secretballot._base._sklearn_compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    Options,
    StrOptions,
    _num_samples,
    with_callbacks,
)
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._release_plan import ReleasePlan
from secretballot.accounting._statement import PrivacyStatement
from secretballot.ledger._budget import Scope
from secretballot.linear._additive_bins import AdditiveBins, declared_bins
from secretballot.linear._column_reading import ColumnReadings, declared_readings, public_readings
from secretballot.linear._dense_features import TransformedRows
from secretballot.linear._design import Design, Features, Floats
from secretballot.linear._fit import FitArguments, FittedModel, run_fit
from secretballot.linear._fit_columns import declared_columns, public_columns_of
from secretballot.linear._fit_input import check_public_table
from secretballot.linear._fit_plan import plan_linear_fit, price_linear_fit
from secretballot.linear._settings import AnswerReader, ColumnSettings, Settings
from secretballot.linear._unknown_cells import UnknownCells
from secretballot.measures._fit_price import FitPrice, FitPriceMethods, fitted_rows
from secretballot.measures._score_methods import PrivatePredictor
from secretballot.measures._scored_rows import CellCounts
from secretballot.reports._budget_report import BudgetReportMixin, short_text
from secretballot.tables._fit_checks import CopiedMixin, check_copy
from secretballot.tables._public_data import PublicData
from secretballot.tables._randomness import Randomness
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise import RowAnswers


class LinearModel(
    BudgetReportMixin, FitPriceMethods, CopiedMixin, CallbackSupportMixin, BaseEstimator
):
    """Base class: features of rows, a plan of releases, coefficients with errors."""

    features: str | TransformerMixin
    columns: ArrayLike | None
    n_bins: int | str
    rounds: int | str
    interactions: int | str
    categories: dict[Hashable, Sequence[Hashable]] | None
    bounds: ArrayLike | dict[Hashable, tuple[float, float]] | None
    monotonic_cst: ArrayLike | dict[str, object] | None
    epsilon: float | dict[str, float] | None
    check_public_rows: bool
    rows_per_call: int | str
    accountant: PrivacyAccountant | None
    verbose: int
    random_state: int | np.random.RandomState | None
    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "features": [
            StrOptions({"additive", "kernel", "linear"}),
            HasMethods(["fit", "transform"]),
        ],
        "columns": ["array-like", None],
        "n_bins": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "rounds": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "interactions": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "categories": [dict, None],
        "bounds": ["array-like", dict, None],
        "monotonic_cst": ["array-like", dict, None],
        "epsilon": [Interval(Real, 0, None, closed="neither"), dict, None],
        "check_public_rows": ["boolean"],
        "rows_per_call": [Options(Integral, {1, 8, 256}), StrOptions({"auto"})],
        "accountant": [PrivacyAccountant, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _answer_reader(self) -> AnswerReader:
        """Return the parameters that say what is learned of a row."""

    def _budget(self) -> PrivacyAccountant:
        if self.accountant is None:
            raise ValueError(
                "accountant=None: nothing is learned from private rows without a budget. "
                f"{GIVE_BUDGET}"
            )
        return self.accountant

    def _settings(self, *, is_copy: bool = False) -> Settings:
        accountant = self._budget()
        return Settings(
            features=self.features,
            columns=self.columns,
            categories=self.categories,
            bounds=self.bounds,
            monotonic_cst=self.monotonic_cst,
            estimator=type(self).__name__,
            answer=self._answer_reader(),
            n_bins=self.n_bins,
            rounds=self.rounds,
            interactions=self.interactions,
            epsilon=self.epsilon,
            check_public_rows=self.check_public_rows,
            rows_per_call=self.rows_per_call,
            accountant=accountant,
            scope=accountant.scope(self.epsilon),
            is_copy=is_copy,
        )

    @with_callbacks
    def _run_fit(self, arguments: FitArguments) -> FittedModel:
        is_copy = check_copy(self._is_copy, self._budget(), self.epsilon)
        settings = self._settings(is_copy=is_copy)
        self._scope = settings.scope
        return run_fit(
            settings,
            arguments,
            self._validated,
            Randomness.from_seed(self.random_state),
            partial(Progress, self, "fit", 1, self.verbose),
        )

    def _validated(self, X: ArrayLike, name: str) -> ArrayLike:
        """Keep the names of columns; check the cells of public rows, which `name` names."""
        if name:
            return self._checked_table(X, name, reset=True)
        validate_data(self, X, reset=True, skip_check_array=True)
        return X

    def _checked_table(self, X: ArrayLike, name: str = "X", *, reset: bool = False) -> ArrayLike:
        return check_public_table(
            self, not isinstance(self.features, str), X, reset=reset, name=name
        )

    def plan_fit(
        self,
        n: int | Mapping[str, int],
        X_public: object = None,
        *,
        n_fits: int = 1,
        n_labels: int | None = None,
    ) -> ReleasePlan:
        """Plan what `fit` releases, from the parameters and public numbers. Free of charge.

        `fit` pays for exactly that before it releases anything, and what it does not draw is
        refunded. `price_fit` says what it costs.

        Parameters
        ----------
        n : int, table of rows, or dict of str to either
            Number of private rows, or owners, or the rows themselves, whose number is taken; per
            level if ``budgets`` is given to `fit`.
        X_public : array-like of shape (n_public, n_features) or PublicData, default=None
            Public rows, as for `fit`.
        n_fits : int, default=1
            Fits that are to follow, of which each takes an equal part of what is left, unless
            `epsilon` says what a fit takes.
        n_labels : int, default=None
            Number of labels, where a row has several.

        Returns
        -------
        ReleasePlan
            One release a row, if it is printed or shown in a notebook.

        Raises
        ------
        BudgetExceededError
            If the fit would be refused for its budget.
        ValueError
            If an argument is invalid, or there is no accountant.
        """
        self._validate_params()
        settings = self._settings()
        accountant = settings.accountant
        n = fitted_rows(n, n_fits, n_labels, accountant.unit)
        if n_fits > 1 and self.epsilon is None:
            epsilon = accountant.epsilon_per_fit(n_fits)
            settings = replace(settings, epsilon=epsilon, scope=accountant.scope(epsilon))
        return plan_linear_fit(settings, n, X_public, n_labels)

    def _price_fit(
        self, n: int | Mapping[str, int], X_public: object, n_fits: int, n_labels: int | None
    ) -> FitPrice:
        return price_linear_fit(self._settings(), n, X_public, n_fits, n_labels)

    def _fit_scope(self) -> Scope | None:
        return getattr(self, "_scope", None)

    def _fit_summary(self) -> str:
        assert self.accountant is not None
        if self.accountant.accounting == "data_dependent" or not hasattr(self, "mechanism_"):
            return ""
        return f"{self.n_rounds_} rounds of residuals; {short_text(self.mechanism_)}"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True  # missing cells have an effect of their own
        tags.input_tags.string = True  # texts are categories
        return tags

    def _keep_fit(self, fitted: FittedModel) -> None:
        """Set the attributes that a fit of any response has."""
        posterior = fitted.rounds.posterior
        self.intercept_ = posterior.coefficients[0].copy()
        self.coef_ = posterior.coefficients[1:].T.copy()
        self.coef_error_ = np.sqrt(posterior.variances[1:]).T
        self._centred_error = np.sqrt(posterior.centred_variances[1:]).T
        self.n_rounds_ = fitted.n_rounds
        self.n_bins_ = fitted.n_bins
        self.features_ = fitted.kind
        self.mechanism_ = fitted.mechanism
        self.public_rows_check_ = fitted.public_rows_check
        self._public_features = fitted.features
        bins = fitted.features if isinstance(fitted.features, AdditiveBins) else None
        self.interactions_ = [] if bins is None else bins.pair_names
        self._unknown_cells = fitted.unknown_cells
        self._row_schema = replace(fitted.schema, fitted=True)
        self._label_names = fitted.label_names
        self._column_choice = fitted.choice
        self.columns_ = fitted.readings
        assert self.accountant is not None
        self._statement = self.accountant.statement().to_dict()

    def statement(self) -> PrivacyStatement:
        """Return the privacy statement as of the end of the fit. Free of charge.

        It goes along with the model, also where there is no ledger. What was released since is in
        the statement of the accountant.

        Returns
        -------
        PrivacyStatement
            The guarantee, everything that was released from the budget up to this fit, and what it
            rests on.
        """
        check_is_fitted(self)
        return PrivacyStatement.from_dict(self._statement)

    def read_columns(self, X_public: ArrayLike | PublicData | None = None) -> ColumnReadings:
        """Return the readings of columns in a fit with these public rows. Free of charge.

        Parameters
        ----------
        X_public : array-like of shape (n_public, n_columns) or PublicData, default=None
            None: the columns that `bounds` and `categories` declare.

        Returns
        -------
        list of ColumnReading
            One for each column of `columns`. It prints as a table; ``to_frame()`` makes a data
            frame. Bins of numbers follow from the budget; `columns_` of a fitted model has them.

        Raises
        ------
        ValueError
            If `columns`, `categories` or `bounds` name a column that the rows don't have, or
            nothing is declared of a column without public rows, or a column has no name and numbers
            the rows.
        """
        settings = ColumnSettings(
            features=self.features,
            columns=self.columns,
            categories=self.categories,
            bounds=self.bounds,
            monotonic_cst=None,
        )
        if X_public is None:
            columns = declared_columns(settings)
            bins = declared_bins(columns.names, columns.bounds, 1, columns.categories)
            return declared_readings(bins, columns.days, columns.bounds)
        columns = public_columns_of(settings, X_public)
        return public_readings(columns.given, columns.categories, bounds=columns.bounds)

    def _check_additive(self) -> AdditiveBins:
        check_is_fitted(self)
        if not isinstance(self._public_features, AdditiveBins):
            raise ValueError(
                f"features={self.features!r} has no terms: only features='additive' adds one "
                "number for each column. coef_ and coef_error_ have what each feature adds."
            )
        return self._public_features

    def _scores(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        choice = self._column_choice
        if not choice.is_selected(X):
            choice.check_width(X)
            if not choice.is_by_name(X) or _num_samples(X) == 0:
                X = self._checked_table(X)
            X = choice.select(X)
        table = self._row_schema.read(X).table
        return self._table_scores(table, self._public_features.transform(table))

    def _table_scores(self, table: ArrayLike, features: Features) -> Floats:
        if self._unknown_cells is not None:
            self._unknown_cells.warn(table, features)
        design = Design(features)
        coefficients = np.reshape(self.coef_, (-1, design.shape[1]))
        return design.rowwise_decision(coefficients.T, np.atleast_1d(self.intercept_))

    @abstractmethod
    def _predict_scores(self, scores: Floats) -> NDArray[np.generic]:
        """Return the predictions of scores."""

    def _private_predictor(self, rows_per_call: int | str) -> PrivatePredictor:
        """Return predictions for private rows by a copy, without the accountant."""
        check_is_fitted(self)
        public = copy(self)
        public.accountant, calls = None, None
        if isinstance(self._public_features, TransformedRows):
            features = self._public_features.with_calls(self._row_schema, rows_per_call)
            public._public_features, calls = features, features.calls
        cells, schema, unknown = None, self._row_schema, self._unknown_cells
        if unknown is not None:
            count = partial(_count_cells, schema, unknown)
            cells = CellCounts(count, unknown.warn_counts)
        return PrivatePredictor(schema, public._answer_private, calls, cells)

    def _answer_private(self, table: ArrayLike) -> RowAnswers:
        """Predict private rows, each from its own cells."""
        if isinstance(self._public_features, TransformedRows):
            features, failed = self._public_features.answer_private(table)
        else:
            features = self._public_features.transform_private(table)
            failed = np.zeros(features.shape[0], dtype=bool)
        return RowAnswers(self._predict_scores(self._table_scores(table, features)), failed)


def _count_cells(schema: RowSchema, unknown: UnknownCells, X: ArrayLike) -> Floats:
    return unknown.count(schema.read(X).table)
