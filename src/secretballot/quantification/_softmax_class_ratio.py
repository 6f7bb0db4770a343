"""Class ratios by classifying and counting, and features learned from bags.

Theory: docs/theory/class-ratios.md, "Softmax on bags".
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from secretballot._base._sklearn_compat import Interval, StrOptions, _fit_context
from secretballot.quantification._bag_ids import (
    BagSequence,
    Floats,
    Instances,
    Integers,
    Matrix,
    ProportionsTable,
    RandomState,
)
from secretballot.quantification._bags import Bags, bag_numbers, replace_instances, stack_bags
from secretballot.quantification._class_ratio_mixin import (
    ClassRatioMixin,
    draw_seed,
    read_training_bags,
)
from secretballot.quantification._kernels import ExplicitFeatures, candidate_gammas
from secretballot.quantification._label_proportions import LabelProportions

#: Instances in a block: some hundred features of each fit a core's cache.
_BLOCK_ROWS = 2048
#: Penalties that are tried, and bandwidths as multiples of the median heuristic.
_ALPHAS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
_MULTIPLES = (2.0, 4.0, 8.0)
#: Held-out instances from which on a choice no longer depends on the draw of the folds.
_ENOUGH = 2_000
#: Most instances on which penalty and bandwidth are chosen.
_MOST_CHOOSING = 20_000
#: Powers of the odds that are tried.
_POWERS = tuple(float(2 ** (half / 2)) for half in range(-2, 9))
#: Most draws of the folds.
_MOST_REPEATS = 5


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


class SoftmaxModel(NamedTuple):
    """A trained softmax."""

    features: ExplicitFeatures
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
        features = ExplicitFeatures(self.features, X, gammas, self.n_components, seed)
        number, alpha = 0, alphas[0]
        if len(gammas) > 1 or len(alphas) > 1:
            number, alpha = self._choose(features, alphas, X, bag, lifts, rng)
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
        features: ExplicitFeatures,
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
        for number in features.numbers:
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


class SoftmaxClassRatioEstimator(BagSoftmaxMixin, TransformerMixin, ClassRatioMixin, BaseEstimator):
    """Class ratios by a softmax trained on bags: classify and count.

    A baseline for `MMDClassRatioEstimator`, and a transformer that learns features for it.
    Counting carries the training bags' class ratios into its errors; matching means does not ::

        make_pipeline(SoftmaxClassRatioEstimator(), MMDClassRatioEstimator(kernel="linear"))

    Parameters
    ----------
    features : {"nystroem", "rff"} or None, default="nystroem"
        Explicit features of the rbf kernel; None takes the instances as they are.
    gamma : "held_out", "median" or float, default="held_out"
        Of the rbf kernel. "median" is one over twice the median squared distance; "held_out"
        chooses among 2, 4 and 8 times that, as for `alpha`.
    n_components : int, default=300
        Number of explicit features.
    alpha : "held_out" or float, default="held_out"
        Penalty on the squared weights. "held_out" chooses by the likelihood of the bags of a fold
        of instances (of several, below 2,000 in a fold; of a sample, above 20,000 in all).
    sharpness : float, default=4
        `transform` returns probabilities to this power, normalised: a penalised softmax is
        underconfident.
    n_folds : int, default=5
        `fit_transform` gives each instance the output of a softmax that was trained without its
        fold; of fewer than 2,000 instances, the mean over up to five draws of the folds.
    max_iter : int, default=200
        Steps of L-BFGS.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_components, n_classes)
    intercept_ : ndarray of shape (n_classes,)
    alpha_ : float
        The penalty in use.
    gamma_ : float or None
        The bandwidth in use.
    n_iter_ : int
        Steps of L-BFGS that were taken.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if bags are data frames with strings for names.

    See Also
    --------
    MMDClassRatioEstimator : Class ratios by matching means, also of this estimator's output.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from secretballot.quantification import (
    ...     MMDClassRatioEstimator, SoftmaxClassRatioEstimator
    ... )
    >>> rng = np.random.default_rng(0)
    >>> def bag(n_positive, n_negative):
    ...     return np.r_[rng.normal(1.5, 1, (n_positive, 3)), rng.normal(0, 1, (n_negative, 3))]
    >>> bags, proportions = [bag(120, 480), bag(420, 180)], [[0.2, 0.8], [0.7, 0.3]]
    >>> counted = SoftmaxClassRatioEstimator(random_state=0).fit(bags, proportions)
    >>> group = bag(475, 25)  # .95 and .05
    >>> matched = make_pipeline(counted, MMDClassRatioEstimator(kernel="linear", random_state=0))
    >>> np.abs(matched.fit(bags, proportions).predict([group]) - [0.95, 0.05]).sum() < 0.1
    np.True_
    """

    _parameter_constraints = {
        **BagSoftmaxMixin._parameter_constraints,
        "sharpness": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        features: str | None = "nystroem",
        gamma: str | float = "held_out",
        n_components: int = 300,
        alpha: str | float = "held_out",
        *,
        sharpness: float = 4.0,
        n_folds: int = 5,
        max_iter: int = 200,
        random_state: RandomState = None,
    ) -> None:
        self.features = features
        self.gamma = gamma
        self.n_components = n_components
        self.alpha = alpha
        self.sharpness = sharpness
        self.n_folds = n_folds
        self.max_iter = max_iter
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(
        self, X: BagSequence, y: ProportionsTable, *, covariance: ArrayLike | None = None
    ) -> Bags | list[Instances]:
        """Fit, and return each instance's output by a softmax trained without it.

        The output of ``fit(X, y).transform(X)`` is overfitted.

        Parameters
        ----------
        X, y, covariance
            As in `fit`.

        Returns
        -------
        list of ndarray of shape (n_instances, n_classes), or Bags if `X` is that
        """
        fit, rng = self._fit(X, y, covariance)
        # With few instances, outputs depend on the draw of the folds.
        repeats = n_repeats(len(fit.bag), most=_MOST_REPEATS)
        outputs = np.zeros((len(fit.bag), len(fit.prior)))
        for _ in range(repeats):
            outputs += softmax(self.sharpness * self._cross_fit(fit, rng), axis=1)
        ends = np.cumsum(np.bincount(fit.bag))[:-1]
        return replace_instances(X, np.split(outputs / repeats, ends))

    def _fit(
        self, X: BagSequence, y: ProportionsTable, covariance: ArrayLike | None
    ) -> tuple[SoftmaxFit, np.random.Generator]:
        first_bag, bags, proportions = read_training_bags(X, y, covariance)
        proportions.check_full_rank()
        rng = np.random.default_rng(draw_seed(self.random_state))
        validate_data(self, first_bag, skip_check_array=True)
        fit = self._train(stack_bags(bags), bag_numbers(bags), proportions, rng)
        self._set_model(fit.model, proportions.classes)
        return fit, rng

    def _logits(self, X: BagSequence) -> list[Floats]:
        return [self._model.logits(bag) for bag in self._check_bags_like_fit(X)]

    def transform(self, X: BagSequence) -> Bags | list[Instances]:
        """Return the sharpened class probabilities of each bag's instances.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags

        Returns
        -------
        list of ndarray of shape (n_instances, n_classes), or Bags if `X` is that
        """
        logits = self._logits(X)
        return replace_instances(X, [softmax(self.sharpness * bag, axis=1) for bag in logits])

    def predict(self, X: BagSequence) -> Floats:
        """Return the share of each bag's instances that is classified as each class.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
        """
        logits = self._logits(X)
        return np.array(
            [
                np.bincount(bag.argmax(axis=1), minlength=len(self.classes_)) / len(bag)
                for bag in logits
            ]
        )
