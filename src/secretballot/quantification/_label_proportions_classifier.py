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
from secretballot.quantification._bag_estimator import BagEstimatorMixin
from secretballot.quantification._bag_ids import ids_of_instances
from secretballot.quantification._bag_input import check_bags, raw_bags, stack
from secretballot.quantification._bag_softmax import lift, likely_proportions
from secretballot.quantification._bags import Bags
from secretballot.quantification._known_proportions import (
    SUM_TOLERANCE,
    KnownProportions,
    check_proportions,
    proportions_by_id,
)
from secretballot.quantification._softmax_model import train_softmax
from secretballot.quantification._unsaid_noise import warn_of_noise


class LabelProportionsClassifier(ClassifierMixin, BaseEstimator):
    """Classify instances, having learned from bags of which only label proportions are known.

    No label is seen. Which bag an instance is in stands for it: given its class, an instance's
    features are taken to say nothing about its bag, so that every instance has its own term in the
    likelihood, and bags whose proportions differ tell the classes apart. Where bags are groups in
    which the same class looks different this fails, and nothing in the fit shows it.

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
    n_folds : int, default=5
        One of them is held out.
    max_iter : int, default=200
        Steps of L-BFGS.
    random_state : int, RandomState or None, default=None
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
    n_iter_ : int
        Steps of L-BFGS that were taken.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
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
        n_folds: int = 5,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.gamma = gamma
        self.n_components = n_components
        self.alpha = alpha
        self.n_folds = n_folds
        self.max_iter = max_iter
        self.random_state = random_state

    _draw_entropy = BagEstimatorMixin._draw_entropy

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
        """
        if bag_ids is None:
            X, bag, known = self._bags(X, proportions, covariance)
        else:
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
            _required(proportions)
            names, bag = ids_of_instances("bag_ids", bag_ids, X.shape[0])
            known = proportions_by_id(proportions, names, covariance, unused="drop")
        if known.covariance is None:
            warn_of_noise(known.values)
        known.check_separable()
        try:
            classes = np.unique(known.classes)
        except TypeError as error:
            raise ValueError(f"classes must be of one kind, to be put in order: {error}") from error
        known = known.in_order(classes)
        rng = np.random.default_rng(self._draw_entropy())
        sizes = np.bincount(bag)
        model, _ = train_softmax(
            X,
            bag,
            lift(known.values, sizes, known.covariance),
            features=self.features,
            gamma=self.gamma,
            n_components=self.n_components,
            alpha=self.alpha,
            n_folds=self.n_folds,
            max_iter=self.max_iter,
            rng=rng,
        )
        likely = likely_proportions(known.values, sizes, known.covariance)
        self.classes_, self.class_prior_ = classes, sizes @ likely / sizes.sum()
        self._model, self.gamma_, self.alpha_ = model, model.gamma, model.alpha
        self.coef_, self.intercept_ = model.weights
        self.n_iter_ = model.n_iter
        return self

    def _bags(
        self, X: Any, proportions: Any, covariance: ArrayLike | None
    ) -> tuple[Any, NDArray[np.int64], KnownProportions]:
        """Return bags under each other, which bag each instance is in, and the proportions."""
        if getattr(X, "ndim", None) == 2:
            raise ValueError(
                "X is one table of instances, and bag_ids is missing: give the id of each "
                "instance's bag, or a list of tables, one for each bag. (In a pipeline or a "
                "search, route it: set_fit_request(bag_ids=True, proportions=True).)"
            )
        _required(proportions)
        raw = raw_bags(X)
        bags = check_bags(raw)
        validate_data(self, raw[0], skip_check_array=True)
        sizes = np.array([one.shape[0] for one in bags])
        names = X.names if isinstance(X, Bags) else None
        known = check_proportions(proportions, len(bags), covariance, names=names)
        return stack(bags), np.repeat(np.arange(len(bags)), sizes), known

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
            Class ratios of the group that `X` is from, in the order of `classes_`; or of each
            instance's group; or, with `bag_ids`, a table keyed by id as the proportions in `fit`.
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
        wanted = self._ratios(ratios, bag_ids, len(logits))
        with np.errstate(divide="ignore"):  # a class that is not there has no probability
            shift = np.log(wanted) - np.log(self.class_prior_)
        return np.asarray(softmax(log_softmax(logits, axis=1) + shift, axis=1))

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

    def _ratios(self, ratios: Any, bag_ids: Any, n_instances: int) -> NDArray[np.float64]:
        """Return class ratios for all instances, of shape (n_instances or 1, n_classes)."""
        n_classes = len(self.classes_)
        if bag_ids is not None:
            names, bag = ids_of_instances("bag_ids", bag_ids, n_instances)
            known = proportions_by_id(ratios, names, unused="drop").in_order(self.classes_)
            return np.maximum(known.values, 0)[bag]
        try:
            wanted = np.atleast_2d(np.asarray(ratios, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(
                "ratios must be numbers, for one group or for each instance; a table keyed by id "
                f"needs bag_ids ({error})."
            ) from error
        if wanted.shape not in ((1, n_classes), (n_instances, n_classes)):
            raise ValueError(
                f"ratios has shape {np.shape(ratios)}; give {n_classes} of them, in the order of "
                f"classes_, or {n_classes} for each of {n_instances} instances."
            )
        fair = (wanted >= 0).all(axis=1) & (np.abs(wanted.sum(axis=1) - 1) <= SUM_TOLERANCE)
        if not fair.all():
            raise ValueError(
                f"ratios has the row {wanted[np.argmin(fair)].tolist()}: they must not be negative "
                "and must sum to 1."
            )
        return wanted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.sparse = True
        return tags


def _required(proportions: Any) -> None:
    if proportions is None:
        raise ValueError(
            "fit needs the proportions of the bags: a data frame or series whose index is the "
            "bags' ids, a mapping {id: row}, or PublishedProportions. (In a pipeline or a search, "
            "route them: set_fit_request(bag_ids=True, proportions=True).)"
        )
