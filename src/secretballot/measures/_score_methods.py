"""Private rows of an estimator's scores: its predictions for them, its budget and its seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_no_public_data
from secretballot._base._sklearn_compat import ShortParameterErrors, _num_samples
from secretballot.accounting._answers import Share
from secretballot.measures._score_price import Epsilon, NoiseChoice
from secretballot.measures._scored_rows import PartScores, ScoredRows, TableScores
from secretballot.tables._columns import Header
from secretballot.tables._frames import check_table
from secretballot.tables._known_cells import CellCheck
from secretballot.tables._people import NO_BUDGET, People, check_unit
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._rowwise import RowAnswers, RowCalls
from secretballot.tables._rowwise_check import check_rows_per_call
from secretballot.tables._table_checks import check_row_order, order_labels, warn_repeated_rows

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant
    from secretballot.ledger._budget import Scope

NO_LABELS = "y=None: give the labels of X, one for each row."
#: Key of the seeded noise of scores; other random streams have other keys.
_SEED_KEY = 0x5C0E


class PrivatePredictor(NamedTuple):
    """Predictions for private rows, each from its own row alone."""

    schema: Header  # by which private rows are read
    #: from rows as read to predictions; it holds nothing private
    answer: Callable[[Any], RowAnswers]
    calls: RowCalls | None  # of the user's function in it, if any
    cells: CellCheck | None = None  # for warnings of rows in parts
    warns: bool = False  # True to warn of cells that can't be read; False if `answer` warns

    @property
    def note(self) -> dict[str, int]:
        return {} if self.calls is None else {"rows_per_call": self.calls.rows_per_call}

    def predict(self, choice: Any, X: ArrayLike) -> NDArray[Any]:
        """Predict rows from chosen columns; a failed prediction is None, which equals no label."""
        X = X if choice is None else choice.select(X)
        values, failed = self.answer(self.schema.read_queries(X, warns=self.warns))
        if failed.any():
            values = values.astype(object)
            values[failed] = None
        return values


class ScoreMethods(ShortParameterErrors):
    """Base class: predictions for private rows, and the accountant that pays for their scores.

    The estimator's predictions depend on private rows only through the accountant's releases.
    """

    accountant: PrivacyAccountant | None
    random_state: int | np.random.RandomState | None
    predict: Callable[..., ArrayLike]
    _fit_scope: Callable[[], Scope | None]
    #: Function from `rows_per_call` to the predictor; raises the error of an unfitted estimator.
    _private_predictor: Callable[[int | str], PrivatePredictor]

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Compute the score of scikit-learn. On private rows it leaks: use `score_private`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
            Mean accuracy of a classifier, R^2 of a regressor.
        """
        check_table(X, "X", one_dimension=True)
        if y is None:
            raise ValueError(NO_LABELS)
        return float(super().score(X, y, sample_weight=sample_weight))  # type: ignore[misc]

    def _scored_rows(
        self,
        X: ArrayLike | PrivateParts,
        y: ArrayLike | None,
        owners: ArrayLike | None,
        rows_per_call: int | str,
    ) -> ScoredRows:
        """Return private rows with predictions for them: in memory, or in parts."""
        accountant = self._check_accountant()
        check_rows_per_call(rows_per_call)
        predictor = self._private_predictor(rows_per_call)
        schema = predictor.schema
        predict = partial(predictor.predict, getattr(self, "_column_choice", None))
        if isinstance(X, PrivateParts):
            X.check_alone(y=y, owners=owners)
            check_unit(accountant, owners=True)
            if schema.names is None:
                raise ValueError(
                    "this model was not fitted with a data frame of public rows, and columns of "
                    "parts are found by name."
                )
            _warn_slow(predictor, rows_per_call, None)
            names = [str(name) for name in schema.names]
            return PartScores.of(X, names, predict, predictor.note, predictor.cells)
        for name, rows in {"X": X, "y": y}.items():
            check_no_public_data(name, rows)
        check_row_order("y", y, X)
        check_row_order("owners", owners, X)
        if y is None:
            raise ValueError(NO_LABELS)
        if owners is None:
            warn_repeated_rows(X)
        y = order_labels(y, getattr(self, "_label_names", None))
        _warn_slow(predictor, rows_per_call, _num_samples(X))
        predicted = predict(X)
        people = People.from_owners(accountant, owners, _num_samples(predicted))
        return TableScores(y, predicted, people, predictor.note)

    def _noise_of(
        self, answer: str, epsilon: Epsilon, share: Share, sigma: float | None, level: float
    ) -> NoiseChoice:
        """Return the noise of a score; ValueError if there is no budget, or no amount."""
        self._check_accountant()
        return NoiseChoice.of_answer(answer, epsilon, share, sigma, level)

    def _check_accountant(self) -> PrivacyAccountant:
        """Return the accountant; ValueError if there is none, or another than that of the fit."""
        if self.accountant is None:
            raise ValueError(NO_BUDGET)
        scope = self._fit_scope()
        if scope is not None and scope.ledger != self.accountant.scope().ledger:
            raise ValueError(
                "accountant= is another budget than the one of the fit. Two budgets for one data "
                "set add up: use set_params(accountant=) to return to the first, or fit anew. To "
                "score on rows of other people with a budget of their own, use "
                "secretballot.measures.score_private(accountant, y_true, y_pred)."
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


def _warn_slow(predictor: PrivatePredictor, rows_per_call: int | str, n_rows: int | None) -> None:
    if predictor.calls is not None and rows_per_call == "auto":
        predictor.calls.warn_slow(n_rows)
