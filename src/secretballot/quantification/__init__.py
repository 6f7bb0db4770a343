"""Bags with published label proportions, and the class ratios of groups learned from them."""

from secretballot._base._objects import published
from secretballot.quantification._adapters import PerBag, QuapyQuantifier
from secretballot.quantification._bags import Bags
from secretballot.quantification._mmd_class_ratio import MMDClassRatioEstimator
from secretballot.quantification._published_proportions import PublishedProportions
from secretballot.quantification._softmax_class_ratio import SoftmaxClassRatioEstimator
from secretballot.quantification.instances import BagInformation, LabelProportionsClassifier
from secretballot.quantification.publishing import publish_proportions
from secretballot.quantification.ratios import (
    Misfit,
    MisfitWarning,
    RatioDiagnostics,
    RatioInterval,
)

__all__ = [
    "BagInformation",
    "Bags",
    "LabelProportionsClassifier",
    "MMDClassRatioEstimator",
    "Misfit",
    "MisfitWarning",
    "PerBag",
    "PublishedProportions",
    "QuapyQuantifier",
    "RatioDiagnostics",
    "RatioInterval",
    "SoftmaxClassRatioEstimator",
    "publish_proportions",
]

published(globals())
