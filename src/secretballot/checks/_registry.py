"""Examples of mechanisms: what the common checks run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.mechanisms import ConfidentGNMax, GNMax, Mechanism


@dataclass(frozen=True, kw_only=True)
class MechanismExample:
    """A mechanism with counts to run it on.

    Parameters
    ----------
    mechanism : Mechanism
        With little noise: an audit of a few thousand draws can only tell large epsilons apart.
    counts : ndarray of shape (n_rows, ...)
        A few different rows.
    neighbours : tuple of ndarray
        Pairs of single rows of neighbouring data sets, shape (2, 1, ...), as telling as possible.
    """

    mechanism: Mechanism
    counts: NDArray[Any]
    neighbours: tuple[NDArray[Any], ...]

    def __str__(self) -> str:
        return type(self.mechanism).__name__


_EXAMPLES: dict[type, MechanismExample] = {}


def register(example: MechanismExample) -> None:
    """Have the common checks run on a mechanism."""
    _EXAMPLES[type(example.mechanism)] = example


def registered() -> dict[type, MechanismExample]:
    """Return the examples, by class of mechanism."""
    return dict(_EXAMPLES)


_VOTES = np.array([[9.0, 1.0, 0.0], [4.0, 3.0, 3.0], [0.0, 10.0, 0.0], [5.0, 5.0, 0.0]])
_MOVED_BALLOTS = tuple(
    np.array(pair, dtype=float)[:, None]
    for pair in (
        [[5, 5, 0], [6, 4, 0]],
        [[6, 4, 0], [7, 3, 0]],
        [[4, 3, 3], [3, 4, 3]],
        [[8, 1, 1], [9, 0, 1]],
    )
)

register(MechanismExample(mechanism=GNMax(sigma=1.5), counts=_VOTES, neighbours=_MOVED_BALLOTS))
register(
    MechanismExample(
        mechanism=ConfidentGNMax(sigma=1.5, sigma_threshold=2.0, threshold=6.0),
        counts=_VOTES,
        neighbours=_MOVED_BALLOTS,
    )
)
