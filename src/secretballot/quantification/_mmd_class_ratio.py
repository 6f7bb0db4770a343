"""Class ratios by matching kernel means, learned from bags with label proportions."""

from __future__ import annotations

from numbers import Real
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from secretballot._base._numbers import check_integer, check_number
from secretballot._base._sklearn_compat import N_JOBS, Interval, StrOptions, _fit_context
from secretballot.quantification._bag_ids import (
    BagSequence,
    Floats,
    Matrix,
    ProportionsTable,
    RandomState,
)
from secretballot.quantification._bags import stack_bags
from secretballot.quantification._class_means import choose_kernel, fit_on_simplex
from secretballot.quantification._class_ratio_mixin import (
    ClassRatioMixin,
    draw_seed,
    read_training_bags,
)
from secretballot.quantification._intervals import RatioInterval, bootstrap
from secretballot.quantification._kernels import (
    ExplicitFeatures,
    FeatureEmbedding,
    KernelEmbedding,
    candidate_gammas,
    cut_bags,
)
from secretballot.quantification._label_proportions import LabelProportions
from secretballot.quantification._misfit import warn_of_misfit_groups
from secretballot.quantification._ratios import diagnose, fit_ratios
from secretballot.tables._frames import validate_columns

#: Bandwidths to try, as multiples of the median heuristic; doubling makes each kernel the square
#: of the previous one. Best in our measurements were 4 to 8.
_MULTIPLES = (1.0, 2.0, 4.0, 8.0, 16.0)
#: Index of the multiple that is taken where held-out sets are uninformative.
_SAFE_MULTIPLE = 2
_DIAGONALS = (0.0, 0.25, 0.5, 0.75, 1.0)
_N_PARTS = 20
#: Most parts of all bags for exact kernel sums, which are stored for all pairs of parts.
_MOST_PARTS = 2000
#: More than for a training bag: a group's variance is estimated from that group alone.
_N_GROUP_PARTS = 200


class MMDClassRatioEstimator(ClassRatioMixin, BaseEstimator):
    """Class ratios of unlabelled groups by maximum mean discrepancy, learned from bags.

    Of the bags only the class proportions are known, possibly with noise. The mean embedding of
    each class is a signed mixture of the bags' embeddings; a group has the class ratios with which
    the classes' embeddings come closest to its own. They may be far from those of any bag.

    A bag is a sample: a 2-d array, data frame or CSR matrix in a sequence, or in a 3-d array.
    `GridSearchCV` splits over bags. `Bags.from_groups` makes bags of stacked instances, and
    `PerBag` lifts transformers to bags.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        "linear" matches the features themselves: for learned or many ones (text).
    gamma : "held_out", "median" or float, default="held_out"
        Of the rbf kernel exp(-gamma norm(x - y)^2). "median" is one over twice the median squared
        distance; "held_out" chooses among 1, 2, 4, 8 and 16 times that, by predicting mixtures of
        halves of bags that were not trained on.
    features : {"nystroem", "rff"} or None, default=None
        Explicit features that approximate the kernel, in linear time, without keeping instances.
        None computes kernel sums exactly, in quadratic time.
    n_components : int, default=256
        Number of explicit features; with "rff" rounded down to an even number.
    solver : {"class_mean", "bag_mixture"}, default="class_mean"
        Least squares for class means, weighted by the variance of the bags; or the closest of all
        signed mixtures of bags, as published but for the signs. With more bags than classes the
        second fits the bags' noise.
    diagonal : "held_out" or float, default="held_out"
        Share, from 0 to 1, of the instances' similarity to themselves that remains in the Gram
        matrix of bags. It biases distances between bags upwards; with badly conditioned proportions
        a positive share is safer. "held_out" chooses it like `gamma`.
    group_effects : "auto" or bool, default="auto"
        Random effects: class means differ from bag to bag. Then directions in which bags differ for
        other reasons than their classes count less, and intervals are those of another such bag.
        "auto": if the test of `diagnostics_` rejects equal class means.
    n_jobs : int, default=None
        Threads over blocks.
    random_state : int, Generator, RandomState or None, default=None
        For held-out parts, random features and landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class of each column of the proportions.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if bags are data frames with strings for names.
    gamma_ : float or None
        The bandwidth in use; None for the linear kernel.
    diagonal_ : float
        The share of self-similarity in use.
    diagnostics_ : RatioDiagnostics
        Separation of the classes, test of the assumption, and a bound on the error.
    validation_error_ : ndarray of shape (n_gammas, n_diagonals), or None
        Mean L1 error on held-out sets of all candidates, if there was a choice.

    See Also
    --------
    publish_proportions : Private proportions to learn from.
    SoftmaxClassRatioEstimator : Features learned from bags, and a baseline.

    Notes
    -----
    With bag means B, proportions P and class means M, B = P M. Least squares gives M = A' B with
    P' A = I, and the ratios r of a group with mean u minimise norm(u - M' r), r in the simplex.
    Mixing weights of *bags* in the simplex, as published, would trap r in the bags' convex hull.

    References
    ----------
    Iyer, Nath and Sarawagi, "Privacy-preserving Class Ratio Estimation" (KDD 2016), Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import MMDClassRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> def bag(n_positive, n_negative):
    ...     return np.r_[rng.normal(2, 1, (n_positive, 3)), rng.normal(0, 1, (n_negative, 3))]
    >>> bags = [bag(120, 480), bag(420, 180)]
    >>> ratio = MMDClassRatioEstimator(random_state=0).fit(bags, [[0.2, 0.8], [0.7, 0.3]])
    >>> ratio.predict([bag(540, 60)]).round(1)
    array([[0.9, 0.1]])
    """

    _embedding: KernelEmbedding | FeatureEmbedding
    _proportions: LabelProportions
    _parameter_constraints = {
        **ClassRatioMixin._parameter_constraints,
        "kernel": [StrOptions({"rbf", "linear"})],
        "solver": [StrOptions({"class_mean", "bag_mixture"})],
        "diagonal": [StrOptions({"held_out"}), Interval(Real, 0, 1, closed="both")],
        "group_effects": [StrOptions({"auto"}), "boolean"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        kernel: str = "rbf",
        gamma: str | float = "held_out",
        features: str | None = None,
        n_components: int = 256,
        solver: str = "class_mean",
        diagonal: str | float = "held_out",
        *,
        group_effects: str | bool = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.features = features
        self.n_components = n_components
        self.solver = solver
        self.diagonal = diagonal
        self.group_effects = group_effects
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: BagSequence, y: ProportionsTable, *, covariance: ArrayLike | None = None
    ) -> MMDClassRatioEstimator:
        """Learn from further bags; needs explicit features (or the linear kernel).

        As one `fit` on all bags, but the median distance and landmarks are of the first call, which
        needs as many bags as there are classes.

        Parameters
        ----------
        X, y, covariance
            As in `fit`.

        Returns
        -------
        self
        """
        if self.features is None and self.kernel != "linear":
            raise ValueError(
                "partial_fit forgets the instances, which exact kernel sums need; use "
                "features='rff' or 'nystroem', or kernel='linear'."
            )
        first = not hasattr(self, "_embedding")
        if not first and not isinstance(self._embedding, FeatureEmbedding):
            raise ValueError(
                "the last fit had exact kernel sums, which can't be continued with "
                f"features={self.features!r} and kernel={self.kernel!r}; call fit first."
            )
        self._fit(X, y, covariance, first=first)
        return self

    def _fit(
        self, X: BagSequence, y: ProportionsTable, covariance: ArrayLike | None, first: bool = True
    ) -> None:
        first_bag, bags, proportions = read_training_bags(X, y, covariance)
        if not first:
            validate_columns(self, first_bag, "bag", skip_check_array=True)
            proportions = self._proportions.append(proportions)
        proportions.check_full_rank()
        # The last fit is kept until everything has been checked.
        if first:
            self._seed = draw_seed(self.random_state)
        exact = self.kernel == "rbf" and self.features is None
        n_parts = min(_N_PARTS, max(2, _MOST_PARTS // len(bags))) if exact else _N_PARTS
        n_earlier = len(proportions.values) - len(bags)
        parts, bags = cut_bags(bags, n_parts, self._seed, n_earlier)
        if first:
            validate_data(self, first_bag, skip_check_array=True)
            self._gammas = np.array([1.0])
            if self.kernel != "linear":
                rng = np.random.default_rng([self._seed, 3])
                self._gammas = candidate_gammas(self.gamma, _MULTIPLES, stack_bags(bags), rng)
        if exact:
            self._embedding = KernelEmbedding(bags, parts, self._gammas, self.n_jobs)
        elif first:
            kind = None if self.kernel == "linear" else self.features
            X = stack_bags(bags)
            features = ExplicitFeatures(kind, X, self._gammas, self.n_components, self._seed)
            self._embedding = FeatureEmbedding(features, bags, parts, self.n_jobs)
        else:
            assert isinstance(self._embedding, FeatureEmbedding)
            self._embedding.add(bags, parts)
        self._proportions, self.classes_ = proportions, proportions.classes
        self._fit_classes()

    def _fit_classes(self) -> None:
        """Choose the kernel, and fit the classes by it."""
        sums = self._embedding.sums()
        diagonals = _DIAGONALS if isinstance(self.diagonal, str) else (float(self.diagonal),)
        number, self.diagonal_, self.validation_error_ = 0, diagonals[0], None
        if len(diagonals) > 1 or len(sums) > 1:
            number, self.diagonal_, self.validation_error_ = choose_kernel(
                sums,
                self._proportions,
                self.solver,
                diagonals,
                np.random.default_rng([self._seed, 4]),
                safe_number=_SAFE_MULTIPLE if len(sums) > 1 else 0,
            )
        self._number = number
        self.gamma_ = None if self.kernel == "linear" else float(self._gammas[number])
        self._ratio_fit = fit_ratios(
            self._proportions,
            sums[number],
            solver=self.solver,
            diagonal=self.diagonal_,
            group_effects=self.group_effects,
            rng=np.random.default_rng([self._seed, 6]),
        )
        self.diagnostics_ = diagnose(self._ratio_fit)
        self.diagnostics_.warn(self.group_effects)

    @overload
    def predict(self, X: BagSequence, *, target: str = ...) -> Floats: ...
    @overload
    def predict(self, X: BagSequence, *, confidence: float, target: str = ...) -> RatioInterval: ...
    def predict(
        self, X: BagSequence, *, confidence: float | None = None, target: str = "group"
    ) -> Floats | RatioInterval:
        """Estimate the class ratios of bags.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags
        confidence : float, default=None
            If given, return the result of `predict_interval`, also from a pipeline:
            ``pipeline.predict(bags, confidence=0.9)``.
        target : {"group", "population"}, default="group"
            As in `predict_interval`.

        Returns
        -------
        ndarray of shape (n_bags, n_classes), or RatioInterval
            Rows sum to 1.
        """
        if confidence is not None:
            return self.predict_interval(X, confidence, target=target)
        return self._estimate(self._check_bags_like_fit(X))

    def _estimate(self, bags: list[Matrix]) -> Floats:
        parts, bags = cut_bags(bags, 1, self._seed)
        cross = self._embedding.cross(self._number, bags, parts)
        means = self._embedding.parts.weights() @ cross @ parts.weights().T
        products = self._ratio_fit.means.dual_mixture.T @ means
        return fit_on_simplex(self._ratio_fit.gram, products, self._proportions.mean)

    def predict_interval(
        self,
        X: BagSequence,
        confidence: float = 0.95,
        *,
        target: str = "group",
        n_resamples: int = 400,
    ) -> RatioInterval:
        """Estimate class ratios with an interval for each.

        A bootstrap over random parts of training bags and of `X`, and over the known noise of the
        proportions.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags
        confidence : float, default=0.95
            For each ratio separately.
        target : {"group", "population"}, default="group"
            Ratios of these very instances, or of the population that they were sampled from.
        n_resamples : int, default=400
            Number of bootstrap resamples.

        Returns
        -------
        RatioInterval
            Named tuple ``(ratios, lower, upper)``, each of shape (n_bags, n_classes).

        Warns
        -----
        MisfitWarning
            If bags are no mixtures of the classes that were learned.
        """
        check_number("confidence", confidence, above=0, below=1)
        check_integer("n_resamples", n_resamples, least=20)
        if target not in ("group", "population"):
            raise ValueError(f"target={target!r} must be 'group' or 'population'.")
        checked, fit = self._check_bags_like_fit(X), self._ratio_fit
        parts, bags = cut_bags(checked, _N_GROUP_PARTS, self._seed)
        if fit.lacks_effects:
            ratios = self._estimate(checked)
            return RatioInterval(ratios, np.zeros_like(ratios), np.ones_like(ratios))
        cross = self._embedding.cross(self._number, bags, parts)
        interval = bootstrap(
            fit,
            cross,
            parts,
            confidence=confidence,
            target=target,
            n_resamples=n_resamples,
            rng=np.random.default_rng([self._seed, 5]),
        )
        if not fit.bags_differ:
            groups = self._embedding.within(self._number, bags, parts)
            warn_of_misfit_groups(fit.test_data, groups, cross, interval.ratios)
        return interval
