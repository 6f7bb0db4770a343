"""Class ratios by classifying and counting, and features learned from bags."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin

from secretballot._sklearn_compat import Interval, StrOptions, _fit_context
from secretballot.quantification._bag_estimator import BagEstimatorMixin
from secretballot.quantification._bag_input import check_bags, feature_names, raw_bags, stack
from secretballot.quantification._bag_softmax import (
    SoftmaxWeights,
    bag_likelihood,
    fit_softmax,
    lift,
)
from secretballot.quantification._known_proportions import check_proportions
from secretballot.quantification.kernels import candidate_gammas, explicit_features, feature_table

_ALPHAS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
_MULTIPLES = (2.0, 4.0, 8.0)
#: What is chosen or held out on this many instances no longer hangs on the draw.
_ENOUGH = 2_000
_MOST_REPEATS = 5
#: Penalty and bandwidth are chosen on at most so many instances.
_MOST_CHOOSING = 20_000


class SoftmaxClassRatioEstimator(TransformerMixin, BagEstimatorMixin, BaseEstimator):
    """Train a softmax on bags with known proportions; classify, and count.

    The baseline for `MMDClassRatioEstimator`, and what learns features for it: classifying and
    counting carries the training bags' class ratios into its errors, and matching the means of the
    classifier's output does away with that ::

        make_pipeline(SoftmaxClassRatioEstimator(), MMDClassRatioEstimator(kernel="linear"))

    Parameters
    ----------
    features : {"nystroem", "rff"} or None, default="nystroem"
        Explicit features of the rbf kernel that the softmax is linear in; None for the instances'
        own.
    gamma : "held_out", "median" or float, default="held_out"
        Of the rbf kernel. "median" is one over twice the median squared distance; "held_out"
        tries 2, 4 and 8 times that, as for `alpha`.
    n_components : int, default=300
        How many explicit features.
    alpha : "held_out" or float, default="held_out"
        Penalty on the squared weights. "held_out" trains on all but one fold of every bag's
        instances, and chooses by the likelihood of the bags of the others: no label is needed.
        Where these are fewer than 2,000, further folds are held out in turn; of more than 20,000
        instances in all, a sample does.
    sharpness : float, default=4
        `transform` returns probabilities to this power, normalised: 1 are those of the penalised,
        hence timid, softmax; infinity would be one class each.
    n_folds : int, default=5
        `fit_transform` gives each instance the output of a softmax that was trained without it, so
        that class means aren't too good to be true. Of fewer than 2,000 instances, the mean over
        up to five draws of the folds.
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
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if bags are data frames with strings for names.

    See Also
    --------
    MMDClassRatioEstimator : Match means, of instances or of what this one learns.

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
        **BagEstimatorMixin._parameter_constraints,
        "alpha": [StrOptions({"held_out"}), Interval(Real, 0, None, closed="neither")],
        "sharpness": [Interval(Real, 0, None, closed="neither")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
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
        random_state: Any = None,
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
    def fit(
        self, X: Any, y: Any, *, covariance: ArrayLike | None = None
    ) -> SoftmaxClassRatioEstimator:
        """Learn from bags and their proportions.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags
        y : PublishedProportions, or array-like of shape (n_bags, n_classes)
        covariance : array-like of shape (n_bags, n_classes, n_classes), default=None
            Of the noise of the proportions; no proportion is taken to be much less than that.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer bags than classes, bags are alike, or input is not as said.
        """
        self._fit(X, y, covariance)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(
        self, X: Any, y: Any, *, covariance: ArrayLike | None = None
    ) -> list[NDArray[np.float64]]:
        """Fit, and return each instance's output by a softmax trained without it.

        Not the same as ``fit(X, y).transform(X)``, which would return what was learned by heart.

        Parameters
        ----------
        X, y, covariance
            As in `fit`.

        Returns
        -------
        list of ndarray of shape (n_instances, n_classes)
        """
        F, bag, lifts, rng = self._fit(X, y, covariance)
        out = np.zeros((len(bag), lifts.shape[1]))
        whole = SoftmaxWeights(self.coef_, self.intercept_)
        # Where instances are few, much hangs on who is in whose fold.
        repeats = _enough(len(bag), most=_MOST_REPEATS)
        for _ in range(repeats):
            fold = _folds(bag, self.n_folds, rng)
            for number in range(self.n_folds):
                rest = fold == number
                weights = fit_softmax(
                    F, bag, lifts, self.alpha_, whole, max_iter=self.max_iter, weight=~rest
                )
                out[rest] += softmax(self.sharpness * weights.logits(F[rest]), axis=1)
        return np.split(out / repeats, np.cumsum(np.bincount(bag))[:-1])

    def _fit(self, X: Any, y: Any, covariance: ArrayLike | None) -> Any:
        raw = raw_bags(X)
        bags = check_bags(raw, at_least=2)
        known = check_proportions(y, len(bags), covariance)
        known.check_separable()
        rng = np.random.default_rng(self._draw_entropy())
        self.n_features_in_, self._names = bags[0].shape[1], feature_names(raw)
        self.classes_ = known.classes
        sizes = np.array([one.shape[0] for one in bags])
        bag, stacked = np.repeat(np.arange(len(bags)), sizes), stack(bags)
        lifts = lift(known.values, sizes, known.covariance)
        entropy = int(rng.integers(2**31))
        gammas = np.array([1.0])
        if self.features is not None:
            gammas = candidate_gammas(self.gamma, _MULTIPLES, stacked, rng)
        alphas = _ALPHAS if self.alpha == "held_out" else (float(self.alpha),)
        features = explicit_features(self.features, stacked, gammas, self.n_components, entropy)
        number, self.alpha_ = 0, alphas[0]
        if len(gammas) > 1 or len(alphas) > 1:
            self.alpha_, number = self._choose(
                features, len(gammas), stacked, bag, lifts, alphas, rng
            )
        self._features, self._number = features, number
        self.gamma_ = None if self.features is None else float(gammas[number])
        F = feature_table(features, stacked, number)
        weights = fit_softmax(F, bag, lifts, self.alpha_, max_iter=self.max_iter)
        self.coef_, self.intercept_ = weights
        return F, bag, lifts, rng

    def _choose(
        self,
        features: Any,
        n_gammas: int,
        stacked: Any,
        bag: NDArray[np.int64],
        lifts: NDArray[np.float64],
        alphas: Sequence[float],
        rng: np.random.Generator,
    ) -> tuple[float, int]:
        """Return the penalty, and the number of the bandwidth, that held-out instances choose."""
        if len(bag) > _MOST_CHOOSING:
            some = np.sort(rng.choice(len(bag), _MOST_CHOOSING, replace=False))
            stacked, bag = stacked[some], bag[some]
        fold = _folds(bag, self.n_folds, rng)
        # One fold is enough where it has many instances; else all are held out in turn.
        held_out = range(_enough(len(bag) // self.n_folds, most=self.n_folds))
        tried = []
        for which in range(n_gammas):
            F = feature_table(features, stacked, which)
            found: dict[float, list[NDArray[np.float64]]] = {alpha: [] for alpha in alphas}
            for number in held_out:
                rest, weights = fold == number, None
                for alpha in alphas:  # from the largest down, each beginning at the last
                    weights = fit_softmax(
                        F, bag, lifts, alpha, weights, max_iter=self.max_iter, weight=~rest
                    )
                    likelihood = bag_likelihood(weights.logits(F[rest]), bag[rest], lifts)
                    found[alpha].append(likelihood)
            tried += [(alpha, which, np.concatenate(parts)) for alpha, parts in found.items()]
        return _most_penalised(tried)

    def _logits(self, X: Any) -> list[NDArray[np.float64]]:
        bags = self._check_like_fit(X)
        weights = SoftmaxWeights(self.coef_, self.intercept_)
        return [weights.logits(feature_table(self._features, bag, self._number)) for bag in bags]

    def transform(self, X: Any) -> list[NDArray[np.float64]]:
        """Return the sharpened class probabilities of each bag's instances.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags

        Returns
        -------
        list of ndarray of shape (n_instances, n_classes)
        """
        return [softmax(self.sharpness * logits, axis=1) for logits in self._logits(X)]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each bag's instances that is classified as each class.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
        """
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        return np.array(
            [
                np.bincount(logits.argmax(axis=1), minlength=n_classes) / len(logits)
                for logits in self._logits(X)
            ]
        )


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


def _enough(n_instances: int, most: int) -> int:
    """Return how often to repeat what looks at some instances, so that it looks at enough."""
    return int(np.clip(-(-_ENOUGH // max(n_instances, 1)), 1, most))


def _folds(bag: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a fold for each instance, with as many of every bag in each as can be."""
    fold = np.empty(len(bag), dtype=np.int64)
    for number in range(int(bag.max()) + 1):
        rows = np.flatnonzero(bag == number)
        fold[rows] = rng.permutation(np.arange(len(rows)) % n_folds)
    return fold
