"""Label proportions that were released, and what is known about their noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import PrivacyStatement
from secretballot.mechanisms import Proportions
from secretballot.quantification._bags import numbers_of
from secretballot.quantification.publishing._publisher_advice import (
    PublisherAdvice,
    advise_publisher,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class PublishedProportions:
    """What `publish_proportions` returns; all of it may be published.

    Indexed like an array of bags, it keeps names, sizes and noise, so that `GridSearchCV`,
    `cross_val_score` and `train_test_split` take it as their ``y``. ``numpy.asarray`` gives the
    bare proportions, of which no noise is known.

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
        What the budget guarantees, after this release (of all bags, of which these may be some).

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import publish_proportions
    >>> labels = [np.repeat([0, 1], counts) for counts in ([800, 200], [500, 500], [100, 900])]
    >>> published = publish_proportions(labels, [0, 1], 1.0, 1e-5)
    >>> published[[2, 0]].names, published[1:].covariance().shape, len(published[0])
    ((2, 0), (2, 2, 2), 1)
    """

    proportions: NDArray[np.float64]
    classes: NDArray[Any]
    names: tuple[Any, ...]
    sizes: NDArray[np.int64]
    mechanism: Proportions
    expected_distortion: NDArray[np.float64]
    statement: PrivacyStatement

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of bags and of classes."""
        return (len(self.proportions), len(self.classes))

    def __len__(self) -> int:
        return len(self.proportions)

    def __getitem__(self, bags: Any) -> PublishedProportions:
        """Return some of the bags: an integer, a slice, an array of integers or a mask."""
        rows = numbers_of(len(self), bags)
        return replace(
            self,
            proportions=self.proportions[rows],
            names=tuple(self.names[row] for row in rows),
            sizes=self.sizes[rows],
            expected_distortion=self.expected_distortion[rows],
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.proportions, dtype=dtype, copy=copy)

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
