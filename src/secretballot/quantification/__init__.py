"""Bags of instances whose label proportions are published."""

from secretballot.quantification._bags import Bags, group_bags
from secretballot.quantification._make_bags import make_bags
from secretballot.quantification._publish_proportions import publish_proportions
from secretballot.quantification._published_proportions import PublishedProportions
from secretballot.quantification._publisher_advice import PublisherAdvice, advise_publisher

__all__ = [
    "Bags",
    "PublishedProportions",
    "PublisherAdvice",
    "advise_publisher",
    "group_bags",
    "make_bags",
    "publish_proportions",
]

for _name in __all__:
    globals()[_name].__module__ = __name__
