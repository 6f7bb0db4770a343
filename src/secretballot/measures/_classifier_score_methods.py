"""Scores of classifiers on private rows, as methods."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from secretballot.accounting._answers import Share
from secretballot.measures._confusion import PrivateConfusion, release_confusion
from secretballot.measures._score import PrivateScore, release_accuracy
from secretballot.measures._score_methods import ScoreMethods
from secretballot.measures._score_price import Epsilon, ScorePrice, price_score
from secretballot.tables._private_parts import PrivateParts


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
        noise = self._noise_of("score_private", epsilon, share, sigma, level)
        scored = self._scored_rows(X, y, owners, rows_per_call)
        try:
            scored.refuse_foreign_labels(self.classes_)
            return release_accuracy(self._check_accountant(), scored, noise, self._next_seed())
        finally:
            scored.close()

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
        noise = self._noise_of("confusion_private", epsilon, share, sigma, level)
        scored = self._scored_rows(X, y, owners, rows_per_call)
        try:
            scored.refuse_foreign_labels(self.classes_)
            return release_confusion(
                self._check_accountant(), scored, self.classes_, noise, self._next_seed()
            )
        finally:
            scored.close()

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
