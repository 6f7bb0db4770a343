"""Mechanisms that turn votes or counts into a private answer, with their costs."""

from secretballot._base._objects import published
from secretballot.mechanisms._additive_proportions import (
    GaussianProportions,
    LaplacePriorProportions,
    LaplaceProportions,
)
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._best_of_counts import BestOfCounts
from secretballot.mechanisms._binary_voting import BinaryVoting
from secretballot.mechanisms._cast_ballots import count_ballots
from secretballot.mechanisms._dirichlet_proportions import DirichletProportions
from secretballot.mechanisms._fields import check_count_spacing
from secretballot.mechanisms._noisy_counts import NoisyCounts, NoisyMargin, VectorSum
from secretballot.mechanisms._noisy_max import UNANSWERED, ConfidentGNMax, GNMax
from secretballot.mechanisms._powerset_voting import PowersetVoting
from secretballot.mechanisms._round_robin import RoundRobin
from secretballot.mechanisms._skellam_max import SkellamMax
from secretballot.mechanisms._tau_voting import TauVoting, clip_ballots
from secretballot.mechanisms.top_k import ExponentialTopK, LimitedDomainTopK, StableTopK, TopK

__all__ = [
    "UNANSWERED",
    "BestOfCounts",
    "BinaryVoting",
    "ConfidentGNMax",
    "ExponentialTopK",
    "LimitedDomainTopK",
    "StableTopK",
    "TopK",
    "DirichletProportions",
    "GNMax",
    "GaussianProportions",
    "LaplacePriorProportions",
    "LaplaceProportions",
    "Mechanism",
    "NoisyCounts",
    "NoisyMargin",
    "PowersetVoting",
    "RoundRobin",
    "SkellamMax",
    "check_count_spacing",
    "count_ballots",
    "TauVoting",
    "VectorSum",
    "clip_ballots",
]

published(globals())
