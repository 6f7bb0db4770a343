"""Class ratios by classifying and counting, and features learned from bags."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin

from secretballot._sklearn_compat import Interval, StrOptions, _fit_context
from secretballot.quantification._bag_estimator import BagEstimatorMixin, draw_entropy
from secretballot.quantification._bag_input import (
    check_bags,
    feature_names,
    like,
    names_of,
    raw_bags,
    stack,
)
from secretballot.quantification._bag_softmax import fit_softmax, lift
from secretballot.quantification._known_proportions import check_proportions
from secretballot.quantification._softmax_model import enough, folds, train_softmax

_MOST_REPEATS = 5


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
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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
    def fit_transform(self, X: Any, y: Any, *, covariance: ArrayLike | None = None) -> Any:
        """Fit, and return each instance's output by a softmax trained without it.

        Not the same as ``fit(X, y).transform(X)``, which would return what was learned by heart.

        Parameters
        ----------
        X, y, covariance
            As in `fit`.

        Returns
        -------
        list of ndarray of shape (n_instances, n_classes), or Bags if `X` is that
        """
        F, bag, lifts, rng = self._fit(X, y, covariance)
        out = np.zeros((len(bag), lifts.shape[1]))
        whole = self._model.weights
        # Where instances are few, much hangs on who is in whose fold.
        repeats = enough(len(bag), most=_MOST_REPEATS)
        for _ in range(repeats):
            fold = folds(bag, self.n_folds, rng)
            for number in range(self.n_folds):
                rest = fold == number
                weights = fit_softmax(
                    F, bag, lifts, self.alpha_, whole, max_iter=self.max_iter, weight=~rest
                )
                out[rest] += softmax(self.sharpness * weights.logits(F[rest]), axis=1)
        return like(X, np.split(out / repeats, np.cumsum(np.bincount(bag))[:-1]))

    def _fit(self, X: Any, y: Any, covariance: ArrayLike | None) -> Any:
        raw = raw_bags(X)
        bags = check_bags(raw, at_least=2)
        sizes = np.array([one.shape[0] for one in bags])
        known = check_proportions(y, len(bags), covariance, names=names_of(X), sizes=sizes)
        known.check_separable()
        rng = np.random.default_rng(draw_entropy(self.random_state))
        self.n_features_in_ = bags[0].shape[1]
        self._take_names(feature_names(raw))
        self.classes_ = known.classes
        bag, stacked = np.repeat(np.arange(len(bags)), sizes), stack(bags)
        lifts = lift(known.values, sizes, known.covariance)
        model, F = train_softmax(
            stacked,
            bag,
            lifts,
            features=self.features,
            gamma=self.gamma,
            n_components=self.n_components,
            alpha=self.alpha,
            n_folds=self.n_folds,
            max_iter=self.max_iter,
            rng=rng,
        )
        self._model, self.gamma_, self.alpha_ = model, model.gamma, model.alpha
        self.coef_, self.intercept_, _ = model.weights
        return F, bag, lifts, rng

    def _logits(self, X: Any) -> list[NDArray[np.float64]]:
        return [self._model.logits(bag) for bag in self._check_like_fit(X)]

    def transform(self, X: Any) -> Any:
        """Return the sharpened class probabilities of each bag's instances.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags

        Returns
        -------
        list of ndarray of shape (n_instances, n_classes), or Bags if `X` is that
        """
        return like(X, [softmax(self.sharpness * logits, axis=1) for logits in self._logits(X)])

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
