"""Private rows of an estimator's scores: its predictions for them, its budget and its seed."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._row_order import check_row_order, order_labels
from secretballot._sklearn_compat import _num_samples
from secretballot.distributed import PrivateParts
from secretballot.schema import (
    RowSchema,
    apply_in_halves,
    check_row_independence,
    warn_repeated_rows,
)
from secretballot.scoring._people import NO_BUDGET, People, check_unit
from secretballot.scoring._scored_rows import PartScores, ScoredRows, TableScores

if TYPE_CHECKING:
    from collections.abc import Callable

    from secretballot.accounting import PrivacyAccountant, Scope

#: Key of the seeded noise of scores; other random streams have other keys.
_SEED_KEY = 0x5C0E


class TableColumns(Protocol):
    """Choice among the columns of a table."""

    def select(self, X: ArrayLike) -> ArrayLike:
        """Return the chosen columns."""


class ScoreMethods:
    """Base class: predictions for private rows, and the accountant that pays for their scores.

    The estimator has `accountant`, `random_state` and `predict`. Its predictions depend on private
    rows only through the accountant's releases. Private rows are read through `_row_schema`,
    and columns of labels by `_label_names`.
    """

    accountant: PrivacyAccountant | None
    random_state: int | np.random.RandomState | None
    predict: Callable[..., ArrayLike]
    _fit_scope: Callable[[], Scope | None]

    @property
    @abstractmethod
    def _no_prediction(self) -> NDArray[Any]:
        """Answer for a row that can't be predicted, with a first axis of length 1."""

    def _scored_rows(
        self, X: ArrayLike | PrivateParts, y: ArrayLike | None, owners: ArrayLike | None
    ) -> ScoredRows:
        """Return private rows with predictions for them, where the rows are."""
        accountant = self._check_accountant()
        schema: RowSchema | None = getattr(self, "_row_schema", None)
        if schema is not None and schema.sample is not None:
            name = f"{type(self).__name__}.predict"
            check_row_independence(self._predict_array, schema.sample, name)
        if isinstance(X, PrivateParts):
            X.check_alone(y=y, owners=owners)
            check_unit(accountant, owners=True)
            if schema is None or schema.names is None:
                raise ValueError(
                    "this model was not fitted with a data frame of public rows, and columns of "
                    "parts are found by name."
                )
            public = self._public_part()
            if schema.sample is not None:
                public.predict(schema.sample)  # its errors would count as wrong answers there
            columns = [str(name) for name in schema.names]
            return PartScores.of(X, columns, partial(_predict_rows, public))
        check_row_order("y", y, X)
        check_row_order("owners", owners, X)
        if y is None:
            raise ValueError("y=None: give the labels of X, one for each row.")
        if owners is None:
            warn_repeated_rows(X)
        y = order_labels(y, getattr(self, "_label_names", None))
        predicted = _predict_rows(self, X)
        people = People.from_owners(accountant, owners, _num_samples(predicted))
        return TableScores(y, predicted, people)

    def _public_part(self) -> ScoreMethods:
        """Return a copy that predicts, without the accountant and what is private."""
        public = copy(self)
        public.accountant = None
        for name in vars(public).keys() & {"_teachers", "_labelling"}:
            setattr(public, name, None)
        return public

    def _read_columns(self, X: ArrayLike) -> ArrayLike:
        """Return the columns of a table that the model reads."""
        choice: TableColumns | None = getattr(self, "_column_choice", None)
        return X if choice is None else choice.select(X)

    def _predict_array(self, X: ArrayLike) -> NDArray[Any]:
        return np.asarray(self.predict(X))

    def _check_accountant(self) -> PrivacyAccountant:
        """Return the accountant, if it is that of the fit."""
        if self.accountant is None:
            raise ValueError(NO_BUDGET)
        scope = self._fit_scope()
        if scope is not None and scope.ledger != self.accountant.scope().ledger:
            raise ValueError(
                "accountant= is another budget than the one of the fit. Two budgets for one data "
                "set add up: use set_params(accountant=) to return to the first, or fit anew. To "
                "score on rows of other people with a budget of their own, use "
                "secretballot.scoring.score_private(accountant, y_true, y_pred)."
            )
        return self.accountant

    def _next_seed(self) -> np.random.SeedSequence | None:
        """Return the seed of the next score's noise; None for the cryptographic generator."""
        seed = self.random_state
        if seed is None:
            return None
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31 - 1)
        self._n_scores = getattr(self, "_n_scores", 0) + 1
        return np.random.SeedSequence(int(seed), spawn_key=(_SEED_KEY, self._n_scores))


def _predict_rows(estimator: ScoreMethods, X: ArrayLike) -> NDArray[Any]:
    """Predict private rows, read as public ones.

    A row that can't be predicted has `_no_prediction`: an error would reveal it, unpaid.
    """
    schema: RowSchema | None = getattr(estimator, "_row_schema", None)
    if schema is None:
        return np.asarray(estimator.predict(X))  # the error of an estimator that is not fitted
    rows = schema.read(estimator._read_columns(X)).table
    predicted, _ = apply_in_halves(estimator._predict_array, rows, estimator._no_prediction)
    return np.asarray(predicted)
