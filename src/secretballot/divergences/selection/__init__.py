"""What choosing among candidates reveals: noisy maxima of many scores, and stable sets."""

from secretballot.divergences.selection._bounded_range import BoundedRange
from secretballot.divergences.selection._few_draws import (
    FewDraws,
    draws_charged,
    draws_offered,
    noise_of_draws,
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
    "draws_charged",
    "draws_offered",
    "noise_of_draws",
]
