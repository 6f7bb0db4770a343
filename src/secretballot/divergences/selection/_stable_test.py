"""The test of a stable set: a noisy bit where it is stable, a rare failure where it isn't."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot.divergences._law import NoisyBit
from secretballot.divergences._orders import Floats


@dataclass(frozen=True, kw_only=True)
class StableTest(NoisyBit):
    """Releases a set if the gap below it, plus N(0, scale^2), is large enough.

    Of two neighbours, either both have the same set, and then a noisy bit is released; or the sets
    differ, and then each of them passes with the delta of its step, exactly, and is otherwise
    silent alike. So a row costs the larger of the two in a game; where costs are added up, both.

    It costs the same on all data: which gap is tested is private.
    """

    def exact(self, state: Floats) -> Floats:
        """Return the supremum over all gaps, for each row."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))

    @property
    def kind(self) -> type[NoisyBit]:
        """Tests of stable sets, which may fail instead of releasing a bit."""
        return StableTest
