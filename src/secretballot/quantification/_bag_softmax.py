"""A softmax over classes trained on which bag each instance is in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

#: Instances in a block: some hundred features of each fit a core's cache.
_ROWS = 2048


class SoftmaxWeights(NamedTuple):
    """Weights of a softmax, shape (n_features, n_classes) and (n_classes,), and steps to them."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    n_iter: int = 0

    def logits(self, F: Any) -> NDArray[np.float64]:
        """Return log probabilities up to a constant, shape (n_instances, n_classes)."""
        return np.asarray(F @ self.coef.astype(F.dtype)) + self.intercept


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
    weight: NDArray[Any] | None = None,
) -> SoftmaxWeights:
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
    weight : ndarray of shape (n_instances,), default=None
        How much each instance counts; 0 leaves it out without a copy of the others. Alike if None.

    Notes
    -----
    Given its class y, an instance's features say nothing about its bag i, so that
    p(i | x) = sum over y of p(y | x) p(i | y), with p(i | y) proportional to
    size_i P_iy / p(y). Every instance contributes its own term, not every bag one.
    """
    n, d = F.shape
    c = lifts.shape[1]
    counted = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    counted = counted / counted.sum()
    # Dense blocks stay in the cache for both products. Classes are rows, which are summed fast.
    step = n if sparse.issparse(F) else _ROWS
    cuts = [slice(begin, min(begin + step, n)) for begin in range(0, n, step)]
    blocks = [(F[rows], bag[rows], counted[rows]) for rows in cuts]
    by_class = np.ascontiguousarray(lifts.T)

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        W = flat.reshape(d + 1, c)
        coef, intercept = W[:-1].astype(F.dtype), W[-1][:, None]
        value, slope = 0.5 * alpha * float((W[:-1] ** 2).sum()), np.empty((d + 1, c))
        slope[:-1] = alpha * W[:-1]
        slope[-1] = 0
        for block, owner, counts in blocks:
            p = _by_class(block, coef) + intercept
            p -= p.max(axis=0)
            np.exp(p, out=p)
            p /= p.sum(axis=0)
            share = p * by_class[:, owner]
            total = share.sum(axis=0)
            share /= total
            value -= float(np.log(total) @ counts)
            p -= share
            p *= counts
            slope[:-1] += (p.astype(F.dtype) @ block).T
            slope[-1] += p.sum(axis=1)
        return value, slope.ravel()

    begin = np.zeros((d + 1) * c) if start is None else np.vstack(start[:2]).ravel()
    found = minimize(
        objective, begin, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "ftol": 1e-7}
    )
    W = found.x.reshape(d + 1, c)
    return SoftmaxWeights(W[:-1], W[-1], int(found.nit))


def _by_class(block: Any, coef: NDArray[Any]) -> NDArray[np.float64]:
    """Return the product, classes by instances: contiguous, in double precision."""
    if sparse.issparse(block):
        return np.ascontiguousarray((block @ coef).T, dtype=np.float64)
    return (coef.T @ block.T).astype(np.float64, copy=False)


def bag_likelihood(
    logits: NDArray[np.float64], bag: NDArray[np.int64], lifts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log likelihood of each instance's bag, up to a constant."""
    return np.asarray(np.log((softmax(logits, axis=1) * lifts[bag]).sum(axis=1)))
