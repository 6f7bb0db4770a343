"""Example of a mechanism for the common checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from secretballot.audit import Neighbours
from secretballot.mechanisms import Mechanism


@dataclass(frozen=True, kw_only=True)
class MechanismExample:
    """A mechanism with counts to run it on.

    Parameters
    ----------
    mechanism : Mechanism
        With little noise: an audit of a few thousand draws can only tell large epsilons apart.
    counts : ndarray of shape (n_rows, ...)
        A few different rows.
    neighbours : tuple of Neighbours or of ndarray
        Pairs of neighbouring data sets, as telling as possible; an array is a pair of data sets of
        one row, shape (2, 1, ...). The audits run on these.
    tightness : float, default=0.7
        Share of the claimed epsilon that the audit has to find spent on one of the pairs, at delta
        0.01. Lower where a bound is known not to be tight; say why beside it.
    """

    mechanism: Mechanism
    counts: NDArray[Any]
    neighbours: tuple[Neighbours | NDArray[Any], ...]
    tightness: float = 0.7
