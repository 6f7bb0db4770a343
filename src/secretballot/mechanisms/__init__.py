"""Mechanisms: how votes or counts become a private answer, and what that costs."""

from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._dirichlet_proportions import DirichletProportions
from secretballot.mechanisms._gaussian_proportions import GaussianProportions
from secretballot.mechanisms._laplace_prior_proportions import LaplacePriorProportions
from secretballot.mechanisms._laplace_proportions import LaplaceProportions
from secretballot.mechanisms._noisy_max import UNANSWERED, ConfidentGNMax, GNMax
from secretballot.mechanisms._taking_turns import TakingTurns

__all__ = [
    "UNANSWERED",
    "ConfidentGNMax",
    "DirichletProportions",
    "GNMax",
    "GaussianProportions",
    "LaplacePriorProportions",
    "LaplaceProportions",
    "Mechanism",
    "TakingTurns",
]

for _name in __all__:
    if _name != "UNANSWERED":
        globals()[_name].__module__ = __name__
