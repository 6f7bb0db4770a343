"""Kernel means of bags, and the features that stand in for kernels."""

from secretballot.quantification.kernels._bag_gram import PartSums, unmix
from secretballot.quantification.kernels._choose_kernel import choose_kernel
from secretballot.quantification.kernels._embedding import (
    FeatureEmbedding,
    KernelEmbedding,
    explicit_features,
)
from secretballot.quantification.kernels._feature_maps import feature_table
from secretballot.quantification.kernels._kernel_sums import candidate_gammas
from secretballot.quantification.kernels._sub_bags import SubBags, cut

__all__ = [
    "FeatureEmbedding",
    "KernelEmbedding",
    "PartSums",
    "SubBags",
    "candidate_gammas",
    "choose_kernel",
    "cut",
    "explicit_features",
    "feature_table",
    "unmix",
]
