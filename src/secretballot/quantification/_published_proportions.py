"""Released label proportions, with what is public about their noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from secretballot.accounting._statement import PrivacyStatement
from secretballot.mechanisms._proportions import Proportions
from secretballot.quantification._bag_ids import bag_rows
from secretballot.quantification._bag_types import BagId, BagIndex, Floats, Integers


@dataclass(frozen=True, kw_only=True, repr=False)
class PublishedProportions:
    """Result of `publish_proportions`; all of it may be published.

    Indexed like an array of bags, it keeps names, sizes and noise, so that scikit-learn's searches
    and splits take it as ``y``. ``numpy.asarray`` gives the bare proportions.

    Attributes
    ----------
    proportions : ndarray of shape (n_bags, n_classes)
        Rows sum to 1.
    classes : ndarray of shape (n_classes,)
        The class of each column, sorted.
    names : tuple
        The name of each bag.
    sizes : ndarray of shape (n_bags,)
        Labels in each bag.
    mechanism : Proportions
        The mechanism that drew them.
    expected_distortion : ndarray of shape (n_bags,)
        Expected L1 distance from the true proportions: the larger of an even and a skewed bag.
    statement : PrivacyStatement
        Guarantee of the budget after this release (of all bags, of which these may be some).

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.quantification import publish_proportions
    >>> labels = [np.repeat([0, 1], counts) for counts in ([800, 200], [500, 500], [100, 900])]
    >>> published = publish_proportions(labels, [0, 1], 1.0, 1e-5)
    >>> published[[2, 0]].names, published[1:].covariance().shape, len(published[0])
    ((2, 0), (2, 2, 2), 1)
    """

    proportions: Floats
    classes: NDArray[np.generic]
    names: tuple[BagId, ...]
    sizes: Integers
    mechanism: Proportions
    expected_distortion: Floats
    statement: PrivacyStatement

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of bags and of classes."""
        return (len(self.proportions), len(self.classes))

    def __len__(self) -> int:
        return len(self.proportions)

    def __getitem__(self, key: BagIndex) -> PublishedProportions:
        """Select bags by an integer, a slice, an array of integers or a mask."""
        rows = bag_rows(len(self), key)
        return replace(
            self,
            proportions=self.proportions[rows],
            names=tuple(self.names[row] for row in rows),
            sizes=self.sizes[rows],
            expected_distortion=self.expected_distortion[rows],
        )

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        return np.array(self.proportions, dtype=dtype, copy=copy)

    def covariance(self) -> Floats:
        """Return the covariance of each bag's noise, shape (n_bags, n_classes, n_classes)."""
        return self.mechanism.covariance(self.proportions, self.sizes)

    def __repr__(self) -> str:
        return (
            f"<PublishedProportions: {len(self.sizes)} bags, {len(self.classes)} classes, "
            f"{type(self.mechanism).__name__}, expected distortion "
            f"{self.expected_distortion.mean():.3g}>"
        )
