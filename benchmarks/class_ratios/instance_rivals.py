"""What the classifier of instances is compared with, on the same features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

ALPHAS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


class MeanProbabilityClassifier:
    """The usual loss: how far each bag's mean probabilities are from its proportions.

    Cross entropy, or half the squared distance, weighted by the sizes of the bags; the penalty is
    the one, of a grid that is wider than ours, with the least loss on a held-out fifth of every
    bag's instances.
    """

    def __init__(self, loss: str = "cross entropy", alphas: tuple[float, ...] = ALPHAS) -> None:
        self.loss, self.alphas = loss, alphas

    def fit(self, F: Any, bag: NDArray[Any], P: NDArray[Any]) -> MeanProbabilityClassifier:
        rest = np.random.default_rng(0).random(len(bag)) < 0.2
        # A bag has to be on both sides.
        both = np.isin(bag, bag[rest]) & np.isin(bag, bag[~rest])
        best, weights = np.inf, None
        for alpha in self.alphas:  # from the largest down, each beginning at the last
            weights = self._trained(F[~rest], bag[~rest], P, alpha, weights)
            held_out = self._value(weights, F[rest & both], bag[rest & both], P)[0]
            if held_out < best:
                best, chosen, begin = held_out, alpha, weights
        self.alpha_ = chosen
        self.weights_ = self._trained(F, bag, P, chosen, begin)
        return self

    def _trained(self, F: Any, bag: Any, P: Any, alpha: float, begin: Any) -> Any:
        shape = (F.shape[1] + 1, P.shape[1])

        def objective(flat: Any) -> tuple[float, Any]:
            W = flat.reshape(shape)
            value, slope = self._value(W, F, bag, P)
            slope[:-1] += alpha * W[:-1]
            return value + 0.5 * alpha * (W[:-1] ** 2).sum(), slope.ravel()

        begin = np.zeros(shape) if begin is None else begin
        found = minimize(
            objective, begin.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300}
        )
        return found.x.reshape(shape)

    def _value(self, W: Any, F: Any, bag: Any, P: Any) -> tuple[float, Any]:
        p = softmax(F @ W[:-1] + W[-1], axis=1)
        sizes = np.bincount(bag, minlength=len(P))[:, None]
        means = np.stack([np.bincount(bag, p[:, k], len(P)) for k in range(P.shape[1])], axis=1)
        means /= np.maximum(sizes, 1)
        share = sizes / len(bag)
        if self.loss == "cross entropy":
            safe = np.maximum(means, 1e-9)
            value, by_mean = -(share * P * np.log(safe)).sum(), -P / safe
        else:
            value, by_mean = 0.5 * (share * (means - P) ** 2).sum(), means - P
        slope = by_mean[bag] / len(bag)
        slope = p * (slope - (p * slope).sum(axis=1, keepdims=True))
        return float(value), np.vstack([F.T @ slope, slope.sum(axis=0)])

    def predict_proba(self, F: Any) -> NDArray[np.float64]:
        return softmax(F @ self.weights_[:-1] + self.weights_[-1], axis=1)


def with_labels(F: Any, y: NDArray[Any]) -> LogisticRegression:
    """Logistic regression that has every label; its penalty by a held-out fifth of them."""
    rest = np.random.default_rng(0).random(len(y)) < 0.2

    def trained(alpha: float, F: Any, y: Any) -> LogisticRegression:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no convergence within max_iter
            return LogisticRegression(C=1 / (alpha * len(y)), max_iter=300).fit(F, y)

    scores = [trained(alpha, F[~rest], y[~rest]).score(F[rest], y[rest]) for alpha in ALPHAS[1:-1]]
    return trained(ALPHAS[1:-1][int(np.argmax(scores))], F, y)


def llp_learn(F: Any, bag: NDArray[Any], shares: NDArray[Any], F_test: Any) -> dict[str, Any]:
    """Labels or probabilities by llp-learn's methods for two classes; empty without it.

    It pins versions of its dependencies that are years old, so that it can't be an extra: install
    it by ``pip install --no-deps llp-learn``. Its neural networks need torch, and are left out.
    """
    try:
        from llp_learn.alter import alterSVM
        from llp_learn.em import EM
    except ImportError:
        return {}
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EM(LogisticRegression(max_iter=300), random_state=0)
        model.fit(F, bag, shares)
        found["llp-learn, EM"] = model.model.predict_proba(F_test)
        if len(F) > 5000:  # too slow
            return found
        try:
            model = alterSVM(C=1.0, C_p=10.0, num_exec=2, random_state=0)
            model.fit(F, bag, shares)
            found["llp-learn, alternating SVM"] = (model.predict(F_test) > 0).astype(int)
        except ValueError:  # it did not converge
            pass
    return found
