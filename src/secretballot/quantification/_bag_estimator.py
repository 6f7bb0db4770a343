"""What estimators of class ratios share: parameters, bags like those of fit, and their score."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from secretballot._sklearn_compat import Interval, StrOptions
from secretballot.quantification._bag_input import check_bags, names_of
from secretballot.quantification._known_proportions import check_proportions
from secretballot.quantification.publishing import PublishedProportions


def draw_entropy(random_state: Any) -> int:
    """Draw once, whatever random_state is: every part of the work derives its own stream."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


class ColumnNamesMixin:
    """What the columns of bags were called in `fit`."""

    _names: list[Any] | None

    def _take_names(self, names: list[Any] | None) -> None:
        """Remember them; those that are strings are public, as for other estimators."""
        self._names = names
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


class BagEstimatorMixin(ColumnNamesMixin):
    """An estimator whose samples are bags, and whose targets are their proportions.

    `fit` sets ``n_features_in_`` and takes names.
    """

    random_state: Any
    n_features_in_: int
    classes_: NDArray[Any]

    _parameter_constraints: dict[str, list[Any]] = {
        "gamma": [StrOptions({"held_out", "median"}), Interval(Real, 0, None, closed="neither")],
        "features": [StrOptions({"nystroem", "rff"}), None],
        "n_components": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def _check_like_fit(self, X: Any, *, at_least: int = 1) -> list[Any]:
        """Return bags that have the columns of those of `fit`."""
        check_is_fitted(self)
        return check_bags(X, n_features=self.n_features_in_, names=self._names, at_least=at_least)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the mean L1 distance between predicted and given proportions.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags
        y : PublishedProportions, or array-like of shape (n_bags, n_classes)
        sample_weight : array-like of shape (n_bags,), default=None
            How much each bag counts, such as its size; alike if None.
        """
        found = self.predict(X)  # type: ignore[attr-defined]
        known = check_proportions(y, len(found), names=names_of(X))
        if known.values.shape[1] != found.shape[1]:
            raise ValueError(
                f"y has {known.values.shape[1]} classes, but fit had {found.shape[1]}."
            )
        given, classes = set(known.classes.tolist()), self.classes_.tolist()
        named = hasattr(y, "columns") or isinstance(y, PublishedProportions)
        # Columns without names, on either side, have that order.
        if named and (given == set(classes) or classes != list(range(len(classes)))):
            known = known.in_order(self.classes_)
        errors = np.abs(found - known.values).sum(axis=1)
        if sample_weight is None:
            return -float(errors.mean())
        weights = np.asarray(sample_weight, dtype=float)
        if (
            weights.shape != errors.shape
            or not (weights >= 0).all()
            or not 0 < weights.sum() < np.inf
        ):
            raise ValueError(
                f"sample_weight of shape {weights.shape} must have a finite weight of at least 0 "
                f"for each of {len(errors)} bags, and not 0 for all."
            )
        return -float(errors @ weights / weights.sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
