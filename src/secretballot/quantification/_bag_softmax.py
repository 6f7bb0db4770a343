"""A softmax over classes trained on which bag each instance is in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax


class SoftmaxWeights(NamedTuple):
    """Weights of a softmax: shape (n_features, n_classes), and (n_classes,)."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def logits(self, F: Any) -> NDArray[np.float64]:
        """Return log probabilities up to a constant, shape (n_instances, n_classes)."""
        return np.asarray(F @ self.coef) + self.intercept


def likely_proportions(
    proportions: NDArray[np.float64],
    sizes: NDArray[np.int64],
    covariance: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return proportions that rule no class out.

    A proportion of zero would. It is one of at most the size's rounding (of one in a hundred where
    bags are small), and with noise of at most that: proportions are taken to be no smaller than
    half of it, but for what would make bags all alike: half of an even share.
    """
    floor = np.minimum(0.5 / sizes, 0.01)
    floor = np.repeat(floor[:, None], proportions.shape[1], axis=1)
    if covariance is not None:
        noise = np.sqrt(np.einsum("ijj->ij", covariance))
        floor = np.maximum(floor, 0.5 * np.minimum(noise, 1 / proportions.shape[1]))
    likely = np.maximum(proportions, floor)
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def lift(
    proportions: NDArray[np.float64],
    sizes: NDArray[np.int64],
    covariance: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return how much more common each class is in each bag than overall."""
    likely = likely_proportions(proportions, sizes, covariance)
    return np.asarray(likely / (sizes @ likely / sizes.sum()))


def fit_softmax(
    F: Any,
    bag: NDArray[np.int64],
    lifts: NDArray[np.float64],
    alpha: float,
    start: SoftmaxWeights | None = None,
    max_iter: int = 200,
) -> SoftmaxWeights:
    """Return the weights of `maximise_likelihood` alone."""
    return maximise_likelihood(F, bag, lifts, alpha, start, max_iter)[0]


def maximise_likelihood(
    F: Any,
    bag: NDArray[np.int64],
    lifts: NDArray[np.float64],
    alpha: float,
    start: SoftmaxWeights | None = None,
    max_iter: int = 200,
) -> tuple[SoftmaxWeights, int]:
    """Maximise the likelihood of the instances' bags.

    Parameters
    ----------
    F : ndarray or CSR of shape (n_instances, n_features)
    bag : ndarray of shape (n_instances,)
    lifts : ndarray of shape (n_bags, n_classes)
        From `lift`.
    alpha : float
        Weight of half the squared norm of the coefficients.
    start : SoftmaxWeights, default=None
        Where to begin.
    max_iter : int

    Returns
    -------
    weights : SoftmaxWeights
    n_iter : int
        Steps that were taken.

    Notes
    -----
    Given its class y, an instance's features say nothing about its bag i, so that
    p(i | x) = sum over y of p(y | x) p(i | y), with p(i | y) proportional to
    size_i P_iy / p(y). Every instance contributes its own term, not every bag one.
    """
    n, d = F.shape
    c = lifts.shape[1]
    log_lift = np.log(lifts)[bag]
    transposed = sparse.csr_array(F.T) if sparse.issparse(F) else F.T

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        W = flat.reshape(d + 1, c)
        log_p = log_softmax(F @ W[:-1] + W[-1], axis=1)
        joint = log_p + log_lift
        top = joint.max(axis=1, keepdims=True)
        share = np.exp(joint - top)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        residual = (np.exp(log_p) - share) / n
        value = -float((np.log(total) + top).mean()) + 0.5 * alpha * float((W[:-1] ** 2).sum())
        slope = np.vstack([transposed @ residual + alpha * W[:-1], residual.sum(axis=0)])
        return value, slope.ravel()

    begin = np.zeros((d + 1) * c) if start is None else np.vstack(start).ravel()
    found = minimize(
        objective, begin, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "ftol": 1e-7}
    )
    W = found.x.reshape(d + 1, c)
    return SoftmaxWeights(W[:-1], W[-1]), int(found.nit)


def bag_likelihood(
    logits: NDArray[np.float64], bag: NDArray[np.int64], lifts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log likelihood of each instance's bag, up to a constant."""
    return np.asarray(np.log((softmax(logits, axis=1) * lifts[bag]).sum(axis=1)))
