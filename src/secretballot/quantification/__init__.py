"""Bags with published label proportions, and the class ratios of groups learned from them."""

from secretballot._base._objects import published
from secretballot.quantification._adapters import PerBag, QuapyQuantifier
from secretballot.quantification._bags import Bags
from secretballot.quantification._intervals import RatioInterval
from secretballot.quantification._label_proportions import PublishedProportions
from secretballot.quantification._label_proportions_classifier import (
    BagInformation,
    LabelProportionsClassifier,
)
from secretballot.quantification._misfit import Misfit, MisfitWarning
from secretballot.quantification._mmd_class_ratio import MMDClassRatioEstimator
from secretballot.quantification._publish_proportions import publish_proportions
from secretballot.quantification._ratios import RatioDiagnostics
from secretballot.quantification._softmax_class_ratio import SoftmaxClassRatioEstimator

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
