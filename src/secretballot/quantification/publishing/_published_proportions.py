"""Label proportions that were released, and what is known about their noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import PrivacyStatement
from secretballot.mechanisms import Proportions
from secretballot.quantification.publishing._publisher_advice import (
    PublisherAdvice,
    advise_publisher,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class PublishedProportions:
    """What `publish_proportions` returns; all of it may be published.

    Attributes
    ----------
    proportions : ndarray of shape (n_bags, n_classes)
        Rows sum to 1.
    classes : ndarray of shape (n_classes,)
        What the columns stand for.
    names : tuple
        What the bags are called.
    sizes : ndarray of shape (n_bags,)
        Labels in each bag.
    mechanism : Proportions
        How they were drawn.
    expected_distortion : ndarray of shape (n_bags,)
        Expected L1 distance from the true proportions: the larger of an even and a skewed bag.
    statement : PrivacyStatement
        What the budget guarantees, after this release.
    """

    proportions: NDArray[np.float64]
    classes: NDArray[Any]
    names: tuple[Any, ...]
    sizes: NDArray[np.int64]
    mechanism: Proportions
    expected_distortion: NDArray[np.float64]
    statement: PrivacyStatement

    def covariance(self) -> NDArray[np.float64]:
        """Return the covariance of each bag's noise, shape (n_bags, n_classes, n_classes)."""
        return self.mechanism.covariance(self.proportions, self.sizes)

    def advice(self) -> PublisherAdvice:
        """Return a report on the number, the size and the skew of the bags."""
        return advise_publisher(self.proportions, self.sizes, self.expected_distortion)

    def __repr__(self) -> str:
        return (
            f"<PublishedProportions: {len(self.sizes)} bags, {len(self.classes)} classes, "
            f"{type(self.mechanism).__name__}, expected distortion "
            f"{self.expected_distortion.mean():.3g}>"
        )
