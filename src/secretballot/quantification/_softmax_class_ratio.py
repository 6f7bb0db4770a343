"""Class ratios by classifying and counting, and features learned from bags."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from secretballot._base._sklearn_compat import Interval, _fit_context
from secretballot.quantification._bag_input import bag_numbers, replace_instances, stack_bags
from secretballot.quantification._bag_types import (
    BagSequence,
    Floats,
    Instances,
    ProportionsTable,
    RandomState,
)
from secretballot.quantification._bags import Bags
from secretballot.quantification._class_ratio_mixin import (
    ClassRatioMixin,
    draw_seed,
    read_training_bags,
)
from secretballot.quantification._softmax_model import BagSoftmaxMixin, SoftmaxFit, n_repeats

_MOST_REPEATS = 5


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
