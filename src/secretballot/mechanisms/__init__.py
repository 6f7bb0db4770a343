"""Mechanisms: how votes or counts become a private answer, and what that costs."""

from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._noisy_max import UNANSWERED, ConfidentGNMax, GNMax

__all__ = ["UNANSWERED", "ConfidentGNMax", "GNMax", "Mechanism"]

for _name in ("ConfidentGNMax", "GNMax", "Mechanism"):
    globals()[_name].__module__ = __name__
