"""Questions to parties: the asker's rows, and public facts."""

from __future__ import annotations

import sys
from collections.abc import Sized
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._target import Target, as_target

#: Rows: an array, a sparse matrix, a data frame or a list of texts.
Table = Any
#: Libraries of data frames.
_PACKAGES = ("pandas", "polars")
#: Values of a label.
LABEL_VALUES = np.array([0, 1])


def frame_package(X: Table) -> ModuleType | None:
    """Return the library of a data frame; None for other tables."""
    packages = [sys.modules[name] for name in _PACKAGES if name in sys.modules]
    return next((package for package in packages if isinstance(X, package.DataFrame)), None)


def target_of(classes: tuple[object, ...] | None, labels: Sized | None) -> Target:
    """Build the target of votes on classes or, without them, on some labels."""
    if classes is not None:
        return as_target(np.array(classes))
    return as_target([LABEL_VALUES] * len(labels or ()))


@dataclass(frozen=True, kw_only=True)
class Question:
    """Rows `X` that a party wants labels for; all who answer see them.

    Attributes
    ----------
    id : str
        Its name in ledgers.
    asker : str or None
        The party that asks, which has no ballot; None: somebody who is no party.
    classes, labels : tuple or None
        All classes, where a row has one, or names of all labels, where it has several.
    seeded : bool
        True: noise will be reproducible, which protects nobody.
    aggregator : str
        The kind of aggregator, for the ledger.
    """

    id: str
    asker: str | None
    X: Table = field(repr=False)
    classes: tuple[object, ...] | None
    labels: tuple[str, ...] | None
    seeded: bool = False
    aggregator: str = "trusted"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(_num_samples(self.X))

    @property
    def target(self) -> Target:
        """Target of the votes."""
        return target_of(self.classes, self.labels)
