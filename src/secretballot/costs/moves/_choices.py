"""A move whose outcome has one of finitely many laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot.costs._orders import Floats
from secretballot.costs.moves._grid import (
    LossGrid,
    PaddedValues,
    Stencil,
    larger_value,
    sum_outcomes,
)

_BLOCK = 4096  # nodes worked on together, so that they stay in the processor's cache


@dataclass(frozen=True)
class ChoiceMove:
    """The best of finitely many laws; their first outcome is the positive one.

    V is convex, so smaller shifts of a bit or a maximum are worse and not among the laws. Unless
    `told_apart`, any outcome may be the positive one.
    """

    stencils: tuple[tuple[Stencil, ...], ...]
    told_apart: bool = True

    @classmethod
    def from_laws(
        cls, log_p: Floats, loss: Floats, grid: LossGrid, told_apart: bool = True
    ) -> ChoiceMove:
        """Build the move from probabilities and losses, one row per law."""
        laws = zip(loss.tolist(), np.exp(log_p).tolist(), strict=True)
        return cls(tuple(tuple(map(grid.stencil, *law)) for law in laws), told_apart)

    @property
    def pad(self) -> int:
        offsets = [abs(stencil.offset) for law in self.stencils for stencil in law]
        return max(offsets, default=0) + 3

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Compute the value of the best law."""
        if not self.told_apart:
            positive = negative = larger_value(positive, negative)
        value = np.full_like(positive.shifted(0), -np.inf)
        for start in range(0, positive.n_nodes, _BLOCK):
            part = value[..., start : start + _BLOCK]
            out, scratch = np.empty_like(part), np.empty_like(part)
            yes, no = (values.block(start, part.shape[-1]) for values in (positive, negative))
            for first, *other_stencils in self.stencils:
                terms = [(yes, first), *((no, stencil) for stencil in other_stencils)]
                np.maximum(part, sum_outcomes(terms, out, scratch), out=part)
        return value
