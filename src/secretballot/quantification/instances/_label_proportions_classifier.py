"""A classifier of instances that learns from the label proportions of bags."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from secretballot._sklearn_compat import Interval, StrOptions, _fit_context
from secretballot.quantification._bag_estimator import BagEstimatorMixin, draw_entropy
from secretballot.quantification._bag_ids import ids_of_instances
from secretballot.quantification._bag_input import names_of
from secretballot.quantification._bag_softmax import lift, likely_proportions
from secretballot.quantification._known_proportions import proportions_by_id
from secretballot.quantification._softmax_model import held_out_sharpness, train_softmax
from secretballot.quantification.instances._bag_information import bag_information
from secretballot.quantification.instances._prior_shift import ratios_of_instances, shifted
from secretballot.quantification.instances._proportion_loss import match_proportions
from secretballot.quantification.instances._training_bags import (
    keyed,
    mostly_noise,
    separate_bags,
    stacked,
)


class LabelProportionsClassifier(ClassifierMixin, BaseEstimator):
    """Classify instances, having learned from bags of which only label proportions are known.

    No label is seen. Which bag an instance is in stands for it: given its class, an instance's
    features are taken to say nothing about its bag, so that every instance has its own term in the
    likelihood, and bags whose proportions differ tell the classes apart. In bags that are real
    groups the same class may look different: that is tested, and each bag's mean probabilities
    are matched with its proportions instead.

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
    loss : {"auto", "likelihood", "proportion"}, default="auto"
        "likelihood" is that of the instances' bags; "proportion" is the usual loss, half the
        squared distance of mean probabilities from proportions. "auto" takes the likelihood,
        unless features tell more of the bag than labels could (`bag_information_`).
    sharpness : "held_out" or float, default="held_out"
        Power that probabilities are taken to, relative to `class_prior_`: those of a penalised
        softmax are timid. "held_out" chooses it by the likelihood of the bags of instances that
        were not trained on, all folds in turn; 1 leaves them as they are, and so does the loss
        "proportion".
    n_folds : int, default=5
    max_iter : int, default=200
        Steps of L-BFGS.
    random_state : int, Generator, RandomState or None, default=None
        For folds, landmarks and random features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted, whatever the order of the columns of the proportions.
    class_prior_ : ndarray of shape (n_classes,)
        The class ratios of all training instances together, which probabilities are for.
    coef_ : ndarray of shape (n_components, n_classes)
    intercept_ : ndarray of shape (n_classes,)
    alpha_ : float
        The penalty in use.
    gamma_ : float or None
        The bandwidth in use.
    loss_ : {"likelihood", "proportion"}
        The loss in use.
    bag_information_ : BagInformation or None
        What features tell of the bag, and what labels could; None if `loss` was given.
    sharpness_ : float
        The power in use; `coef_` and `intercept_` have it in them.
    n_iter_ : int
        Steps of L-BFGS that were taken.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` has names that are strings.

    See Also
    --------
    align_bags : Bags and proportions that are aligned by name.
    SoftmaxClassRatioEstimator : The same softmax, where it is class ratios that are wanted.
    publish_proportions : Private proportions to learn from.

    Notes
    -----
    With P the proportions and q the class ratios overall, p(bag i | x) is proportional to the sum
    over classes y of p(y | x) P_iy / q_y. For a group with the class ratios r, p(y | x) is
    multiplied by r_y / q_y and normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import LabelProportionsClassifier
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(["April", "May"], 300)
    >>> ill = rng.random(600) < np.repeat([0.2, 0.7], 300)  # not seen by the classifier
    >>> X = rng.normal(size=(600, 2)) + 2.5 * ill[:, None]
    >>> model = LabelProportionsClassifier(random_state=0)
    >>> model = model.fit(X, bag_ids=month, proportions={"April": 0.2, "May": 0.7})
    >>> bool(model.score(X, ill) > 0.94)
    True
    >>> model.predict_proba([[1.25, 1.25]], ratios=[0.99, 0.01]).round(1)
    array([[1., 0.]])
    """

    _parameter_constraints = {
        **BagEstimatorMixin._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [StrOptions({"held_out"}), Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"auto", "likelihood", "proportion"})],
        "sharpness": [StrOptions({"held_out"}), Interval(Real, 0, None, closed="neither")],
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
        loss: str = "auto",
        sharpness: str | float = "held_out",
        n_folds: int = 5,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.gamma = gamma
        self.n_components = n_components
        self.alpha = alpha
        self.loss = loss
        self.sharpness = sharpness
        self.n_folds = n_folds
        self.max_iter = max_iter
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        bag_ids: ArrayLike | None = None,
        proportions: Any = None,
        covariance: ArrayLike | None = None,
    ) -> LabelProportionsClassifier:
        """Learn from instances, the bags they are in, and the proportions of those.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features), CSR matrix or data frame
            Instances of all bags, in any order. Without `bag_ids`: a sequence of such tables, one
            for each bag, or Bags.
        y : ignored
            Labels are never looked at; a search passes them, to score with.
        bag_ids : array-like of shape (n_instances,), default=None
            Which bag each instance is in.
        proportions : PublishedProportions, data frame, series or mapping
            Keyed by id: the names of `PublishedProportions`, the index of a data frame (columns
            are classes) or of a series (shares of the second of two classes), or the keys of a
            mapping, to such rows or shares. Rows of bags without instances are left out, so that
            the whole table can go with a part of the instances. Without `bag_ids` also an array,
            a row for each bag.
        covariance : array-like of shape (n_rows, n_classes, n_classes), default=None
            Of the noise of each row of `proportions`; taken from `PublishedProportions`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer bags than classes, bags are alike, an id has no proportions, or
            input is not as said.

        Warns
        -----
        UserWarning
            If bags differ by more than their classes, or by no more than the noise of their
            proportions; or if proportions show to be noisy and nothing was said of it.
        """
        if bag_ids is None:
            raw, names = separate_bags(X), names_of(X)
            X, bag, known = stacked(raw, names, proportions, covariance)
            validate_data(self, raw[0], skip_check_array=True)
        else:
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
            bag, known = keyed(X, bag_ids, proportions, covariance)
        rng = np.random.default_rng(draw_entropy(self.random_state))
        sizes = np.bincount(bag)
        unsure = mostly_noise(known, sizes)
        lifts = lift(known.values, sizes, known.covariance)
        likely = likely_proportions(known.values, sizes, known.covariance)
        prior = sizes @ likely / sizes.sum()
        steps = {"n_folds": self.n_folds, "max_iter": self.max_iter, "rng": rng}
        model, F = train_softmax(
            X,
            bag,
            lifts,
            features=self.features,
            gamma=self.gamma,
            n_components=self.n_components,
            alpha=self.alpha,
            **steps,
        )
        self.loss_, self.bag_information_, self.sharpness_ = self.loss, None, 1.0
        if self.loss == "auto":
            found = bag_information(F, bag, known, alpha=model.alpha, **steps)
            self.bag_information_ = found
            self.loss_ = "proportion" if found.differ_otherwise() else "likelihood"
            if self.loss_ == "proportion":
                found.warn()
        if self.loss_ == "proportion":
            shares = np.maximum(known.values, 0)
            weights, alpha = match_proportions(F, bag, shares, alpha=self.alpha, **steps)
            model = model._replace(weights=weights, alpha=alpha)
        elif self.sharpness != "held_out":
            self.sharpness_ = float(self.sharpness)
        elif not unsure:  # held-out instances have the same wrong proportions
            self.sharpness_ = held_out_sharpness(model, F, bag, lifts, prior, **steps)
        model = model.sharpened(self.sharpness_, prior)
        self.classes_, self.class_prior_ = known.classes, prior
        self._model, self.gamma_, self.alpha_ = model, model.gamma, model.alpha
        self.coef_, self.intercept_, self.n_iter_ = model.weights
        return self

    def _logits(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        kinds = [np.float64, np.float32]
        X = validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=False)
        return self._model.logits(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return log probabilities up to a constant for each instance.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features), CSR matrix or data frame

        Returns
        -------
        ndarray of shape (n_instances, n_classes), or (n_instances,)
            Of two classes, the log odds of the second.
        """
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits

    def predict_proba(
        self, X: Any, *, ratios: Any = None, bag_ids: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each class for each instance.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features), CSR matrix or data frame
        ratios : array-like of shape (n_classes,) or (n_instances, n_classes), or a table, \
default=None
            Class ratios of the group that `X` is from, in the order of `classes_` unless a series,
            a mapping or the columns of a data frame name the classes; or of each instance's group;
            or, with `bag_ids`, a table keyed by id as the proportions in `fit`.
            None: those of all training instances together, `class_prior_`.
        bag_ids : array-like of shape (n_instances,), default=None
            Which row of `ratios` is for which instance.

        Returns
        -------
        ndarray of shape (n_instances, n_classes)
        """
        logits = self._logits(X)
        if ratios is None and bag_ids is not None:
            raise ValueError("bag_ids says whose ratios are whose; give ratios too.")
        if ratios is None:
            return np.asarray(softmax(logits, axis=1))
        wanted = ratios_of_instances(ratios, bag_ids, len(logits), self.classes_)
        return shifted(logits, self.class_prior_, wanted)

    def predict(
        self, X: Any, *, ratios: Any = None, bag_ids: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Return the most probable class of each instance.

        Parameters
        ----------
        X, ratios, bag_ids
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_instances,)
        """
        found = self.predict_proba(X, ratios=ratios, bag_ids=bag_ids)
        return np.asarray(self.classes_[found.argmax(axis=1)])

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        bag_ids: ArrayLike | None = None,
        proportions: Any = None,
        covariance: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy; without labels, how well bags are told apart.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features), CSR matrix or data frame
        y : array-like of shape (n_instances,), default=None
            Labels. Where they are given nothing but accuracy is scored.
        sample_weight : array-like of shape (n_instances,), default=None
        bag_ids, proportions, covariance
            As in `fit`. Without `y` the score is the mean over instances of
            log p(bag | x) - log p(bag), in nats: 0 for a classifier that knows nothing, and more
            is better. Choose settings by it on instances that were held out: by `GridSearchCV`
            with ``set_score_request(bag_ids=True, proportions=True)``, metadata routing and no y.

        Returns
        -------
        float
        """
        if y is not None:
            return float(super().score(X, y, sample_weight))
        if bag_ids is None or proportions is None:
            raise ValueError(
                "score takes labels, y, or else bag_ids and proportions. (In a search without "
                "labels, route them: set_score_request(bag_ids=True, proportions=True) and "
                "sklearn.set_config(enable_metadata_routing=True).)"
            )
        log_p = log_softmax(self._logits(X), axis=1)
        names, bag = ids_of_instances("bag_ids", bag_ids, len(log_p))
        known = proportions_by_id(proportions, names, covariance, unused="drop")
        known = known.in_order(self.classes_)
        likely = likely_proportions(known.values, np.bincount(bag), known.covariance)
        told = np.log((np.exp(log_p) * (likely / self.class_prior_)[bag]).sum(axis=1))
        return float(np.average(told, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.sparse = True
        return tags
