"""The softmax on bags with its features, penalty and bandwidth chosen without labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from secretballot.quantification._bag_softmax import (
    SoftmaxWeights,
    bag_likelihood,
    fit_softmax,
)
from secretballot.quantification.kernels import candidate_gammas, explicit_features, feature_table

_ALPHAS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
_MULTIPLES = (2.0, 4.0, 8.0)
#: What is chosen or held out on this many instances no longer hangs on the draw.
_ENOUGH = 2_000
#: Penalty and bandwidth are chosen on at most so many instances.
_MOST_CHOOSING = 20_000
_POWERS = tuple(float(2 ** (half / 2)) for half in range(-2, 9))


class SoftmaxModel(NamedTuple):
    """A trained softmax: the map to its features, which bandwidth of it, and what was chosen."""

    features: Any
    number: int
    gamma: float | None
    alpha: float
    weights: SoftmaxWeights

    def logits(self, X: Any) -> NDArray[np.float64]:
        """Return log probabilities up to a constant, shape (n_instances, n_classes)."""
        return self.weights.logits(feature_table(self.features, X, self.number))

    def sharpened(self, sharpness: float, prior: NDArray[np.float64]) -> SoftmaxModel:
        """Return the model whose odds, relative to those of the prior, are to this power."""
        shift = (1 - sharpness) * np.log(prior)
        coef, intercept, n_iter = self.weights
        weights = SoftmaxWeights(sharpness * coef, sharpness * intercept + shift, n_iter)
        return self._replace(weights=weights)


def train_softmax(
    X: Any,
    bag: NDArray[np.int64],
    lifts: NDArray[np.float64],
    *,
    features: str | None,
    gamma: str | float,
    n_components: int,
    alpha: str | float,
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> tuple[SoftmaxModel, Any]:
    """Choose bandwidth and penalty, and train on all instances.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_instances, n_features)
    bag : ndarray of shape (n_instances,)
    lifts : ndarray of shape (n_bags, n_classes)
        From `lift`.
    features, gamma, n_components, alpha, n_folds, max_iter
        As in `SoftmaxClassRatioEstimator`.
    rng : Generator

    Returns
    -------
    model : SoftmaxModel
    F : ndarray or CSR of shape (n_instances, n_components)
        The features of `X`.
    """
    entropy = int(rng.integers(2**31))
    gammas = np.array([1.0])
    if features is not None:
        gammas = candidate_gammas(gamma, _MULTIPLES, X, rng)
    alphas = _ALPHAS if alpha == "held_out" else (float(alpha),)
    feature_map = explicit_features(features, X, gammas, n_components, entropy)
    number, chosen = 0, alphas[0]
    if len(gammas) > 1 or len(alphas) > 1:
        chosen, number = _choose(
            feature_map, len(gammas), X, bag, lifts, alphas, n_folds, max_iter, rng
        )
    F = feature_table(feature_map, X, number)
    weights = fit_softmax(F, bag, lifts, chosen, max_iter=max_iter)
    bandwidth = None if features is None else float(gammas[number])
    return SoftmaxModel(feature_map, number, bandwidth, chosen, weights), F


def _choose(
    features: Any,
    n_gammas: int,
    X: Any,
    bag: NDArray[np.int64],
    lifts: NDArray[np.float64],
    alphas: Sequence[float],
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Return the penalty, and the number of the bandwidth, that held-out instances choose."""
    if len(bag) > _MOST_CHOOSING:
        some = np.sort(rng.choice(len(bag), _MOST_CHOOSING, replace=False))
        X, bag = X[some], bag[some]
    fold = folds(bag, n_folds, rng)
    # One fold is enough where it has many instances; else all are held out in turn.
    held_out = range(enough(len(bag) // n_folds, most=n_folds))
    tried = []
    for which in range(n_gammas):
        F = feature_table(features, X, which)
        found: dict[float, list[NDArray[np.float64]]] = {alpha: [] for alpha in alphas}
        for number in held_out:
            rest, weights = fold == number, None
            for alpha in alphas:  # from the largest down, each beginning at the last
                weights = fit_softmax(
                    F, bag, lifts, alpha, weights, max_iter=max_iter, weight=~rest
                )
                found[alpha].append(bag_likelihood(weights.logits(F[rest]), bag[rest], lifts))
        tried += [(alpha, which, np.concatenate(parts)) for alpha, parts in found.items()]
    return _most_penalised(tried)


def enough(n_instances: int, most: int) -> int:
    """Return how often to repeat what looks at some instances, so that it looks at enough."""
    return int(np.clip(-(-_ENOUGH // max(n_instances, 1)), 1, most))


def held_out_sharpness(
    model: SoftmaxModel,
    F: Any,
    bag: NDArray[np.int64],
    lifts: NDArray[np.float64],
    prior: NDArray[np.float64],
    *,
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> float:
    """Return how much sharper the probabilities should be than a penalised softmax's are.

    Every instance's bag is predicted by a softmax trained without its fold. Of the powers that are
    within one standard error of the likeliest the one closest to 1 is taken.

    Parameters
    ----------
    model, F, bag, lifts
        As `train_softmax` returned and was given them.
    prior : ndarray of shape (n_classes,)
        Class ratios of all instances.
    n_folds, max_iter, rng
        As there.
    """
    fold, odds = folds(bag, n_folds, rng), np.empty((len(bag), len(prior)))
    for number in np.unique(fold):
        rest = fold == number
        weights = fit_softmax(
            F, bag, lifts, model.alpha, model.weights, max_iter=max_iter, weight=~rest
        )
        odds[rest] = log_softmax(weights.logits(F[rest]), axis=1) - np.log(prior)
    tried = [bag_likelihood(power * odds + np.log(prior), bag, lifts) for power in _POWERS]
    best = max(tried, key=lambda one: float(one.mean()))
    loss = [best - one for one in tried]
    near = [
        power
        for power, less in zip(_POWERS, loss, strict=True)
        if less.mean() <= less.std() / np.sqrt(len(less)) + 1e-9
    ]
    return min(near, key=lambda power: abs(np.log(power)))


def _most_penalised(tried: list[tuple[float, int, NDArray[np.float64]]]) -> tuple[float, int]:
    """Return the largest penalty that is within one standard error of the best, and its gamma."""
    best = max(tried, key=lambda one: one[2].mean())
    loss = [best[2] - one[2] for one in tried]
    near = [
        one
        for one, less in zip(tried, loss, strict=True)
        if less.mean() <= less.std() / np.sqrt(len(less))
    ]
    alpha = max(one[0] for one in near)
    found = max((one for one in near if one[0] == alpha), key=lambda one: one[2].mean())
    return found[0], found[1]


def folds(bag: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a fold for each instance, with as many of every bag in each as can be."""
    fold, sizes = np.empty(len(bag), dtype=np.int64), np.bincount(bag)
    # Of bags that are smaller than the number of folds no fold is to get all.
    small = sizes[bag] < n_folds
    fold[small] = rng.permutation(np.arange(small.sum()) % n_folds)
    for rows in np.split(np.argsort(bag, kind="stable"), np.cumsum(sizes)[:-1]):
        if len(rows) >= n_folds:
            fold[rows] = rng.permutation(np.arange(len(rows)) % n_folds)
    return fold
