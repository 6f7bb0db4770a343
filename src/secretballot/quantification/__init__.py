"""Bags with published label proportions, and the class ratios of groups learned from them."""

from secretballot._public import published
from secretballot.quantification._align_bags import align_bags
from secretballot.quantification._bag_input import split_bags
from secretballot.quantification._bags import Bags, group_bags
from secretballot.quantification._make_bags import make_bags
from secretballot.quantification._mmd_class_ratio import MMDClassRatioEstimator
from secretballot.quantification._per_bag import PerBag
from secretballot.quantification._quapy_adapter import QuapyQuantifier
from secretballot.quantification._softmax_class_ratio import SoftmaxClassRatioEstimator
from secretballot.quantification.instances import BagInformation, LabelProportionsClassifier
from secretballot.quantification.publishing import (
    PublishedProportions,
    PublisherAdvice,
    advise_publisher,
    publish_proportions,
)
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
    "PublisherAdvice",
    "QuapyQuantifier",
    "RatioDiagnostics",
    "RatioInterval",
    "SoftmaxClassRatioEstimator",
    "advise_publisher",
    "align_bags",
    "group_bags",
    "make_bags",
    "publish_proportions",
    "split_bags",
]

published(globals())
