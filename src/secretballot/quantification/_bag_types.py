"""Types of the instances, bags, tables and random states that users give."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

if TYPE_CHECKING:
    from secretballot.quantification._bags import Bags
    from secretballot.quantification._published_proportions import PublishedProportions

BagId: TypeAlias = Hashable
#: Index of an array of bags.
BagIndex: TypeAlias = "int | slice | Sequence[int] | NDArray[np.integer | np.bool_]"
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.integer]
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
#: Instances of one or of all bags: an array, a data frame, a sparse matrix or a list of texts.
Instances: TypeAlias = "ArrayLike | sparse.sparray | sparse.spmatrix"
#: Instances after validation.
Matrix: TypeAlias = "NDArray[np.floating] | sparse.csr_array"
#: X of the estimators of class ratios.
BagSequence: TypeAlias = "Bags | Sequence[Instances] | NDArray[np.floating]"
#: y of the estimators of class ratios. A data frame is an ArrayLike.
ProportionsTable: TypeAlias = "PublishedProportions | Mapping[BagId, ArrayLike] | ArrayLike"


class Frame(Protocol):
    """The part of a pandas data frame or series that is used here."""

    index: Sequence[Hashable]
    columns: Sequence[Hashable]
    iloc: Mapping[Integers, Frame]

    def __getitem__(self, column: Hashable) -> Frame: ...

    def drop(self, column: Hashable = ..., *, columns: Hashable = ...) -> Frame: ...


def is_frame(values: object) -> TypeGuard[Frame]:
    return hasattr(values, "iloc")
