"""What estimators of class ratios share: their score, and what they take."""

from __future__ import annotations

from typing import Any

import numpy as np

from secretballot.quantification._bag_input import check_proportions


class BagEstimatorMixin:
    """An estimator whose samples are bags, and whose targets are their proportions."""

    def score(self, X: Any, y: Any) -> float:
        """Return minus the mean L1 distance between predicted and given proportions.

        Parameters
        ----------
        X : sequence of array-like of shape (n_instances, n_features), 3-d array, or Bags
        y : PublishedProportions, or array-like of shape (n_bags, n_classes)
        """
        found = self.predict(X)  # type: ignore[attr-defined]
        known = check_proportions(y, len(found)).values
        if known.shape[1] != found.shape[1]:
            raise ValueError(f"y has {known.shape[1]} classes, but fit had {found.shape[1]}.")
        return -float(np.abs(found - known).sum(axis=1).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
