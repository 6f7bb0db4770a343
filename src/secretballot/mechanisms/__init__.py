"""Mechanisms: how votes or counts become a private answer, and what that costs.

What is imported as itself is for other folders of the library, not for users.
"""

from secretballot._public import published
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._dirichlet_proportions import DirichletProportions
from secretballot.mechanisms._gaussian_proportions import GaussianProportions
from secretballot.mechanisms._laplace_prior_proportions import LaplacePriorProportions
from secretballot.mechanisms._laplace_proportions import LaplaceProportions
from secretballot.mechanisms._noisy_max import UNANSWERED, ConfidentGNMax, GNMax
from secretballot.mechanisms._proportions import Proportions as Proportions
from secretballot.mechanisms._proportions import check_count as check_count
from secretballot.mechanisms._proportions import check_not_negative as check_not_negative
from secretballot.mechanisms._round_robin import RoundRobin

__all__ = [
    "UNANSWERED",
    "ConfidentGNMax",
    "DirichletProportions",
    "GNMax",
    "GaussianProportions",
    "LaplacePriorProportions",
    "LaplaceProportions",
    "Mechanism",
    "RoundRobin",
]

published(globals())
