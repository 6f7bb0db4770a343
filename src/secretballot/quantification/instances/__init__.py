"""Classification of instances, learned from the label proportions of bags."""

from secretballot.quantification.instances._bag_information import BagInformation
from secretballot.quantification.instances._label_proportions_classifier import (
    LabelProportionsClassifier,
)

__all__ = ["BagInformation", "LabelProportionsClassifier"]
