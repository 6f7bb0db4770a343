"""Label proportions of bags, published under a budget, and which mechanism distorts them least."""

from secretballot.quantification.publishing._publish_proportions import publish_proportions
from secretballot.quantification.publishing._published_proportions import PublishedProportions
from secretballot.quantification.publishing._publisher_advice import (
    PublisherAdvice,
    advise_publisher,
)

__all__ = [
    "PublishedProportions",
    "PublisherAdvice",
    "advise_publisher",
    "publish_proportions",
]
