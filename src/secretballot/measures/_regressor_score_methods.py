"""Scores of regressors on private rows, as methods."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

from numpy.typing import ArrayLike

from secretballot.accounting._answers import Share
from secretballot.measures._error_scale import ErrorScale
from secretballot.measures._regression_price import RegressionScorePrice, price_of_scale
from secretballot.measures._regression_score import PrivateRegressionScore, release_errors
from secretballot.measures._score_methods import ScoreMethods
from secretballot.measures._score_price import Epsilon, NoiseChoice
from secretballot.tables._private_parts import PrivateParts


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
        noise = self._noise_of("score_private", epsilon, share, sigma, level)
        scored = self._scored_rows(X, y, owners, rows_per_call)
        try:
            return release_errors(
                self._check_accountant(),
                scored,
                partial(self._error_scale, largest_error=largest_error),
                noise,
                self._next_seed(),
            )
        finally:
            scored.close()

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
        return price_of_scale(
            self._check_accountant(),
            n,
            partial(self._error_scale, largest_error=largest_error),
            NoiseChoice(epsilon, share, sigma, level),
        )
