"""Scores of estimators on private rows, as methods: predictions, budget and seed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from secretballot._base._numbers import check_no_public_data
from secretballot._base._sklearn_compat import ShortParameterErrors, _num_samples
from secretballot.accounting._answers import Share
from secretballot.measures._class_scores import (
    Accuracy,
    Confusion,
    PrivateConfusion,
    PrivateScore,
    ScorePrice,
    price_score,
)
from secretballot.measures._measure import (
    Epsilon,
    NoiseChoice,
    ScoreMeasure,
    price_of,
    release_score,
)
from secretballot.measures._number_scores import (
    PrivateRegressionScore,
    RegressionScorePrice,
    SquaredErrors,
)
from secretballot.measures._scored_rows import (
    Classes,
    ScoredRows,
)
from secretballot.measures._squared_errors import ErrorScale
from secretballot.tables._columns import Header
from secretballot.tables._frames import check_table
from secretballot.tables._known_cells import CellCheck
from secretballot.tables._people import NO_BUDGET, People, check_unit
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._private_rows import PrivateRows
from secretballot.tables._rowwise import RowAnswers, RowCalls
from secretballot.tables._rowwise_check import check_rows_per_call
from secretballot.tables._table_checks import check_row_order, order_labels, warn_repeated_rows

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant
    from secretballot.ledger._budget import Scope

S = TypeVar("S")

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
            names = X.check_columns([str(name) for name in schema.names])
            return ScoredRows(
                PrivateRows.of_parts(X, names, X.y), predict, predictor.note, predictor.cells
            )
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
        return ScoredRows.of_predictions(y, predicted, people, predictor.note)

    def _release_score(
        self,
        answer: str,
        measure: ScoreMeasure[S, Any],
        rows: tuple[ArrayLike | PrivateParts, ArrayLike | None, ArrayLike | None],
        noise: NoiseChoice,
        rows_per_call: int | str,
        classes: Classes | None = None,
    ) -> S:
        """Release a score of X, y and owners; `answer` is the name of the method."""
        accountant = self._check_accountant()
        noise.check(answer, needed=True)
        scored = self._scored_rows(*rows, rows_per_call)
        try:
            if classes is not None:
                scored.refuse_foreign_labels(classes)
            return release_score(accountant, measure, scored, noise, self._next_seed())
        finally:
            scored.rows.close()

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


def _can_predict(estimator: ScoreMethods) -> bool:
    return bool(estimator.predict)  # or the AttributeError with the reason


class ClassifierScoreMethods(ScoreMethods):
    """Accuracy and confusion matrix of a classifier on private rows, paid from its accountant.

    The classifier has `classes_`: a list of arrays, if it predicts several labels.
    """

    classes_: NDArray[Any] | list[NDArray[Any]]

    @available_if(_can_predict)
    def score_private(
        self,
        X: ArrayLike | PrivateParts,
        y: ArrayLike | None = None,
        *,
        owners: ArrayLike | None = None,
        epsilon: Epsilon = None,
        share: Share = None,
        sigma: float | None = None,
        level: float = 0.95,
        rows_per_call: int | str = "auto",
    ) -> PrivateScore:
        """Release the accuracy on private rows, with an interval. **This spends budget.**

        ``share=0.05`` takes a twentieth of the whole budget; `price_score` computes the price
        beforehand. A fit takes the whole remaining budget, unless its ``epsilon`` leaves a part of
        it for scores. On rows that `fit` saw the accuracy is
        optimistic: by up to .02 on small sets.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            Private rows of the people whom the budget protects: those of `fit`, or others. They
            are read as the public rows of `fit`: columns by name, invalid cells as missing.
        y : array-like of shape (n_rows,) or (n_rows, n_labels)
            Their labels. A label that is not in ``classes_`` is a wrong answer; if most are not,
            they are refused, and so are missing labels.
        owners, epsilon, share, sigma, level
            As for `secretballot.measures.score_private`: one of the amounts is given.
        rows_per_call : {"auto", 256, 8, 1}, default="auto"
            Number of private rows that a student, or a transformer, is given in one call: always
            the same, so that how many private rows there are changes no answer. "auto": the
            largest at which public rows have the same answers bit for bit at all places and beside
            all rows. 8 or 256: this number, or an error. 1 needs no check, and takes longer.

        Returns
        -------
        PrivateScore

        Raises
        ------
        BudgetExceededError
            If it doesn't fit the remaining budget; nothing is spent.
        ValueError
            If columns are missing, most labels are no classes of the model, or predictions for a
            row depend on other rows; nothing is spent.
        """
        return self._release_score(
            "score_private",
            Accuracy(),
            (X, y, owners),
            NoiseChoice(epsilon, share, sigma, level),
            rows_per_call,
            getattr(self, "classes_", None),
        )

    @available_if(_can_predict)
    def confusion_private(
        self,
        X: ArrayLike | PrivateParts,
        y: ArrayLike | None = None,
        *,
        owners: ArrayLike | None = None,
        epsilon: Epsilon = None,
        share: Share = None,
        sigma: float | None = None,
        level: float = 0.95,
        rows_per_call: int | str = "auto",
    ) -> PrivateConfusion:
        """Release the confusion matrix on private rows. **This spends budget.**

        With as much noise it costs twice the mu^2 of `score_private`.

        Parameters
        ----------
        X, y, owners, epsilon, share, sigma, level, rows_per_call
            As for `score_private`; of one class a row.

        Returns
        -------
        PrivateConfusion

        Raises
        ------
        BudgetExceededError
            If it doesn't fit the remaining budget; nothing is spent.
        """
        check_is_fitted(self)
        if isinstance(self.classes_, list):
            raise ValueError(
                "a confusion matrix is of one class a row, and this predicts several labels; use "
                "score_private, or of one label secretballot.measures.confusion_private("
                "accountant, y[:, 0], model.predict(X)[:, 0], classes=[0, 1])."
            )
        return self._release_score(
            "confusion_private",
            Confusion(self.classes_),
            (X, y, owners),
            NoiseChoice(epsilon, share, sigma, level),
            rows_per_call,
            self.classes_,
        )

    @available_if(_can_predict)
    def price_score(
        self,
        n: int,
        *,
        confusion: bool = False,
        epsilon: Epsilon = None,
        share: Share = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> ScorePrice:
        """Compute the price and the precision of `score_private`. Free.

        Parameters
        ----------
        n : int or table of rows
            Number of rows, or owners, that will be counted.
        confusion : bool, default=False
            Price `confusion_private` instead.
        epsilon, share, sigma, level
            As for `score_private`; without an amount as for `secretballot.measures.price_score`.

        Returns
        -------
        ScorePrice
        """
        accountant = self._check_accountant()
        n_classes = len(self.classes_) if confusion else None
        return price_score(
            accountant,
            n,
            n_classes=n_classes,
            epsilon=epsilon,
            share=share,
            sigma=sigma,
            level=level,
        )


class RegressorScoreMethods(ScoreMethods):
    """R^2 and root mean squared error on private rows, paid from the regressor's accountant."""

    @abstractmethod
    def _error_scale(self, noise: float, largest_error: float | None) -> ErrorScale:
        """Choose the scale of errors, by the noise of a mean over people and public facts."""

    def score_private(
        self,
        X: ArrayLike | PrivateParts,
        y: ArrayLike | None = None,
        *,
        largest_error: float | None = None,
        owners: ArrayLike | None = None,
        epsilon: Epsilon = None,
        share: Share = None,
        sigma: float | None = None,
        level: float = 0.95,
        rows_per_call: int | str = "auto",
    ) -> PrivateRegressionScore:
        """Release R^2 on private rows, with an interval. **This spends budget.**

        ``share=0.05`` takes a twentieth of the whole budget; `price_score` computes the price
        beforehand. A fit takes the whole remaining budget, unless its ``epsilon`` leaves a part of
        it for scores. On rows that `fit` saw R^2 is optimistic.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_rows, n_features)
            Private rows of the people whom the budget protects: those of `fit`, or others. They
            are read as the public rows of `fit`: columns by name, invalid cells as missing. A row
            that can't be predicted has the largest error.
        y : array-like of shape (n_rows,)
            Their targets, clipped to `target_bounds`, as predictions are. Missing ones are refused.
        largest_error : float, default=None
            Size at which errors are clipped, in units of the target. None: where clipping is
            expected to change R^2 by half of its noise, by the released histogram of residuals. A
            value of at least the range of `target_bounds` clips none.
        owners, epsilon, share, sigma, level
            As for `secretballot.measures.regression_score_private`: one of the amounts is given.
        rows_per_call : {"auto", 256, 8, 1}, default="auto"
            As the parameter of the estimator; "auto": the number of the fit.

        Returns
        -------
        PrivateRegressionScore

        Raises
        ------
        BudgetExceededError
            If it doesn't fit the remaining budget; nothing is spent.
        ValueError
            If columns or targets are missing, predictions for a row depend on other rows, noise
            would hide R^2 by the expectation of `price_score`, or the fit warned that its
            `target_bounds` are too wide and no `sigma` is given; nothing is spent.
        """
        return self._release_score(
            "score_private",
            SquaredErrors(
                partial(self._error_scale, largest_error=largest_error), by_sigma=sigma is not None
            ),
            (X, y, owners),
            NoiseChoice(epsilon, share, sigma, level),
            rows_per_call,
        )

    def price_score(
        self,
        n: int,
        *,
        largest_error: float | None = None,
        epsilon: Epsilon = None,
        share: Share = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> RegressionScorePrice:
        """Compute the price and the expected precision of `score_private`. Free.

        Parameters
        ----------
        n : int or table of rows
            Number of rows, or owners, that will be counted.
        largest_error, epsilon, share, sigma, level
            As for `score_private`; without an amount as for
            `secretballot.measures.price_regression_score`.

        Returns
        -------
        RegressionScorePrice
        """
        return price_of(
            self._check_accountant(),
            n,
            SquaredErrors(partial(self._error_scale, largest_error=largest_error)),
            NoiseChoice(epsilon, share, sigma, level),
        )


def _warn_slow(predictor: PrivatePredictor, rows_per_call: int | str, n_rows: int | None) -> None:
    if predictor.calls is not None and rows_per_call == "auto":
        predictor.calls.warn_slow(n_rows)
