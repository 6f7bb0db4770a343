"""What any estimator with a budget and public predictions can say of how good it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from secretballot._row_order import check_row_order
from secretballot.schema import apply_in_halves, check_row_independence
from secretballot.scoring._confusion import PrivateConfusion, confusion_private
from secretballot.scoring._score import PrivateScore, score_private
from secretballot.scoring._score_price import ScorePrice, price_score

#: What the noise of scores is keyed by where it is seeded; other streams have other keys.
_SCORES = 0x5C0E


def _predicts(estimator: Any) -> bool:
    return bool(estimator.predict)  # or the AttributeError that says why not


class ScoreMethods:
    """Scores of an estimator's predictions on private rows, paid from its accountant.

    The estimator has `accountant`, `random_state`, `classes_` and `predict`, and what it predicts
    rests on private rows only through what the accountant released. Private rows are read through
    `_row_schema`.
    """

    accountant: Any
    random_state: Any
    classes_: Any
    predict: Any
    _fit_scope: Any

    @available_if(_predicts)
    def score_private(
        self,
        X: Any,
        y: Any,
        *,
        owners: Any = None,
        epsilon: float | dict[str, float] | None = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> PrivateScore:
        """Accuracy on private rows, with an interval. **This spends budget.**

        `price_score` says before how much. It comes out of what the fit has left of the budget,
        which is nothing unless ``epsilon`` says so: a fit takes all that it may.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            Private rows, of the people whose budget it is: those of `fit`, or others. They are
            read as the public rows of `fit` are: columns by name, a cell that does not fit is
            missing.
        y : array-like of shape (n_rows,) or (n_rows, n_labels)
            Their labels. What is none of ``classes_`` is a wrong answer.
        owners : array-like of shape (n_rows,), default=None
            Owner id of each row, where the accountant's unit is ``"owner"``. Owners weigh alike.
        epsilon : float or dict of str to float, default=None
            The most that this may cost.
        sigma : float, default=None
            Standard deviation of the noise, in right answers. With neither, a quarter of the
            square root of the number of rows, or owners.
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        score : PrivateScore
            ``accuracy``, ``interval``, and what they rest on.

        Raises
        ------
        BudgetExceededError
            If it doesn't fit what is left; nothing is spent.
        ValueError
            If columns are missing, or what is predicted for a row depends on other rows; nothing
            is spent.
        """
        return score_private(
            self.accountant,
            y,
            self._predicted(X, y, owners),
            owners=owners,
            epsilon=epsilon,
            sigma=sigma,
            level=level,
            random_state=self._score_noise(),
        )

    @available_if(_predicts)
    def confusion_private(
        self,
        X: Any,
        y: Any,
        *,
        owners: Any = None,
        epsilon: float | dict[str, float] | None = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> PrivateConfusion:
        """Confusion matrix on private rows, and what follows from it. **This spends budget.**

        With as much noise it costs twice the mu^2 of `score_private`.

        Parameters
        ----------
        X, y, owners, epsilon, sigma, level
            As for `score_private`; of one class a row.

        Returns
        -------
        confusion : PrivateConfusion
            ``matrix``, ``accuracy``, ``balanced_accuracy``, ``recall``, and intervals of each.

        Raises
        ------
        BudgetExceededError
            If it doesn't fit what is left; nothing is spent.
        """
        predicted = self._predicted(X, y, owners)
        if isinstance(self.classes_, list):
            raise ValueError(
                "a confusion matrix is of one class a row, and this predicts several labels; use "
                "score_private, or confusion_private for one of them."
            )
        return confusion_private(
            self.accountant,
            y,
            predicted,
            classes=self.classes_,
            owners=owners,
            epsilon=epsilon,
            sigma=sigma,
            level=level,
            random_state=self._score_noise(),
        )

    @available_if(_predicts)
    def price_score(
        self,
        n: int,
        *,
        confusion: bool = False,
        epsilon: float | dict[str, float] | None = None,
        sigma: float | None = None,
        level: float = 0.95,
    ) -> ScorePrice:
        """Return what `score_private` would cost, and how exact it will be. Free.

        Parameters
        ----------
        n : int
            How many rows, or owners, will be counted.
        confusion : bool, default=False
            Whether it is for `confusion_private`.
        epsilon, sigma, level
            As for `score_private`.

        Returns
        -------
        price : ScorePrice
            ``sigma``, ``share`` of the budget, ``half_width`` of the interval.
        """
        self._check_budget()
        n_classes = len(self.classes_) if confusion else None
        return price_score(
            self.accountant, n, n_classes=n_classes, epsilon=epsilon, sigma=sigma, level=level
        )

    def _predicted(self, X: Any, y: Any, owners: Any) -> Any:
        """Return predictions for private rows, read as public ones are; None where there is none.

        A row that can't be predicted is a wrong answer: an error would tell of it, unpaid.
        """
        self._check_budget()
        check_row_order("y", y, X)
        check_row_order("owners", owners, X)
        schema = getattr(self, "_row_schema", None)
        if schema is None:
            return self.predict(X)  # the error of an estimator that is not fitted
        rows = schema.read(X).table
        if schema.sample is not None:
            check_row_independence(self._labels_of, schema.sample, f"{type(self).__name__}.predict")
        n_labels = (len(self.classes_),) if isinstance(self.classes_, list) else ()
        none = np.full((1, *n_labels), None)
        return apply_in_halves(self._labels_of, rows, none)[0]

    def _labels_of(self, X: Any) -> Any:
        return np.asarray(self.predict(X))

    def _check_budget(self) -> None:
        if self.accountant is None:
            raise ValueError(
                "accountant=None: what is counted on private rows is not released without a "
                "budget. Use set_params(accountant=PrivacyAccountant(epsilon, delta))."
            )
        scope = self._fit_scope()
        if scope is not None and scope.ledger != self.accountant.scope().ledger:
            raise ValueError(
                "accountant= is another budget than the one of the fit. Two budgets for one data "
                "set add up: use set_params(accountant=) to return to the first, or fit anew. For "
                "rows of other people with a budget of their own, use score_private(accountant, "
                "y_true, y_pred)."
            )

    def _score_noise(self) -> np.random.SeedSequence | None:
        """Return what the next score draws from; None is the cryptographic generator."""
        if self.random_state is None:
            return None
        if isinstance(self.random_state, np.random.RandomState):
            seed = int(self.random_state.randint(2**31 - 1))
        else:
            seed = int(self.random_state)
        self._n_scores = getattr(self, "_n_scores", 0) + 1
        return np.random.SeedSequence(seed, spawn_key=(_SCORES, self._n_scores))
