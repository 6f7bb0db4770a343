"""Mechanisms that turn votes or counts into a private answer, with their costs."""

from secretballot._base._objects import published
from secretballot.mechanisms._base import Mechanism, check_count_spacing
from secretballot.mechanisms._counting import count_ballots
from secretballot.mechanisms._label_voting import BinaryVoting, TauVoting, clip_ballots
from secretballot.mechanisms._noisy_counts import BestOfCounts, NoisyCounts, NoisyMargin, VectorSum
from secretballot.mechanisms._noisy_max import UNANSWERED, ConfidentGNMax, GNMax, SkellamMax
from secretballot.mechanisms._powerset_voting import PowersetVoting
from secretballot.mechanisms._proportions import (
    DirichletProportions,
    GaussianProportions,
    LaplacePriorProportions,
    LaplaceProportions,
)
from secretballot.mechanisms._round_robin import RoundRobin
from secretballot.mechanisms._stable_top_k import StableTopK
from secretballot.mechanisms._top_k import ExponentialTopK, LimitedDomainTopK, TopK

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
