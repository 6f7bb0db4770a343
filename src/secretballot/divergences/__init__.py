"""Renyi costs, Gaussian costs, and the divergences of noisy moves that they are made of.

Mathematics only: no budget, no file. `__all__` names what a mechanism of one's own is built from;
other names are for other folders of the library.
"""

from secretballot._public import published
from secretballot.divergences._additive_noise import gaussian_delta as gaussian_delta
from secretballot.divergences._additive_noise import laplace_delta as laplace_delta
from secretballot.divergences._additive_noise import laplace_renyi as laplace_renyi
from secretballot.divergences._bit import bit_logs as bit_logs
from secretballot.divergences._bit import gaussian_bound as gaussian_bound
from secretballot.divergences._clipped_bits import ClippedBits as ClippedBits
from secretballot.divergences._clipped_bits import Norm as Norm
from secretballot.divergences._clipped_bits import clipped_weight as clipped_weight
from secretballot.divergences._confident_max import ConfidentMax as ConfidentMax
from secretballot.divergences._confident_max import (
    confident_log_probabilities as confident_log_probabilities,
)
from secretballot.divergences._cost import Cost as Cost
from secretballot.divergences._cost import RenyiCost as RenyiCost
from secretballot.divergences._cost import best_order as best_order
from secretballot.divergences._cost import epsilon_at_orders as epsilon_at_orders
from secretballot.divergences._cost import gate_budget as gate_budget
from secretballot.divergences._cost import renyi_budget as renyi_budget
from secretballot.divergences._dirichlet import dirichlet_delta as dirichlet_delta
from secretballot.divergences._dirichlet import dirichlet_renyi as dirichlet_renyi
from secretballot.divergences._dirichlet import dirichlet_tail as dirichlet_tail
from secretballot.divergences._divergence import renyi_divergence as renyi_divergence
from secretballot.divergences._exact_max import largest_normal as largest_normal
from secretballot.divergences._exact_max import level_quadrature as level_quadrature
from secretballot.divergences._exact_max import max_log_probabilities as max_log_probabilities
from secretballot.divergences._full_tails import draw_exponential as draw_exponential
from secretballot.divergences._full_tails import draw_gumbel as draw_gumbel
from secretballot.divergences._full_tails import draw_laplace as draw_laplace
from secretballot.divergences._full_tails import draw_uniform as draw_uniform
from secretballot.divergences._gaussian_cost import GaussianCost as GaussianCost
from secretballot.divergences._gaussian_cost import gaussian_budget as gaussian_budget
from secretballot.divergences._groups import EVERYONE as EVERYONE
from secretballot.divergences._groups import GROUP_SEPARATOR as GROUP_SEPARATOR
from secretballot.divergences._groups import Costs as Costs
from secretballot.divergences._groups import check_groups as check_groups
from secretballot.divergences._groups import group_division as group_division
from secretballot.divergences._groups import is_part as is_part
from secretballot.divergences._groups import level_cost as level_cost
from secretballot.divergences._groups import part_name as part_name
from secretballot.divergences._groups import parts_cost as parts_cost
from secretballot.divergences._groups import split_group as split_group
from secretballot.divergences._groups import zero_cost as zero_cost
from secretballot.divergences._law import Law as Law
from secretballot.divergences._law import PlannedMechanism as PlannedMechanism
from secretballot.divergences._law import Step as Step
from secretballot.divergences._law import own_delta as own_delta
from secretballot.divergences._law import realised_cost as realised_cost
from secretballot.divergences._law import worst_case_cost as worst_case_cost
from secretballot.divergences._moves import Bound as Bound
from secretballot.divergences._moves import Move as Move
from secretballot.divergences._moves import NoisyBit as NoisyBit
from secretballot.divergences._moves import NoisyMax as NoisyMax
from secretballot.divergences._moves import NoisyVector as NoisyVector
from secretballot.divergences._moves import check_bound as check_bound
from secretballot.divergences._orders import GAUSSIAN as GAUSSIAN
from secretballot.divergences._orders import ORDERS as ORDERS
from secretballot.divergences._orders import Floats as Floats
from secretballot.divergences._orders import Order as Order
from secretballot.divergences._orders import grid_order as grid_order
from secretballot.divergences._orders import order_index as order_index
from secretballot.divergences._orders import same_orders as same_orders
from secretballot.divergences._profile import HasGaussianCost as HasGaussianCost
from secretballot.divergences._profile import Profile as Profile
from secretballot.divergences._profile import gaussian_share as gaussian_share
from secretballot.divergences._threshold_search import bracket_threshold as bracket_threshold
from secretballot.divergences._threshold_search import find_sharpness as find_sharpness
from secretballot.divergences._upward import add_up as add_up
from secretballot.divergences._upward import sums_before as sums_before
from secretballot.divergences._worst_max import three_way_logs as three_way_logs
from secretballot.divergences.integer import IntegerBit as IntegerBit
from secretballot.divergences.integer import IntegerCounts as IntegerCounts
from secretballot.divergences.integer import IntegerMax as IntegerMax
from secretballot.divergences.integer import draw_skellam as draw_skellam
from secretballot.divergences.integer import winner_log_probabilities as winner_log_probabilities
from secretballot.divergences.sanitized import GapCosts as GapCosts
from secretballot.divergences.sanitized import Margin as Margin
from secretballot.divergences.sanitized import dump_gap_records as dump_gap_records
from secretballot.divergences.sanitized import load_gap_records as load_gap_records
from secretballot.divergences.sanitized import record_gaps as record_gaps
from secretballot.divergences.selection import BoundedRange as BoundedRange
from secretballot.divergences.selection import FewDraws as FewDraws
from secretballot.divergences.selection import NoisyGaps as NoisyGaps
from secretballot.divergences.selection import PureRelease as PureRelease
from secretballot.divergences.selection import StableTest as StableTest
from secretballot.divergences.selection import charged_draws as charged_draws
from secretballot.divergences.selection import draw_noise_factor as draw_noise_factor
from secretballot.divergences.selection import offered_draws as offered_draws

__all__ = [
    "BoundedRange",
    "ClippedBits",
    "ConfidentMax",
    "Move",
    "NoisyBit",
    "NoisyMax",
    "NoisyVector",
    "PureRelease",
    "Step",
    "draw_exponential",
    "draw_gumbel",
    "draw_laplace",
    "draw_uniform",
]

# Public names belong to the package that users import them from.
published(globals())
RenyiCost.__module__ = GaussianCost.__module__ = "secretballot.accounting"
