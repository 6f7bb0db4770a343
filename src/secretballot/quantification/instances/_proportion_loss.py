"""Training of a softmax by the distance of bags' mean probabilities from their proportions."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import softmax

from secretballot.quantification._bag_softmax import SoftmaxWeights, minimise
from secretballot.quantification._bag_types import Floats, Integers, Matrix
from secretballot.quantification._softmax_model import assign_folds

_ALPHAS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


def match_proportions(
    F: Matrix,
    bag: Integers,
    proportions: Floats,
    *,
    alpha: str | float,
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> tuple[SoftmaxWeights, float]:
    """Minimise half the squared distance of mean probabilities from proportions.

    "held_out" takes the penalty with the least distance in a fold that was left out.
    """
    initial, penalty = np.zeros((F.shape[1] + 1, proportions.shape[1])), alpha
    if isinstance(alpha, str):
        held_out = assign_folds(bag, n_folds, rng) == 0
        W, candidates = initial, []
        for candidate in _ALPHAS:  # decreasing, each starting from the previous weights
            training = F[~held_out], bag[~held_out], proportions
            W = _minimise(*training, candidate, W, max_iter).stacked
            distance = _distance(W, F[held_out], F[held_out].T, bag[held_out], proportions)[0]
            candidates.append((distance, candidate, W))
        _, penalty, initial = min(candidates, key=lambda candidate: candidate[0])
    return _minimise(F, bag, proportions, float(penalty), initial, max_iter), float(penalty)


def _minimise(
    F: Matrix, bag: Integers, proportions: Floats, penalty: float, initial: Floats, max_iter: int
) -> SoftmaxWeights:
    transposed = sparse.csr_array(F.T) if sparse.issparse(F) else F.T

    def objective(flat: Floats) -> tuple[float, Floats]:
        W = flat.reshape(initial.shape)
        value, gradient = _distance(W, F, transposed, bag, proportions)
        gradient[:-1] += penalty * W[:-1]
        return value + 0.5 * penalty * float((W[:-1] ** 2).sum()), gradient.ravel()

    return minimise(objective, initial, max_iter)


def _distance(
    W: Floats, F: Matrix, transposed: Matrix, bag: Integers, proportions: Floats
) -> tuple[float, Floats]:
    """Return half the mean squared distance over instances, and its gradient."""
    p = softmax(np.asarray(F @ W[:-1]) + W[-1], axis=1)
    sizes = np.bincount(bag, minlength=len(proportions))[:, None]
    # A product with 0 and 1 sums within bags.
    positions = (bag, np.arange(len(bag)))
    member = sparse.csr_array((np.ones(len(bag)), positions), shape=(len(proportions), len(bag)))
    error = np.where(sizes > 0, member @ p / np.maximum(sizes, 1) - proportions, 0)
    slope = error[bag] / len(bag)
    slope = p * (slope - (p * slope).sum(axis=1, keepdims=True))
    value = 0.5 * float((sizes * error**2).sum()) / len(bag)
    return value, np.vstack([transposed @ slope, slope.sum(axis=0)])
