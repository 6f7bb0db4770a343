"""What an outcome reveals: Renyi costs, and the divergences that they are made of.

Mathematics only: nothing here knows a budget or a file.
"""

from secretballot.divergences._additive_noise import gaussian_delta, laplace_delta, laplace_renyi
from secretballot.divergences._bit import gaussian_bound, has_ballot
from secretballot.divergences._clipped_bits import ClippedBits, Norm, clipped_weight
from secretballot.divergences._confident_max import ConfidentMax, confident_log_probabilities
from secretballot.divergences._cost import (
    Cost,
    RenyiCost,
    best_order,
    epsilon_at_orders,
    gate_budget,
    renyi_budget,
)
from secretballot.divergences._dirichlet import dirichlet_delta, dirichlet_renyi, dirichlet_tail
from secretballot.divergences._divergence import renyi_divergence
from secretballot.divergences._exact_max import (
    largest_normal,
    level_quadrature,
    max_log_probabilities,
)
from secretballot.divergences._gaussian_cost import GaussianCost, gaussian_budget
from secretballot.divergences._groups import (
    EVERYONE,
    GROUP_SEPARATOR,
    Costs,
    check_groups,
    group_division,
    is_part,
    level_cost,
    part_name,
    parts_cost,
    split_group,
    zero_cost,
)
from secretballot.divergences._just_enough import bracket_threshold, find_sharpness
from secretballot.divergences._law import (
    Bound,
    Law,
    Move,
    NoisyBit,
    NoisyMax,
    NoisyTop,
    NoisyVector,
    Step,
    check_bound,
    own_delta,
    realised_cost,
    worst_case_cost,
)
from secretballot.divergences._orders import (
    GAUSSIAN,
    ORDERS,
    Floats,
    Order,
    grid_order,
    order_index,
    same_orders,
)
from secretballot.divergences._profile import HasGaussianCost, Profile, gaussian_share
from secretballot.divergences._quadrature import MOST_NODES, Quadrature
from secretballot.divergences._worst_max_search import three_way_logs
from secretballot.divergences.drawing import (
    draw_exponential,
    draw_gumbel,
    draw_laplace,
    draw_uniform,
)
from secretballot.divergences.integer import (
    IntegerBit,
    IntegerCounts,
    IntegerMax,
    draw_skellam,
    winner_log_probabilities,
)
from secretballot.divergences.sanitized import (
    GapCosts,
    GapRecord,
    Margin,
    dump_gap_records,
    gap_costs,
    load_gap_records,
    record_gaps,
)
from secretballot.divergences.selection import (
    BoundedRange,
    FewDraws,
    NoisyGaps,
    PureRelease,
    StableTest,
    charged_draws,
    draw_noise_factor,
    offered_draws,
)

__all__ = [
    "Bound",
    "BoundedRange",
    "FewDraws",
    "NoisyGaps",
    "PureRelease",
    "StableTest",
    "charged_draws",
    "offered_draws",
    "draw_noise_factor",
    "own_delta",
    "part_name",
    "parts_cost",
    "GapCosts",
    "IntegerBit",
    "IntegerCounts",
    "IntegerMax",
    "draw_exponential",
    "draw_gumbel",
    "draw_laplace",
    "draw_skellam",
    "draw_uniform",
    "winner_log_probabilities",
    "GapRecord",
    "Margin",
    "epsilon_at_orders",
    "load_gap_records",
    "gap_costs",
    "record_gaps",
    "dump_gap_records",
    "ClippedBits",
    "Cost",
    "ConfidentMax",
    "Costs",
    "EVERYONE",
    "Floats",
    "GAUSSIAN",
    "GaussianCost",
    "Law",
    "GROUP_SEPARATOR",
    "MOST_NODES",
    "Move",
    "NoisyBit",
    "NoisyMax",
    "NoisyTop",
    "NoisyVector",
    "Norm",
    "ORDERS",
    "Order",
    "HasGaussianCost",
    "Profile",
    "Quadrature",
    "RenyiCost",
    "Step",
    "best_order",
    "check_bound",
    "check_groups",
    "clipped_weight",
    "confident_log_probabilities",
    "group_division",
    "dirichlet_delta",
    "dirichlet_renyi",
    "dirichlet_tail",
    "gate_budget",
    "bracket_threshold",
    "gaussian_bound",
    "has_ballot",
    "gaussian_budget",
    "gaussian_delta",
    "gaussian_share",
    "grid_order",
    "is_part",
    "laplace_delta",
    "largest_normal",
    "laplace_renyi",
    "level_quadrature",
    "level_cost",
    "max_log_probabilities",
    "zero_cost",
    "realised_cost",
    "order_index",
    "renyi_budget",
    "renyi_divergence",
    "same_orders",
    "find_sharpness",
    "worst_case_cost",
    "split_group",
    "three_way_logs",
]

# Users import them from there, whichever folder was imported first.
RenyiCost.__module__ = GaussianCost.__module__ = "secretballot.accounting"
