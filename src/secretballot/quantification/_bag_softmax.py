"""Likelihood of the instances' bags under a softmax over classes, and its maximisation.

Theory: docs/theory/class-ratios.md, "Softmax on bags".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from secretballot.quantification._bag_types import Floats, Integers, Matrix

#: Instances in a block: some hundred features of each fit a core's cache.
_BLOCK_ROWS = 2048


class SoftmaxWeights(NamedTuple):
    """Weights of a softmax, shapes (n_features, n_classes) and (n_classes,), and steps taken."""

    coef: Floats
    intercept: Floats
    n_iter: int = 0

    @property
    def stacked(self) -> Floats:
        return np.vstack([self.coef, self.intercept])

    def logits(self, F: Matrix) -> Floats:
        """Return log probabilities up to a constant, shape (n_instances, n_classes)."""
        return np.asarray(F @ self.coef.astype(F.dtype)) + self.intercept


def likely_proportions(proportions: Floats, sizes: Integers, covariance: Floats | None) -> Floats:
    """Return proportions without zeros, which would rule a class out.

    The floor is half of the rounding of a count, at most 1 %, or half of the noise, at most half
    of an even share.
    """
    floor = np.minimum(0.5 / sizes, 0.01)
    floor = np.repeat(floor[:, None], proportions.shape[1], axis=1)
    if covariance is not None:
        noise = np.sqrt(np.einsum("ijj->ij", covariance))
        floor = np.maximum(floor, 0.5 * np.minimum(noise, 1 / proportions.shape[1]))
    likely = np.maximum(proportions, floor)
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def class_lifts(
    proportions: Floats, sizes: Integers, covariance: Floats | None
) -> tuple[Floats, Floats]:
    """Return the ratio of each bag's share of a class to the overall share, and the latter."""
    likely = likely_proportions(proportions, sizes, covariance)
    prior = sizes @ likely / sizes.sum()
    return likely / prior, prior


def fit_softmax(
    F: Matrix,
    bag: Integers,
    lifts: Floats,
    alpha: float,
    start: SoftmaxWeights | None = None,
    max_iter: int = 200,
    weight: NDArray[np.generic] | None = None,
) -> SoftmaxWeights:
    """Maximise the likelihood of the instances' bags.

    `alpha` is the weight of half the squared norm of the coefficients, and `weight` that of each
    instance; 0 leaves an instance out without a copy of the others.
    """
    n, d = F.shape
    c = lifts.shape[1]
    instance_weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    instance_weight = instance_weight / instance_weight.sum()
    # Dense blocks stay in the cache for both products. Classes are rows, which are summed fast.
    step = n if sparse.issparse(F) else _BLOCK_ROWS
    slices = [slice(start_row, min(start_row + step, n)) for start_row in range(0, n, step)]
    blocks = [(F[rows], bag[rows], instance_weight[rows]) for rows in slices]
    lifts_by_class = np.ascontiguousarray(lifts.T)

    def objective(flat: Floats) -> tuple[float, Floats]:
        W = flat.reshape(d + 1, c)
        coef, intercept = W[:-1].astype(F.dtype), W[-1][:, None]
        value, gradient = 0.5 * alpha * float((W[:-1] ** 2).sum()), np.empty((d + 1, c))
        gradient[:-1] = alpha * W[:-1]
        gradient[-1] = 0
        for block, block_bag, block_weight in blocks:
            p = _class_scores(block, coef) + intercept
            p -= p.max(axis=0)
            np.exp(p, out=p)
            p /= p.sum(axis=0)
            posterior = p * lifts_by_class[:, block_bag]
            likelihood = posterior.sum(axis=0)
            posterior /= likelihood
            value -= float(np.log(likelihood) @ block_weight)
            p -= posterior
            p *= block_weight
            gradient[:-1] += (p.astype(F.dtype) @ block).T
            gradient[-1] += p.sum(axis=1)
        return value, gradient.ravel()

    initial = np.zeros((d + 1, c)) if start is None else start.stacked
    return minimise(objective, initial, max_iter, ftol=1e-7)


def minimise(
    objective: Callable[[Floats], tuple[float, Floats]],
    initial: Floats,
    max_iter: int,
    **options: float,
) -> SoftmaxWeights:
    """Minimise over coefficients with the intercepts below them; the objective takes them flat."""
    solution = minimize(
        objective,
        initial.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, **options},
    )
    W = solution.x.reshape(initial.shape)
    return SoftmaxWeights(W[:-1], W[-1], int(solution.nit))


def _class_scores(block: Matrix, coef: NDArray[np.floating]) -> Floats:
    """Return coef' block', shape (n_classes, n_instances), contiguous and in double precision."""
    if sparse.issparse(block):
        return np.ascontiguousarray((block @ coef).T, dtype=np.float64)
    return (coef.T @ block.T).astype(np.float64, copy=False)


def bag_likelihood(logits: Floats, bag: Integers, lifts: Floats) -> Floats:
    """Return the log likelihood of each instance's bag, up to a constant."""
    return np.asarray(np.log((softmax(logits, axis=1) * lifts[bag]).sum(axis=1)))
