"""What choosing among candidates reveals: noisy maxima of many scores, and stable sets."""

from secretballot.divergences.selection._bounded_range import BoundedRange
from secretballot.divergences.selection._few_draws import (
    FewDraws,
    charged_draws,
    draw_noise_factor,
    offered_draws,
)
from secretballot.divergences.selection._noisy_gaps import NoisyGaps
from secretballot.divergences.selection._pure_release import PureRelease
from secretballot.divergences.selection._stable_test import StableTest

__all__ = [
    "BoundedRange",
    "FewDraws",
    "NoisyGaps",
    "PureRelease",
    "StableTest",
    "charged_draws",
    "offered_draws",
    "draw_noise_factor",
]
