"""Encoder of tables that learns from public rows, for the pipelines of teachers and students."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.ensemble._estimator_types import Learner, Rows
from secretballot.tables._columns import Column, category_texts
from secretballot.tables._frames import (
    as_table,
    check_table,
    column_names,
    columns_of,
    public_table,
)
from secretballot.tables._public_data import PublicData, public_rows

#: Least number of public rows of a category that is not declared, and most categories of a column.
_FEWEST_ROWS, _MOST_CATEGORIES = 2, 100
#: Least share of the public rows whose category has a feature.
_LEAST_SHARE = 0.5


@dataclass(frozen=True)
class EncodedColumn:
    """Features of a column: a scaled number, or indicators of categories; and of missing cells."""

    column: Column
    categories: tuple[int, ...] = ()  # codes that have an indicator; none for numbers
    mean: float = 0.0  # of the public numbers, as the scale
    scale: float = 1.0

    @classmethod
    def of(
        cls, name: Hashable, values: ArrayLike, declared: Sequence[Hashable] | None
    ) -> EncodedColumn | None:
        """Describe a public column; None if nothing can be learned from it."""
        column = Column.of(name, values, declared, fewest=_FEWEST_ROWS)
        cells = column.read(values)
        present = cells[np.isfinite(cells)]
        if column.is_number:
            if not len(present) or column.low == column.high:
                return None
            return cls(column, (), float(present.mean()), float(present.std()))
        if declared is not None:
            texts = category_texts(declared).tolist()
            return cls(column, tuple(map(column.texts.index, texts)))
        rows = np.bincount(present[present >= 0].astype(np.intp), minlength=len(column.texts))
        frequent = np.argsort(-rows, kind="stable")[:_MOST_CATEGORIES]
        frequent = frequent[rows[frequent] >= _FEWEST_ROWS]
        if rows[frequent].sum() < _LEAST_SHARE * len(present):
            return None
        return cls(column, tuple(np.sort(frequent).tolist()))

    def names(self) -> list[str]:
        name = self.column.name
        names = [f"{name}={self.column.texts[code]}" for code in self.categories] or [str(name)]
        return [*names, f"{name} is missing"] if self.column.nullable else names

    def encode(self, values: ArrayLike) -> NDArray[np.float64]:
        """Compute the features of cells, each by itself: (n_rows, n_features)."""
        cells = self.column.read(values)
        missing = np.isnan(cells)
        if self.column.is_number:
            missing |= np.isinf(cells)
            features = (np.where(missing, self.mean, cells)[:, None] - self.mean) / self.scale
        else:
            features = (cells[:, None] == self.categories).astype(np.float64)
        return np.column_stack([features, missing]) if self.column.nullable else features


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers, dates, texts and categories of a table as features, by the rows of `fit`.

    Numbers are scaled; booleans, and dates in days, are numbers. A category, or a text that several
    rows share, has an indicator; all others have none. A missing number counts as the mean. Columns
    with missing cells have an indicator of them. What a row becomes depends on this row alone.

    Parameters
    ----------
    categories : dict, default=None
        Declared categories of columns: ``{column: [...]}``. None: those of the rows.

    Attributes
    ----------
    left_out_ : list
        Columns from which nothing can be learned: constant ones, and texts that hardly two rows
        share, such as identifiers.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if they are all strings.

    See Also
    --------
    make_table_pipeline : Pipeline with this encoder.

    Examples
    --------
    >>> from secretballot.ensemble import TableEncoder
    >>> encoder = TableEncoder().fit([[30, "nurse"], [50, "nurse"], [40, "pilot"], [40, "pilot"]])
    >>> encoder.transform([[40, "pilot"], [None, "clerk"]])
    array([[0., 0., 1.],
           [0., 0., 0.]])
    """

    def __init__(self, categories: Mapping[Hashable, Sequence[Hashable]] | None = None) -> None:
        self.categories = categories

    def fit(self, X: Rows, y: object = None) -> TableEncoder:
        """Learn scales and categories from public rows.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_rows, n_columns)
        y : object
            Ignored.

        Returns
        -------
        self : TableEncoder
        """
        check_table(X, "X")
        validate_data(self, X, reset=True, skip_check_array=True)
        if _num_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s) in X; give at least one.")
        declared = {} if self.categories is None else dict(self.categories)
        table = public_table(X, "X")
        columns = columns_of(table)
        self._names = column_names(table)
        names = self._names or list(range(len(columns)))
        if unknown := [name for name in declared if name not in names]:
            raise ValueError(f"categories names the column {unknown[0]!r}, which X does not have.")
        encoded = [
            EncodedColumn.of(name, values, declared.get(name))
            for name, values in zip(names, columns, strict=True)
        ]
        self.left_out_ = [
            name for name, column in zip(names, encoded, strict=True) if column is None
        ]
        if len(self.left_out_) == len(names):
            raise ValueError(
                f"nothing can be learned from the columns {names!r}: they are constant, or hardly "
                "two rows share a text."
            )
        self._columns = encoded
        return self

    def transform(self, X: Rows) -> NDArray[np.float64]:
        """Compute the features of rows.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_rows, n_columns)
            Columns of a data frame are found by name; others than those of `fit` are left out.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        check_table(X, "X")
        X = self._columns_of_fit(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return np.concatenate(
            [
                column.encode(values)
                for column, values in zip(
                    self._columns, columns_of(as_table(X, None, "X")), strict=True
                )
                if column is not None
            ],
            axis=1,
        )

    def _columns_of_fit(self, X: Rows) -> Rows:
        """Return the columns of the fit, by name; ensembles give rows in the order of X."""
        names, table_names = self._names, column_names(X)
        if names is None or table_names is None:
            return X
        if list(range(len(table_names))) in (names, table_names):  # a frame made of an array
            return X
        if missing := [name for name in names if name not in table_names]:
            raise ValueError(
                f"X lacks the columns {missing[:5]!r}, on which the encoder was fitted. Fit it on "
                f"public rows without them: X_public.drop(columns={missing[:5]!r})."
            )
        return cast("Rows", _safe_indexing(X, [table_names.index(name) for name in names], axis=1))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : object
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = [name for column in self._columns if column is not None for name in column.names()]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_columns")


def make_table_pipeline(
    estimator: Learner,
    X_public: Rows | PublicData,
    *,
    categories: Mapping[Hashable, Sequence[Hashable]] | None = None,
) -> Pipeline:
    """Make a pipeline that reads a table as it is: an encoder, fitted on public rows, and a model.

    It is for `PrivateTeacherEnsemble`, as its estimator and its student. Texts, dates and missing
    cells become numbers in the same way for all of them, and no private row has a say in it.

    Parameters
    ----------
    estimator : estimator
        Classifier of rows of numbers.
    X_public : {array-like, DataFrame} of shape (n_public, n_columns) or PublicData
        Public rows, such as those of `fit`.
    categories : dict, default=None
        Public categories of columns: ``{column: [...]}``. None: those that two public rows share.

    Returns
    -------
    Pipeline
        With a frozen `TableEncoder`, which copies and clones share.

    Raises
    ------
    ValueError
        If nothing can be learned from any column.

    See Also
    --------
    TableEncoder : The encoder.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from secretballot.ensemble import make_table_pipeline
    >>> public = pd.DataFrame({"age": [30, 50, 40, 20], "job": ["nurse", "pilot"] * 2})
    >>> model = make_table_pipeline(LogisticRegression(), public)
    >>> model.fit(public, [0, 1, 1, 0]).predict(public)
    array([0, 1, 1, 0])
    """
    encoder = TableEncoder(categories).fit(public_rows(X_public, None))
    if encoder.left_out_:
        shown = ", ".join(map(repr, encoder.left_out_))
        warn(
            f"{shown}: nothing can be learned from these columns of X_public, which are left out: "
            "they are constant, or hardly two rows share a text, as with names and identifiers. "
            "Declare categories= to keep a column."
        )
    return make_pipeline(FrozenEstimator(encoder), estimator)
