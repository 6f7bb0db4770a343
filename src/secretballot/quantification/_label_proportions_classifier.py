"""Classifier of instances, trained on the label proportions of bags."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_softmax, rel_entr, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import Interval, StrOptions, _fit_context
from secretballot.quantification._bag_ids import (
    BagSequence,
    Floats,
    Instances,
    Integers,
    Matrix,
    ProportionsTable,
    RandomState,
    is_frame,
)
from secretballot.quantification._bags import (
    bag_names,
    bag_numbers,
    check_bags,
    check_magnitude,
    list_bags,
    no_texts,
    stack_bags,
)
from secretballot.quantification._class_ratio_mixin import draw_seed
from secretballot.quantification._label_proportions import (
    SUM_TOLERANCE,
    LabelProportions,
    check_proportions,
    class_columns,
    proportions_by_id,
    warn_of_unstated_noise,
)
from secretballot.quantification._softmax_class_ratio import (
    BagSoftmaxMixin,
    SoftmaxFit,
    SoftmaxWeights,
    assign_folds,
    bag_likelihood,
    fit_softmax,
    likely_proportions,
    minimise,
)
from secretballot.tables._frames import dense_columns, validate_columns
from secretballot.tables._table_checks import check_row_order

#: Default penalty of the loss "proportion".
_MATCHING_ALPHA = 1e-4
#: Most instances in the test of the bags, and most bags; further bags are merged.
_MOST_INSTANCES = 5000
_MOST_BAGS = 20
_NORMAL_99 = 2.326
#: Draws of proportions with their noise.
_NOISE_DRAWS = 200


class LabelProportionsClassifier(BagSoftmaxMixin, ClassifierMixin, BaseEstimator):
    """Classifier of instances, trained on bags of which only label proportions are known.

    Given its class, an instance's features are assumed to be independent of its bag. Then every
    instance has its own term in the likelihood of the bags, and bags whose proportions differ tell
    the classes apart. In real groups a class may look different from bag to bag: that is tested,
    and then each bag's mean probabilities are matched with its proportions instead.

    Parameters
    ----------
    features : {"nystroem", "rff"} or None, default="nystroem"
        Explicit features of the rbf kernel; None takes the instances as they are.
    gamma : "held_out", "median" or float, default="held_out"
        Bandwidth of the rbf kernel. "median" is one over twice the median squared distance;
        "held_out" chooses among 2, 4 and 8 times that, as for `alpha`.
    n_components : int, default=300
        Number of explicit features.
    alpha : "held_out" or float, default="held_out"
        Penalty on the squared weights. "held_out" chooses by the likelihood of the bags of held-out
        instances; for the loss "proportion" it is 1e-4.
    loss : {"auto", "likelihood", "proportion"}, default="auto"
        Likelihood of the instances' bags, or half the squared distance of mean probabilities from
        proportions. "auto": the likelihood, unless features have more information about the bag
        than labels (`bag_information_`).
    sharpness : "held_out" or float, default="held_out"
        Power of the odds relative to `class_prior_`: a penalised softmax is underconfident.
        "held_out" chooses it like `alpha`, all folds in turn; with the loss "proportion" it is 1.
    n_folds : int, default=5
    max_iter : int, default=200
        Steps of L-BFGS.
    random_state : int, Generator, RandomState or None, default=None
        Seed of folds, landmarks and random features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted, whatever the order of the columns of the proportions.
    class_prior_ : ndarray of shape (n_classes,)
        Class ratios of all training instances: the default `ratios` of `predict_proba`.
    coef_ : ndarray of shape (n_components, n_classes)
    intercept_ : ndarray of shape (n_classes,)
    alpha_ : float
        The penalty in use.
    gamma_ : float or None
        The bandwidth in use.
    loss_ : {"likelihood", "proportion"}
        The loss in use.
    bag_information_ : BagInformation or None
        Information of features and of labels about the bag; None unless `loss` is "auto".
    sharpness_ : float
        The power in use; `coef_` and `intercept_` include it.
    n_iter_ : int
        Steps of L-BFGS that were taken.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` has names that are strings.

    See Also
    --------
    Bags.align : Bags and proportions aligned by name.
    SoftmaxClassRatioEstimator : The same softmax, for class ratios.
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
        **BagSoftmaxMixin._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions({"auto", "likelihood", "proportion"})],
        "sharpness": [StrOptions({"held_out"}), Interval(Real, 0, None, closed="neither")],
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
        random_state: RandomState = None,
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
        X: Instances | BagSequence,
        y: ArrayLike | None = None,
        *,
        bag_ids: ArrayLike | None = None,
        proportions: ProportionsTable | None = None,
        covariance: ArrayLike | None = None,
    ) -> LabelProportionsClassifier:
        """Learn from instances, their bags, and the proportions of these.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features), CSR matrix or data frame
            Instances of all bags, in any order. Without `bag_ids`: a sequence of such tables, one
            for each bag, or Bags.
        y : ignored
            Labels are not used; a search passes them, to score with.
        bag_ids : array-like of shape (n_instances,), default=None
            The bag of each instance.
        proportions : PublishedProportions, data frame, series or mapping
            Keyed by id, as for `Bags.align`: names, index, or keys. Rows of bags without instances
            are left out. Without `bag_ids` also an array, a row for each bag.
        covariance : array-like of shape (n_rows, n_classes, n_classes), default=None
            Of the noise of each row of `proportions`; taken from `PublishedProportions`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer bags than classes, bags are alike, an id has no proportions, or
            input is malformed.

        Warns
        -----
        UserWarning
            If bags differ by more than their classes, or by no more than the noise of their
            proportions; or if proportions look noisy and have no covariance.
        """
        if proportions is None:
            raise ValueError(
                "fit needs the proportions of the bags: a data frame or series whose index is the "
                "bags' ids, a mapping {id: row}, or PublishedProportions. (In a pipeline or a "
                "search, route them: set_fit_request(bag_ids=True, proportions=True).)"
            )
        if bag_ids is None:
            first, X, bag, bag_proportions = read_bags(X, proportions, covariance)
            validate_data(self, first, skip_check_array=True)
        else:
            check_row_order("bag_ids", bag_ids, X)
            with no_texts():
                X = validate_data(
                    self, dense_columns(X), accept_sparse="csr", dtype=[np.float64, np.float32]
                )
            check_magnitude("X", X, "StandardScaler()")
            bag, by_bag = proportions_by_id(proportions, bag_ids, X.shape[0], covariance)
            bag_proportions = check_learnable(by_bag)
        rng = np.random.default_rng(draw_seed(self.random_state))
        mostly_noise = is_mostly_noise(bag_proportions, np.bincount(bag))
        fit = self._train(X, bag, bag_proportions, rng)
        model, prior = fit.model, fit.prior
        self.loss_, self.bag_information_, self.sharpness_ = self.loss, None, 1.0
        if self.loss == "auto":
            information = measure_bag_information(
                fit, bag_proportions, self.n_folds, self.max_iter, rng
            )
            self.bag_information_, self.loss_ = information, "likelihood"
            if information.violates_independence:
                self.loss_ = "proportion"
                information.warn()
        if self.loss_ == "proportion":
            alpha = _MATCHING_ALPHA if isinstance(self.alpha, str) else float(self.alpha)
            weights = match_proportions(fit.F, bag, bag_proportions.values, alpha, self.max_iter)
            model = model._replace(weights=weights, alpha=alpha)
        elif not isinstance(self.sharpness, str):
            self.sharpness_ = float(self.sharpness)
        elif not mostly_noise:  # held-out instances have the same wrong proportions
            self.sharpness_ = self._held_out_sharpness(fit, rng)
        model = model.sharpened(self.sharpness_, prior)
        self._set_model(model, bag_proportions.classes)
        self.class_prior_ = prior
        return self

    def _logits(self, X: Instances) -> Floats:
        check_is_fitted(self)
        kinds = [np.float64, np.float32]
        with no_texts():
            X = validate_columns(self, dense_columns(X), accept_sparse="csr", dtype=kinds)
        return self._model.logits(X)

    def decision_function(self, X: Instances) -> Floats:
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
        self,
        X: Instances,
        *,
        ratios: ProportionsTable | None = None,
        bag_ids: ArrayLike | None = None,
    ) -> Floats:
        """Return the probability of each class for each instance.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features), CSR matrix or data frame
        ratios : array-like of shape (n_classes,) or (n_instances, n_classes), or a table, \
default=None
            Class ratios of the group that `X` is from, in the order of `classes_` unless they are
            keyed by class; or of each instance's group; or, with `bag_ids`, a table as the
            proportions in `fit`. None: `class_prior_`.
        bag_ids : array-like of shape (n_instances,), default=None
            The row of `ratios` that is for each instance.

        Returns
        -------
        ndarray of shape (n_instances, n_classes)
        """
        check_row_order("bag_ids", bag_ids, X)
        logits = self._logits(X)
        if ratios is None and bag_ids is not None:
            raise ValueError("bag_ids selects rows of ratios; give ratios too.")
        if ratios is None:
            return np.asarray(softmax(logits, axis=1))
        by_instance = instance_ratios(ratios, bag_ids, len(logits), self.classes_)
        with np.errstate(divide="ignore"):  # a ratio of 0
            shift = np.log(by_instance) - np.log(self.class_prior_)
        return np.asarray(softmax(log_softmax(logits, axis=1) + shift, axis=1))

    def predict(
        self,
        X: Instances,
        *,
        ratios: ProportionsTable | None = None,
        bag_ids: ArrayLike | None = None,
    ) -> NDArray[np.generic]:
        """Return the most probable class of each instance.

        Parameters
        ----------
        X, ratios, bag_ids
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_instances,)
        """
        probabilities = self.predict_proba(X, ratios=ratios, bag_ids=bag_ids)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def score(
        self,
        X: Instances,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        bag_ids: ArrayLike | None = None,
        proportions: ProportionsTable | None = None,
        covariance: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy; without labels, the information about instances' bags.

        Parameters
        ----------
        X : array-like of shape (n_instances, n_features), CSR matrix or data frame
        y : array-like of shape (n_instances,), default=None
            Labels. With them the score is accuracy.
        sample_weight : array-like of shape (n_instances,), default=None
        bag_ids, proportions, covariance
            As in `fit`. Without `y` the score is the mean over instances of
            log p(bag | x) - log p(bag), in nats: 0 for an uninformative classifier. A search
            chooses by it with ``set_score_request(bag_ids=True, proportions=True)`` and no y.

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
        bag, by_bag = proportions_by_id(proportions, bag_ids, len(log_p), covariance)
        by_bag = by_bag.reorder_classes(self.classes_)
        likely = likely_proportions(by_bag.values, np.bincount(bag), by_bag.covariance)
        gains = np.log((np.exp(log_p) * (likely / self.class_prior_)[bag]).sum(axis=1))
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return float(np.average(gains, weights=weights))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.sparse = True
        return tags


def match_proportions(
    F: Matrix, bag: Integers, proportions: Floats, alpha: float, max_iter: int
) -> SoftmaxWeights:
    """Minimise half the squared distance of mean probabilities from proportions.

    Bags count by their sizes, and `alpha` is the weight of half the squared coefficients.
    """
    n, sizes, shares = len(bag), np.bincount(bag)[:, None], np.maximum(proportions, 0)
    transposed = sparse.csr_array(F.T) if sparse.issparse(F) else F.T
    # A product with 0 and 1 sums within bags.
    member = sparse.csr_array((np.ones(n), (bag, np.arange(n))), shape=(len(shares), n))
    initial = np.zeros((F.shape[1] + 1, shares.shape[1]))

    def objective(flat: Floats) -> tuple[float, Floats]:
        W = flat.reshape(initial.shape)
        p = softmax(np.asarray(F @ W[:-1]) + W[-1], axis=1)
        error = member @ p / sizes - shares
        slope = error[bag] / n
        slope = p * (slope - (p * slope).sum(axis=1, keepdims=True))
        gradient = np.vstack([transposed @ slope + alpha * W[:-1], slope.sum(axis=0)])
        value = (sizes * error**2).sum() / n + alpha * (W[:-1] ** 2).sum()
        return 0.5 * float(value), gradient.ravel()

    return minimise(objective, initial, max_iter)


class BagInformation(NamedTuple):
    """Information of features, and of labels, about an instance's bag, in nats.

    If features are independent of the bag given the class, they have no more information about the
    bag than the label has (the data processing inequality).

    Attributes
    ----------
    feature_information : float
        Information of the features, estimated on held-out instances: a lower bound, up to chance.
    standard_error : float
        Standard error of `feature_information`.
    label_information : float
        Information of the labels: the mutual information of label and bag.
    """

    feature_information: float
    standard_error: float
    label_information: float

    @property
    def violates_independence(self) -> bool:
        """True if bags differ by more than their classes, at the level of 1 %."""
        lower = self.feature_information - _NORMAL_99 * self.standard_error
        return lower > self.label_information

    def warn(self) -> None:
        """Warn that bags differ by more than their classes."""
        warn(
            "bags differ by more than their classes: features tell "
            f"{self.feature_information:.3g} (± {self.standard_error:.2g}) nats of an instance's "
            f"bag, and labels could tell {self.label_information:.3g}. Within a class features "
            "depend on the bag, so that mean probabilities are matched instead "
            "(loss='proportion', which also silences this); probabilities may be biased, and "
            "without some labels nothing tells by how much. Leave out features that say which bag "
            "it is."
        )


def measure_bag_information(
    fit: SoftmaxFit,
    proportions: LabelProportions,
    n_folds: int,
    max_iter: int,
    rng: np.random.Generator,
) -> BagInformation:
    """Estimate the information of features and of labels about the bag.

    For the features: the held-out log likelihood that a logistic regression of the bag gains.
    """
    n_bags, F, bag = len(proportions.values), fit.F, fit.bag
    merged = np.arange(n_bags) * min(n_bags, _MOST_BAGS) // n_bags
    label_information = _label_information(proportions, np.bincount(bag), merged, rng)
    if len(bag) > _MOST_INSTANCES:
        rows = np.sort(rng.choice(len(bag), _MOST_INSTANCES, replace=False))
        F, bag = F[rows], bag[rows]
    _, target = np.unique(merged[bag], return_inverse=True)
    held_out = assign_folds(target, n_folds, rng) == 0
    one_class_bags = np.eye(target.max() + 1) + 1e-12
    weights = fit_softmax(
        F[~held_out], target[~held_out], one_class_bags, fit.model.alpha, max_iter=max_iter
    )
    lifts = one_class_bags / (np.bincount(target) / len(target))[:, None]
    gains = bag_likelihood(weights.logits(F[held_out]), target[held_out], lifts)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.inf
    return BagInformation(float(gains.mean()), error, label_information)


def _label_information(
    proportions: LabelProportions, sizes: Integers, merged: Integers, rng: np.random.Generator
) -> float:
    """Return the mutual information of label and bag.

    For noisy proportions: its 99th percentile over draws to which the same noise is added again.
    """
    possible = proportions.values[None]
    factors = proportions.noise_factors()
    if factors is not None:
        draws = rng.standard_normal((_NOISE_DRAWS, *proportions.values.shape))
        possible = proportions.values + np.einsum("bij,dbj->dbi", factors, draws)
    possible = np.maximum(possible, 0)
    counts = sizes[:, None] * possible / possible.sum(axis=2, keepdims=True)
    starts = np.flatnonzero(np.diff(merged, prepend=-1))
    joint = np.add.reduceat(counts, starts, axis=1) / sizes.sum()
    marginals = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    return float(np.quantile(rel_entr(joint, marginals).sum(axis=(1, 2)), 0.99))


def read_bags(
    X: BagSequence | Instances, proportions: ProportionsTable, covariance: ArrayLike | None
) -> tuple[Instances, Matrix, Integers, LabelProportions]:
    """Return the first bag, stacked instances, the bag of each, and the bags' proportions."""
    if getattr(X, "ndim", None) == 2:
        raise ValueError(
            "X is one table of instances, and bag_ids is missing: give the id of each instance's "
            "bag, or a list of tables, one for each bag. (In a pipeline or a search, route it: "
            "set_fit_request(bag_ids=True, proportions=True).)"
        )
    raw = list_bags(X)
    bags = check_bags(raw)
    checked = check_proportions(proportions, len(bags), covariance, names=bag_names(X))
    return raw[0], stack_bags(bags), bag_numbers(bags), check_learnable(checked)


def is_mostly_noise(proportions: LabelProportions, sizes: Integers) -> bool:
    """Return True, with a warning, if bags differ by no more than the noise of proportions."""
    if proportions.covariance is None:
        return False
    overall = sizes @ proportions.values / sizes.sum()
    spread = ((proportions.values - overall) ** 2).sum(axis=1).mean()
    if spread > np.einsum("ijj->i", proportions.covariance).mean():
        return False
    warn(
        "the bags' proportions differ by no more than the noise they have, so that little may be "
        "learned from them; publish larger bags, bags that differ more, or with a larger epsilon."
    )
    return True


def instance_ratios(
    ratios: ProportionsTable,
    bag_ids: ArrayLike | None,
    n_instances: int,
    classes: NDArray[np.generic],
) -> Floats:
    n_classes = len(classes)
    if bag_ids is not None:
        bag, by_bag = proportions_by_id(ratios, bag_ids, n_instances, argument="ratios")
        return np.maximum(by_bag.reorder_classes(classes).values, 0)[bag]
    names: Sequence[Hashable] | None = None
    table: object = ratios
    if isinstance(ratios, Mapping):
        names, table = list(ratios), list(ratios.values())
    elif is_frame(ratios):
        names = list(ratios.columns if np.ndim(ratios) == 2 else ratios.index)  # type: ignore[arg-type]
    try:
        numbers = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "ratios must be numbers, for one group or for each instance; a table keyed by id "
            f"needs bag_ids ({error})."
        ) from error
    values = np.atleast_2d(numbers)
    if names is not None:
        values = values[:, class_columns("ratios, without bag_ids,", names, classes.tolist())]
    if values.shape not in ((1, n_classes), (n_instances, n_classes)):
        raise ValueError(
            f"ratios has shape {numbers.shape}; give {n_classes} of them, in the order of "
            f"classes_, or {n_classes} for each of {n_instances} instances."
        )
    valid = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if not valid.all():
        raise ValueError(
            f"ratios has the row {values[np.argmin(valid)].tolist()}: they must not be negative "
            "and must sum to 1."
        )
    return values


def check_learnable(proportions: LabelProportions) -> LabelProportions:
    """Return proportions with sorted classes; refuse those from which no class can be learned."""
    if proportions.covariance is None:
        warn_of_unstated_noise(proportions.values)
    proportions.check_full_rank()
    try:
        classes = np.unique(proportions.classes)
    except TypeError as error:
        raise ValueError(f"classes must be of one kind, to be put in order: {error}") from error
    return proportions.reorder_classes(classes)
