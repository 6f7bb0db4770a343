"""Some draws without replacement, the fewer the clearer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secretballot.divergences._law import Move
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences.selection._bounded_range import BoundedRange


@dataclass(frozen=True, kw_only=True)
class FewDraws(Move):
    """Releases at most `most` largest scores, one after the other, with Gumbel noise on all.

    How many is known from what was released before. The fewer there are, the less noise they have:
    each of n draws has log ratios in an interval of `width` / sqrt(n + 2), n rounded up to one of
    `offered_draws`. (Two more, because few draws cost more than their share of many would; so they
    all cost about the same.) All at once, with the same noise, is as good as one after the other.

    References
    ----------
    Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
    Composition" (NeurIPS 2019), Lemma 4.2.
    """

    width: float
    most: int

    @property
    def draws_by_size(self) -> tuple[tuple[int, BoundedRange], ...]:
        """How many draws there may be, and each of them."""
        return tuple(
            (n, BoundedRange(width=self.width / draw_noise_factor(n)))
            for n in offered_draws(self.most)
        )

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the supremum over all data and numbers of draws."""
        if self.most == 0:
            return np.zeros(len(ORDERS if orders is None else orders))
        return np.asarray(
            np.max([n * draw.worst_case(orders) for n, draw in self.draws_by_size], axis=0)
        )

    def exact(self, state: Any) -> Floats:
        """Return the supremum over all data and numbers of draws, for each row."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))

    @cached_property
    def ratio(self) -> float:
        """Shift in standard deviations of a noisy number that tells at least as much."""
        return max((float(np.sqrt(n)) * draw.ratio for n, draw in self.draws_by_size), default=0.0)


def draw_noise_factor(number: int) -> float:
    """Return how much noise so many draws have, beside one that had them all to itself."""
    return float(np.sqrt(number + 2))


def offered_draws(most: int) -> tuple[int, ...]:
    """Return the numbers of draws that noise is made for: 1, 2, 3, 4, 6, 8, ... and the most."""
    sizes = {2**power * unit for power in range(most.bit_length()) for unit in (2, 3)} | {1}
    return (*sorted(size for size in sizes if size < most), most) if most else ()


def charged_draws(number: int, most: int) -> int:
    """Return the number of draws that so many are charged as."""
    return next((each for each in offered_draws(most) if each >= number), 0) if number else 0
