"""Selection with Gaussian noise: the largest of many scores, and the test of a stable set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot.costs._moves import Move, NoisyBit
from secretballot.costs._orders import Floats, order_array


@dataclass(frozen=True, kw_only=True)
class NoisyGaps(Move):
    """Release of the largest of `n_scores` with N(0, sigma^2) on each; all move by `shift`.

    The charge at each order is the smaller of two bounds: the cost of the noisy scores, or that of
    one score against another with the number of scores added once (Zhu and Wang, "Adaptive Private-
    K-Selection with Adaptive K and Application to Multi-label PATE", AISTATS 2022, Theorem 8 and
    Corollary 9).
    """

    sigma: float
    shift: float
    n_scores: int

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Bound the supremum over all data."""
        a = order_array(orders)
        if self.n_scores == 1:
            return np.zeros(len(a))
        score = a * (self.shift / self.sigma) ** 2 / 2
        pairwise = 4 * score + np.log(self.n_scores) / (a - 1)
        return np.asarray(np.minimum(self.n_scores * score, pairwise))


@dataclass(frozen=True, kw_only=True)
class StableTest(NoisyBit):
    """Release of a set if the gap below it, plus N(0, scale^2), is large enough.

    Two neighbours with the same set release a noisy bit. If their sets differ, each of them passes
    with exactly the delta of its step, and fails alike otherwise. In a game a row costs the larger
    of the two; where costs are added up, both.

    The cost is the same on all data, because the tested gap is private.
    """

    def exact(self, state: Floats) -> Floats:
        """Compute the supremum over all gaps, for each row."""
        return Move.exact(self, state)

    @property
    def kind(self) -> type[NoisyBit]:
        """Tests of stable sets, which may fail instead of releasing a bit."""
        return StableTest
