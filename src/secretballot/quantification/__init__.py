"""Bags with published label proportions, and the class ratios of groups learned from them."""

from secretballot.quantification._bag_input import split_bags
from secretballot.quantification._bags import Bags, group_bags
from secretballot.quantification._make_bags import make_bags
from secretballot.quantification._mmd_class_ratio import MMDClassRatioEstimator
from secretballot.quantification._per_bag import PerBag
from secretballot.quantification._publish_proportions import publish_proportions
from secretballot.quantification._published_proportions import PublishedProportions
from secretballot.quantification._publisher_advice import PublisherAdvice, advise_publisher
from secretballot.quantification._quapy_adapter import QuapyQuantifier
from secretballot.quantification._ratio_diagnostics import RatioDiagnostics
from secretballot.quantification._ratio_interval import RatioInterval
from secretballot.quantification._softmax_class_ratio import SoftmaxClassRatioEstimator

__all__ = [
    "Bags",
    "MMDClassRatioEstimator",
    "PerBag",
    "PublishedProportions",
    "PublisherAdvice",
    "QuapyQuantifier",
    "RatioDiagnostics",
    "RatioInterval",
    "SoftmaxClassRatioEstimator",
    "advise_publisher",
    "group_bags",
    "make_bags",
    "publish_proportions",
    "split_bags",
]

for _name in __all__:
    globals()[_name].__module__ = __name__
