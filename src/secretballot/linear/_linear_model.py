"""Base class of models that are fitted to noisy sums over private rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    Options,
    StrOptions,
    _num_samples,
)
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._statement import PrivacyStatement
from secretballot.ensemble._public_data import PublicData, public_rows
from secretballot.ledger._budget import Scope
from secretballot.linear._model_fit import FittedModel
from secretballot.linear._price_fit import price_linear_fit
from secretballot.linear.features import (
    AdditiveBins,
    ColumnChoice,
    ColumnReadings,
    Design,
    Features,
    Floats,
    TransformedRows,
    UnknownCells,
    declared_bins,
    declared_readings,
    public_columns,
    public_readings,
)
from secretballot.linear.input import (
    check_public_table,
    checked_bounds,
    declared_bounds,
    declared_categories,
)
from secretballot.linear.rounds import Response, Targets
from secretballot.measures._fit_price import FitPrice, FitPriceMethods
from secretballot.measures._score_methods import PrivatePredictor
from secretballot.measures._scored_rows import CellCounts
from secretballot.reports._budget_report import BudgetReportMixin, short_text
from secretballot.tables._column_bounds import date_bounds
from secretballot.tables._copies import CopiedMixin
from secretballot.tables._file_columns import check_file_columns
from secretballot.tables._frames import check_table, public_table
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._rowwise import RowAnswers


class LinearModel(
    BudgetReportMixin, FitPriceMethods, CopiedMixin, CallbackSupportMixin, BaseEstimator
):
    """Base class: features of rows, one reservation for all rounds, coefficients with errors."""

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
    def _response_without_rows(self, n_labels: int | None) -> Response:
        """Return the response of a fit without rows, of which the price of a fit depends."""

    def _price_fit(
        self, n: int | Mapping[str, int], X_public: object, n_fits: int, n_labels: int | None
    ) -> FitPrice:
        response = self._response_without_rows(n_labels)
        return price_linear_fit(self, n, X_public, n_fits, response)

    @abstractmethod
    def _read_response(self, y: ArrayLike, X: ArrayLike) -> tuple[Response, Targets]:
        """Check the targets of private rows, and return the response of a fit and its targets."""

    def _response_of_columns(self, y: str | list[str]) -> Response:
        """Return the response of a fit of rows in parts, given their columns of targets."""
        return self._response_without_rows(None if isinstance(y, str) else len(y))

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
        self._row_schema = fitted.schema.of_fitted()
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
        if X_public is None:
            return self._read_declared()
        check_table(X_public := public_rows(X_public, None), "X_public")
        table = public_table(X_public, "X_public")
        choice = ColumnChoice.of(self.columns, table)
        names = list(choice.names)
        declared = declared_categories(self, names)
        check_file_columns(selected := choice.select(table, "X_public"))
        columns = public_columns(selected, declared, names)
        return public_readings(columns, declared, bounds=checked_bounds(self, columns, declared))

    def _read_declared(self) -> ColumnReadings:
        """Return the readings of declared columns, which have to be named."""
        bounds, categories = self.bounds, self.categories or {}
        if not isinstance(bounds, Mapping | None) or not (bounds or categories):
            raise ValueError(
                f"X_public=None and bounds={quoted(bounds)}: which columns there are is not "
                "known. Pass the public rows, or name the columns: bounds={column: (low, high)} "
                "and categories={column: [...]}."
            )
        names = [*dict.fromkeys([*(bounds or {}), *categories])]
        if self.columns is not None:
            names = np.asarray(self.columns, dtype=object).ravel().tolist()
        declared = declared_categories(self, names)
        numbers = declared_bounds(self, names, declared)
        days = date_bounds(bounds, names)
        return declared_readings(declared_bins(names, numbers, 1, declared), days, numbers)

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
                X = check_public_table(self, X, reset=False)
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
