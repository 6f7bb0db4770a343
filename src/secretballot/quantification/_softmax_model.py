"""Training of a softmax on bags: its features, its penalty and its folds."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from secretballot._base._sklearn_compat import Interval, StrOptions
from secretballot.quantification._bag_softmax import (
    SoftmaxWeights,
    bag_likelihood,
    class_lifts,
    fit_softmax,
)
from secretballot.quantification._bag_types import Floats, Integers, Matrix
from secretballot.quantification._class_ratio_mixin import ClassRatioMixin
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification.kernels import KernelFeatures, candidate_gammas, make_features

_ALPHAS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
_MULTIPLES = (2.0, 4.0, 8.0)
#: Held-out instances from which on a choice no longer depends on the draw of the folds.
_ENOUGH = 2_000
#: Most instances on which penalty and bandwidth are chosen.
_MOST_CHOOSING = 20_000
_POWERS = tuple(float(2 ** (half / 2)) for half in range(-2, 9))


class SoftmaxModel(NamedTuple):
    """A trained softmax."""

    features: KernelFeatures
    number: int  # of its bandwidth
    gamma: float | None
    alpha: float
    weights: SoftmaxWeights

    def logits(self, X: Matrix) -> Floats:
        return self.weights.logits(self.features.table(X, self.number))

    def sharpened(self, sharpness: float, prior: Floats) -> SoftmaxModel:
        """Return the model whose odds, relative to those of the prior, are to this power."""
        shift = (1 - sharpness) * np.log(prior)
        coef, intercept, n_iter = self.weights
        weights = SoftmaxWeights(sharpness * coef, sharpness * intercept + shift, n_iter)
        return self._replace(weights=weights)


class SoftmaxFit(NamedTuple):
    model: SoftmaxModel
    F: Matrix
    bag: Integers
    lifts: Floats
    prior: Floats


class BagSoftmaxMixin:
    """Parameters and training of an estimator whose model is a softmax on bags."""

    features: str | None
    gamma: str | float
    n_components: int
    alpha: str | float
    n_folds: int
    max_iter: int

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **ClassRatioMixin._parameter_constraints,
        "alpha": [StrOptions({"held_out"}), Interval(Real, 0, None, closed="neither")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def _train(
        self, X: Matrix, bag: Integers, proportions: LabelProportions, rng: np.random.Generator
    ) -> SoftmaxFit:
        """Choose bandwidth and penalty, and train on all instances."""
        lifts, prior = class_lifts(proportions.values, np.bincount(bag), proportions.covariance)
        seed = int(rng.integers(2**31))
        gammas = np.array([1.0])
        if self.features is not None:
            gammas = candidate_gammas(self.gamma, _MULTIPLES, X, rng)
        alphas = _ALPHAS if isinstance(self.alpha, str) else (float(self.alpha),)
        features = make_features(self.features, X, gammas, self.n_components, seed)
        number, alpha = 0, alphas[0]
        if len(gammas) > 1 or len(alphas) > 1:
            number, alpha = self._choose(features, len(gammas), alphas, X, bag, lifts, rng)
        F = features.table(X, number)
        weights = fit_softmax(F, bag, lifts, alpha, max_iter=self.max_iter)
        gamma = None if self.features is None else float(gammas[number])
        model = SoftmaxModel(features, number, gamma, alpha, weights)
        return SoftmaxFit(model, F, bag, lifts, prior)

    def _set_model(self, model: SoftmaxModel, classes: NDArray[np.generic]) -> None:
        self._model, self.classes_ = model, classes
        self.gamma_, self.alpha_ = model.gamma, model.alpha
        self.coef_, self.intercept_, self.n_iter_ = model.weights

    def _choose(
        self,
        features: KernelFeatures,
        n_gammas: int,
        alphas: tuple[float, ...],
        X: Matrix,
        bag: Integers,
        lifts: Floats,
        rng: np.random.Generator,
    ) -> tuple[int, float]:
        """Choose the number of the bandwidth, and the penalty, by held-out instances.

        The penalty is the largest that is within one standard error of the likeliest.
        """
        if len(bag) > _MOST_CHOOSING:
            sample = np.sort(rng.choice(len(bag), _MOST_CHOOSING, replace=False))
            X, bag = X[sample], bag[sample]
        fold = assign_folds(bag, self.n_folds, rng)
        # One fold is enough where it has many instances; else all are held out in turn.
        n_held_out = n_repeats(len(bag) // self.n_folds, most=self.n_folds)
        likelihoods: dict[tuple[int, float], list[Floats]] = {}
        for number in range(n_gammas):
            F = features.table(X, number)
            for held_out in (fold == k for k in range(n_held_out)):
                weights = None
                for alpha in alphas:  # decreasing, each starting from the previous weights
                    weights = fit_softmax(
                        F, bag, lifts, alpha, weights, max_iter=self.max_iter, weight=~held_out
                    )
                    likelihood = bag_likelihood(weights.logits(F[held_out]), bag[held_out], lifts)
                    likelihoods.setdefault((number, alpha), []).append(likelihood)
        candidates = list(likelihoods)
        by_candidate = [np.concatenate(by_fold) for by_fold in likelihoods.values()]
        near = within_one_error(by_candidate)
        best = max(near, key=lambda i: (candidates[i][1], by_candidate[i].mean()))
        return candidates[best]

    def _cross_fit(self, fit: SoftmaxFit, rng: np.random.Generator) -> Floats:
        """Return each instance's logits by a softmax trained without the instance's fold."""
        fold = assign_folds(fit.bag, self.n_folds, rng)
        logits = np.empty((len(fit.bag), len(fit.prior)))
        for number in np.unique(fold):
            held_out = fold == number
            weights = fit_softmax(
                fit.F,
                fit.bag,
                fit.lifts,
                fit.model.alpha,
                start=fit.model.weights,
                max_iter=self.max_iter,
                weight=~held_out,
            )
            logits[held_out] = weights.logits(fit.F[held_out])
        return logits

    def _held_out_sharpness(self, fit: SoftmaxFit, rng: np.random.Generator) -> float:
        """Return the power of the odds under which held-out instances' bags are likeliest.

        Of the powers within one standard error of the likeliest it is the one closest to 1.
        """
        log_prior = np.log(fit.prior)
        odds = log_softmax(self._cross_fit(fit, rng), axis=1) - log_prior
        near = within_one_error(
            [bag_likelihood(power * odds + log_prior, fit.bag, fit.lifts) for power in _POWERS],
            rounding=1e-9,
        )
        return min((_POWERS[i] for i in near), key=lambda power: abs(np.log(power)))


def n_repeats(n_instances: int, most: int) -> int:
    return int(np.clip(-(-_ENOUGH // max(n_instances, 1)), 1, most))


def within_one_error(likelihoods: list[Floats], rounding: float = 0.0) -> list[int]:
    """Return the candidates whose mean is within one standard error of the best one's.

    The standard error is that of the difference, over instances.
    """
    best = max(likelihoods, key=lambda likelihood: float(likelihood.mean()))
    losses = [best - likelihood for likelihood in likelihoods]
    return [
        i
        for i, loss in enumerate(losses)
        if loss.mean() <= loss.std() / np.sqrt(len(loss)) + rounding
    ]


def assign_folds(bag: Integers, n_folds: int, rng: np.random.Generator) -> Integers:
    """Return a fold for each instance; each bag is divided evenly among the folds."""
    fold, sizes = np.empty(len(bag), dtype=np.int64), np.bincount(bag)
    # Bags with fewer instances than folds are dealt together.
    small = sizes[bag] < n_folds
    fold[small] = rng.permutation(np.arange(small.sum()) % n_folds)
    for rows in np.split(np.argsort(bag, kind="stable"), np.cumsum(sizes)[:-1]):
        if len(rows) >= n_folds:
            fold[rows] = rng.permutation(np.arange(len(rows)) % n_folds)
    return fold
