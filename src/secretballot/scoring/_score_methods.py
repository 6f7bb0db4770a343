"""Scores of estimators on private rows, as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from secretballot._row_order import check_row_order
from secretballot.schema import apply_in_halves, check_row_independence
from secretballot.scoring._confusion import PrivateConfusion, confusion_private
from secretballot.scoring._people import NO_BUDGET
from secretballot.scoring._score import PrivateScore, score_private
from secretballot.scoring._score_price import Epsilon, ScorePrice, price_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from secretballot.accounting import PrivacyAccountant, Scope

#: Key of the seeded noise of scores; other random streams have other keys.
_SEED_KEY = 0x5C0E


def _can_predict(estimator: ScoreMethods) -> bool:
    return bool(estimator.predict)  # or the AttributeError with the reason


class ScoreMethods:
    """Scores of an estimator's predictions on private rows, paid from its accountant.

    The estimator has `accountant`, `random_state`, `classes_` and `predict`. Its predictions depend
    on private rows only through the accountant's releases. Private rows are read through
    `_row_schema`.
    """

    accountant: PrivacyAccountant | None
    random_state: int | np.random.RandomState | None
    classes_: NDArray[Any] | list[NDArray[Any]]
    predict: Callable[..., ArrayLike]
    _fit_scope: Callable[[], Scope | None]

    @available_if(_can_predict)
    def score_private(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        owners: ArrayLike | None = None,
        epsilon: Epsilon = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> PrivateScore:
        """Release the accuracy on private rows, with an interval. **This spends budget.**

        `price_score` computes the price beforehand. A fit takes the whole remaining budget, unless
        its ``epsilon`` leaves a part of it for scores. On rows that `fit` saw the accuracy is
        optimistic: by up to .02 on small sets.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            Private rows of the people whom the budget protects: those of `fit`, or others. They
            are read as the public rows of `fit`: columns by name, invalid cells as missing.
        y : array-like of shape (n_rows,) or (n_rows, n_labels)
            Their labels. A label that is not in ``classes_`` is a wrong answer.
        owners, epsilon, sigma, level
            As for `secretballot.scoring.score_private`.

        Returns
        -------
        PrivateScore

        Raises
        ------
        BudgetExceededError
            If it doesn't fit the remaining budget; nothing is spent.
        ValueError
            If columns are missing, or predictions for a row depend on other rows; nothing is
            spent.
        """
        predicted = self._predict_private(X, y, owners)
        return score_private(
            self._check_accountant(),
            y,
            predicted,
            owners=owners,
            epsilon=epsilon,
            sigma=sigma,
            level=level,
            random_state=self._next_seed(),
        )

    @available_if(_can_predict)
    def confusion_private(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        owners: ArrayLike | None = None,
        epsilon: Epsilon = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> PrivateConfusion:
        """Release the confusion matrix on private rows. **This spends budget.**

        With as much noise it costs twice the mu^2 of `score_private`.

        Parameters
        ----------
        X, y, owners, epsilon, sigma, level
            As for `score_private`; of one class a row.

        Returns
        -------
        PrivateConfusion

        Raises
        ------
        BudgetExceededError
            If it doesn't fit the remaining budget; nothing is spent.
        """
        predicted = self._predict_private(X, y, owners)
        if isinstance(self.classes_, list):
            raise ValueError(
                "a confusion matrix is of one class a row, and this predicts several labels; use "
                "score_private, or confusion_private for one of them."
            )
        return confusion_private(
            self._check_accountant(),
            y,
            predicted,
            classes=self.classes_,
            owners=owners,
            epsilon=epsilon,
            sigma=sigma,
            level=level,
            random_state=self._next_seed(),
        )

    @available_if(_can_predict)
    def price_score(
        self,
        n: int,
        *,
        confusion: bool = False,
        epsilon: Epsilon = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> ScorePrice:
        """Compute the price and the precision of `score_private`. Free.

        Parameters
        ----------
        n : int
            Number of rows, or owners, that will be counted.
        confusion : bool, default=False
            Price `confusion_private` instead.
        epsilon, sigma, level
            As for `score_private`.

        Returns
        -------
        ScorePrice
        """
        accountant = self._check_accountant()
        n_classes = len(self.classes_) if confusion else None
        return price_score(
            accountant, n, n_classes=n_classes, epsilon=epsilon, sigma=sigma, level=level
        )

    def _predict_private(self, X: ArrayLike, y: ArrayLike, owners: ArrayLike | None) -> ArrayLike:
        """Predict private rows, read as public ones; a row without a prediction has None.

        Such a row is a wrong answer: an error would reveal it, unpaid.
        """
        self._check_accountant()
        check_row_order("y", y, X)
        check_row_order("owners", owners, X)
        schema = getattr(self, "_row_schema", None)
        if schema is None:
            return self.predict(X)  # the error of an estimator that is not fitted
        rows = schema.read(X).table
        if schema.sample is not None:
            name = f"{type(self).__name__}.predict"
            check_row_independence(self._predict_array, schema.sample, name)
        n_labels = (len(self.classes_),) if isinstance(self.classes_, list) else ()
        missing = np.full((1, *n_labels), None)
        return np.asarray(apply_in_halves(self._predict_array, rows, missing)[0])

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
