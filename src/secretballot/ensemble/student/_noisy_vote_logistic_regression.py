"""Logistic regression on winners of noisy votes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, log_softmax, logsumexp, softmax
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from secretballot._errors import warn
from secretballot._sklearn_compat import Interval, LinearClassifierMixin, _fit_context
from secretballot.ensemble._estimator_types import Rows

#: Nodes of the integral over the noise of the winner, for more than two classes.
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
_LOG_NODE_WEIGHTS = np.log(_NODE_WEIGHTS) - np.log(2 * np.pi) / 2


class NoisyVoteLogisticRegression(LinearClassifierMixin, BaseEstimator):
    """Logistic regression of the shares of ballots, from the winners of noisy votes.

    A released label is the class with the most votes after known noise was added. So class j of a
    row wins with the probability that its share p_j of the ballots, plus noise, is the largest;
    for two classes this is ``Phi((2 p - 1) / (sqrt(2) vote_noise))``. This student maximises that
    likelihood, with p the softmax of a linear function; a plain one trusts all labels alike.

    Parameters
    ----------
    vote_noise : float, default=None
        Standard deviation of the noise on the votes of a class, as a share of all ballots: sigma
        divided by the number of teachers. It is public. Where it is None, `PrivateTeacherEnsemble`
        sets it for its student, and for parts of it that have this parameter. Otherwise None fits
        `LogisticRegression`.
    C : float, default=0.1
        Inverse strength of the l2 penalty on the coefficients. Features should be scaled.
    max_iter : int, default=500
        Maximum number of iterations of L-BFGS.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in fit, if they are all strings.

    See Also
    --------
    PrivateTeacherEnsemble : Sets `vote_noise` of its student.

    Notes
    -----
    Labels of rows that passed a threshold (`ConfidentGNMax`) have the same likelihood: the noise
    of the threshold is independent. `predict_proba` is the expected share of ballots.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from secretballot.ensemble import NoisyVoteLogisticRegression
    >>> X, y = make_blobs(60, centers=[[-1, 0], [1, 0]], random_state=0)
    >>> student = NoisyVoteLogisticRegression(vote_noise=0.5).fit(X, y)
    >>> student.predict([[-2.0, 0.0], [2.0, 0.0]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "vote_noise": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, *, vote_noise: float | None = None, C: float = 0.1, max_iter: int = 500
    ) -> None:
        self.vote_noise = vote_noise
        self.C = C
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Rows, y: ArrayLike) -> NoisyVoteLogisticRegression:
        """Fit by penalised maximum likelihood.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Winners of noisy votes.

        Returns
        -------
        self : NoisyVoteLogisticRegression
        """
        rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()[0]!r}; at least 2 are needed."
            )
        if self.vote_noise is None:
            plain = LogisticRegression(C=self.C, max_iter=self.max_iter).fit(rows, codes)
            self.coef_, self.intercept_ = plain.coef_, plain.intercept_
            self.n_iter_ = int(plain.n_iter_.max())
            return self
        n_outputs = 1 if n_classes == 2 else n_classes
        start = np.zeros((rows.shape[1] + 1, n_outputs))
        optimum = minimize(
            self._loss,
            start.ravel(),
            args=(rows, codes, n_outputs),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter},
        )
        if not optimum.success:
            warn(
                f"max_iter={self.max_iter} iterations of L-BFGS did not converge; scale the "
                "features (StandardScaler), or allow more."
            )
        weights = optimum.x.reshape(start.shape)
        self.coef_, self.intercept_ = weights[:-1].T.copy(), weights[-1].copy()
        self.n_iter_ = int(optimum.nit)
        return self

    def _loss(
        self, flat: NDArray[Any], X: Any, codes: NDArray[Any], n_outputs: int
    ) -> tuple[float, NDArray[Any]]:
        """Return the penalised negative log likelihood and its gradient."""
        weights = flat.reshape(-1, n_outputs)
        scores = safe_sparse_dot(X, weights[:-1]) + weights[-1]
        if n_outputs == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        log_likely, slope = _log_win(softmax(scores, axis=1), codes, float(self.vote_noise or 0))
        if n_outputs == 1:
            slope = slope[:, 1:]
        penalty = 0.5 * (weights[:-1] ** 2).sum() / self.C
        gradient = np.vstack([safe_sparse_dot(X.T, slope), slope.sum(axis=0)])
        gradient[:-1] -= weights[:-1] / self.C
        return float(penalty - log_likely.sum()), -gradient.ravel()

    def predict_log_proba(self, X: Rows) -> NDArray[np.float64]:
        """Predict logarithms of the shares of ballots.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        return np.asarray(log_softmax(scores, axis=1))

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Predict the share of ballots of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))


def _log_win(
    shares: NDArray[np.float64], codes: NDArray[Any], noise: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log probabilities that the classes win, and gradients by the scores of the softmax."""
    rows = np.arange(len(codes))
    ahead = (shares[rows, codes][:, None] - shares) / noise
    if shares.shape[1] == 2:
        margin = ahead[rows, 1 - codes] / np.sqrt(2)
        log_likely = log_ndtr(margin)
        by_ahead = np.zeros_like(ahead)
        by_ahead[rows, 1 - codes] = np.exp(_log_density(margin) - log_likely) / np.sqrt(2)
    else:
        # Given the winner's noise, the other classes are behind independently.
        margins = ahead[:, :, None] + _NODES
        log_behind = log_ndtr(margins)
        log_behind[rows, codes] = 0
        log_terms = log_behind.sum(axis=1) + _LOG_NODE_WEIGHTS
        log_likely = logsumexp(log_terms, axis=1)
        ratio = np.exp(_log_density(margins) - log_behind)
        by_ahead = (ratio * np.exp(log_terms - log_likely[:, None])[:, None]).sum(axis=2)
        by_ahead[rows, codes] = 0
    by_share = -by_ahead / noise
    by_share[rows, codes] = by_ahead.sum(axis=1) / noise
    return log_likely, shares * (by_share - (shares * by_share).sum(axis=1, keepdims=True))


def _log_density(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return -(values**2) / 2 - np.log(2 * np.pi) / 2
