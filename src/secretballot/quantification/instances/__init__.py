"""Classifying instances, where only the label proportions of their bags are known."""

from secretballot.quantification.instances._bag_information import BagInformation
from secretballot.quantification.instances._label_proportions_classifier import (
    LabelProportionsClassifier,
)

__all__ = ["BagInformation", "LabelProportionsClassifier"]
