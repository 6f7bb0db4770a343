"""Parameters, column checks and the score that estimators on bags share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from secretballot._base._sklearn_compat import Interval, StrOptions, _fit_context
from secretballot.quantification._bag_ids import (
    BagSequence,
    Floats,
    Instances,
    Matrix,
    ProportionsTable,
    RandomState,
)
from secretballot.quantification._bags import bag_names, check_bags, list_bags
from secretballot.quantification._label_proportions import (
    LabelProportions,
    PublishedProportions,
    check_proportions,
)
from secretballot.tables._frames import validate_columns


def read_training_bags(
    X: BagSequence, y: ProportionsTable, covariance: ArrayLike | None
) -> tuple[Instances, list[Matrix], LabelProportions]:
    """Return the first bag as it was given, and the checked bags and proportions."""
    raw = list_bags(X)
    bags = check_bags(raw, min_instances=2)
    sizes = [bag.shape[0] for bag in bags]
    proportions = check_proportions(
        y, len(bags), covariance, names=bag_names(X), sizes=sizes, argument="y"
    )
    return raw[0], bags, proportions


def draw_seed(random_state: RandomState) -> int:
    """Draw the seed of a fit, from which each part of the work derives its own stream."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


class BagInputMixin:
    """Tags of scikit-learn for estimators whose samples are bags."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


class ClassRatioMixin(BagInputMixin):
    """Estimator of class ratios: its samples are bags, and its targets their proportions."""

    n_features_in_: int
    classes_: NDArray[np.generic]

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "gamma": [StrOptions({"held_out", "median"}), Interval(Real, 0, None, closed="neither")],
        "features": [StrOptions({"nystroem", "rff"}), None],
        "n_components": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    if TYPE_CHECKING:

        def predict(self, X: BagSequence) -> Floats: ...

        def _fit(
            self, X: BagSequence, y: ProportionsTable, covariance: ArrayLike | None
        ) -> object: ...

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: BagSequence, y: ProportionsTable, *, covariance: ArrayLike | None = None
    ) -> Self:
        """Learn from bags and their proportions.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags
            The bags.
        y : PublishedProportions, array-like of shape (n_bags, n_classes) or (n_bags,), or mapping
            Rows sum to 1, within 0.001; columns of a data frame name the classes. Of two classes
            also the shares of the second. Named bags (`Bags`) and rows are matched by name.
        covariance : array-like of shape (n_bags, n_classes, n_classes), default=None
            Of the noise of each bag's proportions; taken from `PublishedProportions`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer bags than classes, bags are alike, or input is malformed.

        Warns
        -----
        MisfitWarning
            If bags are not mixtures of the same classes, where class means are matched.
        UserWarning
            If proportions look noisy and have no covariance, or, where class means are matched,
            some of these can't be told apart.
        """
        self._fit(X, y, covariance)
        return self

    def _check_bags_like_fit(self, X: BagSequence) -> list[Matrix]:
        check_is_fitted(self)
        raw = list_bags(X)
        bags = check_bags(raw)
        validate_columns(self, raw[0], "bag", skip_check_array=True)
        return bags

    def score(
        self, X: BagSequence, y: ProportionsTable, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the mean L1 distance between predicted and known proportions.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags
        y : PublishedProportions, or array-like of shape (n_bags, n_classes)
        sample_weight : array-like of shape (n_bags,), default=None
            Weight of each bag, such as its size; equal weights if None.

        Returns
        -------
        float
        """
        ratios = self.predict(X)
        truth = check_proportions(y, len(ratios), names=bag_names(X), argument="y")
        if truth.values.shape[1] != ratios.shape[1]:
            raise ValueError(
                f"y has {truth.values.shape[1]} classes, but fit had {ratios.shape[1]}."
            )
        classes = self.classes_.tolist()
        named = hasattr(y, "columns") or isinstance(y, PublishedProportions)
        # Columns without names, on either side, are in order.
        if named and (
            set(truth.classes.tolist()) == set(classes) or classes != list(range(len(classes)))
        ):
            truth = truth.reorder_classes(self.classes_)
        errors = np.abs(ratios - truth.values).sum(axis=1)
        if sample_weight is None:
            return -float(errors.mean())
        weights = np.asarray(sample_weight, dtype=float)
        valid = weights.shape == errors.shape and (weights >= 0).all()
        if not valid or not 0 < weights.sum() < np.inf:
            raise ValueError(
                f"sample_weight of shape {weights.shape} must have a finite weight of at least 0 "
                f"for each of {len(errors)} bags, and not 0 for all."
            )
        return -float(errors @ weights / weights.sum())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
