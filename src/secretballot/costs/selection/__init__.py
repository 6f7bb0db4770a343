"""Moves that choose among candidates: noisy maxima of many scores, and stable sets."""

from secretballot.costs.selection._gaussian_selection import NoisyGaps as NoisyGaps
from secretballot.costs.selection._gaussian_selection import StableTest as StableTest
from secretballot.costs.selection._pure_moves import BoundedRange as BoundedRange
from secretballot.costs.selection._pure_moves import FewDraws as FewDraws
from secretballot.costs.selection._pure_moves import PureRelease as PureRelease
from secretballot.costs.selection._pure_moves import charged_draws as charged_draws
from secretballot.costs.selection._pure_moves import draw_noise_factor as draw_noise_factor
from secretballot.costs.selection._pure_moves import offered_draws as offered_draws
