"""The usual loss of learning from label proportions: each bag's mean probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from secretballot.quantification._bag_softmax import SoftmaxWeights
from secretballot.quantification._softmax_model import folds

_ALPHAS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


def match_proportions(
    F: Any,
    bag: NDArray[np.int64],
    proportions: NDArray[np.float64],
    *,
    alpha: str | float,
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> tuple[SoftmaxWeights, float]:
    """Minimise half the squared distance of mean probabilities from proportions.

    Parameters
    ----------
    F : ndarray or CSR of shape (n_instances, n_features)
    bag : ndarray of shape (n_instances,)
    proportions : ndarray of shape (n_bags, n_classes)
    alpha : "held_out" or float
        Weight of half the squared norm of the coefficients. "held_out" takes the one with the
        least distance in a fold that was left out.
    n_folds, max_iter, rng

    Returns
    -------
    weights : SoftmaxWeights
    alpha : float
        The penalty in use.
    """
    shape = (F.shape[1] + 1, proportions.shape[1])

    def loss(W: Any, F: Any, transposed: Any, bag: Any) -> tuple[float, Any]:
        p = softmax(np.asarray(F @ W[:-1]) + W[-1], axis=1)
        sizes = np.bincount(bag, minlength=len(proportions))[:, None]
        # A product with indicators: sums within bags.
        where = (bag, np.arange(len(bag)))
        member = sparse.csr_array((np.ones(len(bag)), where), shape=(len(proportions), len(bag)))
        off = np.where(sizes > 0, member @ p / np.maximum(sizes, 1) - proportions, 0)
        slope = off[bag] / len(bag)
        slope = p * (slope - (p * slope).sum(axis=1, keepdims=True))
        value = 0.5 * float((sizes * off**2).sum()) / len(bag)
        return value, np.vstack([transposed @ slope, slope.sum(axis=0)])

    def trained(F: Any, bag: Any, penalty: float, begin: Any) -> Any:
        transposed = sparse.csr_array(F.T) if sparse.issparse(F) else F.T

        def objective(flat: Any) -> tuple[float, Any]:
            W = flat.reshape(shape)
            value, slope = loss(W, F, transposed, bag)
            slope[:-1] += penalty * W[:-1]
            return value + 0.5 * penalty * float((W[:-1] ** 2).sum()), slope.ravel()

        return minimize(
            objective, begin.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter}
        )

    begin, chosen = np.zeros(shape), alpha
    if alpha == "held_out":
        rest, tried = folds(bag, n_folds, rng) == 0, []
        held_out, W = F[rest], begin
        for one in _ALPHAS:  # from the largest down, each beginning at the last
            W = trained(F[~rest], bag[~rest], one, W).x.reshape(shape)
            tried.append((loss(W, held_out, held_out.T, bag[rest])[0], one, W))
        _, chosen, begin = min(tried, key=lambda one: one[0])
    found = trained(F, bag, float(chosen), begin)
    W = found.x.reshape(shape)
    return SoftmaxWeights(W[:-1], W[-1], int(found.nit)), float(chosen)
